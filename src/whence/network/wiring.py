"""What strands of a node are bound to: its relations, its queues, and the ways out of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from random import Random
from typing import Any, cast

from whence.network.introspect import Log
from whence.network.model import (
    Address,
    Annotation,
    Clock,
    Gate,
    Host,
    Placement,
    Row,
    Scheme,
    Shipper,
    Update,
)
from whence.network.placement import OneToOne
from whence.network.program import Kind, RelationPlan
from whence.network.relations.asserted import BaseTable, SoftTable
from whence.network.relations.base import Apply, EventStream, Relation
from whence.network.relations.views import View
from whence.network.strands.endings import Emit, Kept
from whence.network.strands.expressions import Functions
from whence.network.strands.functions import functions_of
from whence.network.strands.plan import StrandPlan
from whence.network.table import Table

Queued = tuple[Apply, int, Row, Annotation]


class _Homes(dict[Address, str]):
    """The processors of addresses, looked up once."""

    def __init__(self, placement: Placement) -> None:
        super().__init__()
        self._placement = placement

    def __missing__(self, address: Address) -> str:
        home = self[address] = self._placement.processor(address)
        return home


class _Outbox(dict[str, list[Update]]):
    """Updates by the processor that they are for."""

    def __missing__(self, target: str) -> list[Update]:
        updates = self[target] = []
        return updates


class Wiring:
    """Relations, queues and outlets; `Node` lets things happen between them."""

    def __init__(
        self,
        name: str,
        clock: Clock,
        scheme: Scheme,
        shipper: Shipper | None,
        placement: Placement | None,
        gates: Callable[[str], Gate | None] | None,
        seed: int,
        log: int,
    ) -> None:
        self.name = name
        self.clock = clock
        self.scheme = scheme
        self.dice = Random(f"{seed} {name}")
        self.functions: Functions = functions_of(clock, self.dice)
        self.relations: dict[str, Relation] = {}
        self.log = Log(clock, log)
        self.shipper = shipper
        self._homes = _Homes(OneToOne() if placement is None else placement)
        self._outbox = _Outbox()
        self._changes: deque[Queued] = deque()
        self._events: deque[Queued] = deque()
        self._kept: dict[Hashable, Kept] = {}
        self._outlets: dict[tuple[str, int | None], Emit] = {}
        self._gates: dict[str, Gate] = {}
        self._make_gate = gates

    def falsify(self, variables: Sequence[Hashable]) -> None:
        """Make variables false, here and everywhere."""
        raise NotImplementedError

    def run(self) -> None:
        """Handle what is queued, to completion."""
        raise NotImplementedError

    def table(self, relation: str) -> Table:
        """Return a table."""
        return self.relations[relation].table

    def later(self, apply: Apply, row: Row) -> None:
        """Queue a change of a table."""
        self._changes.append((apply, 0, row, None))

    def declare(self, plan: RelationPlan, annotated: bool) -> Relation:
        """Return the relation of a plan, which is made if it is not there."""
        name = plan.shape.name
        relation = self.relations.get(name)
        if relation is None:
            gate = None
            if plan.kind is Kind.VIEW and self._make_gate is not None:
                gate = self._make_gate(name)
            if gate is not None:
                gate.attach(cast("Host", self))
                self._gates[name] = gate
            relation = _KINDS[plan.kind](self, plan.shape, plan.arity, gate)
            self.relations[name] = relation
        if isinstance(relation, BaseTable) and annotated and not self.scheme.retracting:
            relation.annotated = True
        return relation

    def outlet_of(self, name: str, at: int | None) -> Emit:
        """Return what takes tuples of a relation: to a queue here, or on their way."""
        if (name, at) not in self._outlets:
            self._outlets[name, at] = self._outlet(name, at)
        return self._outlets[name, at]

    def _outlet(self, name: str, at: int | None) -> Emit:
        here, homes, outbox, relation = self.name, self._homes, self._outbox, self.relations[name]
        enter, shipper = relation.entry, self.shipper
        queue = self._events if isinstance(relation, EventStream) else self._changes
        if at is None:
            return lambda sign, row, note: queue.append((enter, sign, row, note))
        if shipper is not None:
            push, local = shipper.push, shipper.local

            def ship(sign: int, row: Row, note: Annotation) -> None:
                target = homes[row[at]]
                if target == here and not local:
                    queue.append((enter, sign, row, note))
                else:
                    push(target, (sign, name, row, note))

            return ship

        def emit(sign: int, row: Row, note: Annotation) -> None:
            target = homes[row[at]]
            if target == here:
                queue.append((enter, sign, row, note))
            else:
                outbox[target].append((sign, name, row, note))

        return emit

    def kept(self, plan: StrandPlan) -> Kept:
        """Return the groups of a rule with an aggregate, which its strands share."""
        key = (plan.identity, plan.mode)
        if key not in self._kept:
            self._kept[key] = Kept()
        return self._kept[key]

    def absence(self, relation: str, columns: tuple[int, ...], key: Hashable) -> Annotation:
        """Return the annotation of a negated literal that holds."""
        return self.relations[relation].absence(columns, key)

    def fault(self, rule: str, error: Exception) -> None:
        """Take note that a function had no value: its literal did not hold."""
        self.log.fault(rule, error)

    def home(self, address: Address) -> str:
        """Return the processor of an address."""
        return self._homes[address]

    def drop(self, relation: str) -> None:
        """Forget a relation that no program knows any more."""
        del self.relations[relation]
        self._gates.pop(relation, None)
        for key in [key for key in self._outlets if key[0] == relation]:
            del self._outlets[key]

    def forget(self, plan: StrandPlan) -> None:
        """Forget the groups of a rule that is gone."""
        self._kept.pop((plan.identity, plan.mode), None)


_KINDS: dict[Kind, Any] = {
    Kind.EVENT: EventStream,
    Kind.SOFT: SoftTable,
    Kind.BASE: BaseTable,
    Kind.VIEW: View,
}
