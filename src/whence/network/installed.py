"""Programs at a node: added while it runs, cancelled, and sharing the strands of equal rules."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from whence.diagnostics import Diagnostic, ProgramError
from whence.network.model import Address, Handle, Row
from whence.network.program import NodeProgram, RelationPlan, Ticks
from whence.network.relations.base import Relation
from whence.network.strands.plan import Mode, StrandPlan
from whence.network.strands.strand import Strand, bound

if TYPE_CHECKING:
    from whence.network.node import Node


class Installed:
    """The programs, strands and timers of one node."""

    def __init__(self, node: Node, *, jitter: bool) -> None:
        self.node = node
        self.programs: dict[str, NodeProgram] = {}
        self.strands: dict[Hashable, Strand] = {}
        self.addresses: dict[Address, None] = {}
        self._jitter = jitter
        self._timers: dict[tuple[Address, Hashable], _Timer] = {}

    # ── programs ─────────────────────────────────────────────────────────────────────

    def add(self, program: NodeProgram) -> None:
        """Install a program, with what follows from the tuples that are here."""
        if program.name in self.programs:
            return
        node = self.node
        self._check(program)
        for name, plan in program.relations.items():
            node.declare(plan, name in program.annotated)
        self.programs[program.name] = program
        fresh = [s for plan in program.strands if (s := self._strand(plan, program))]
        for strand in fresh:
            self._register(strand)
        for strand in fresh:
            if strand.plan.position == 0 and not strand.plan.event:
                for row, note in list(node.table(strand.plan.relation).rows.items()):
                    strand.fire(1, row, note)
        for ticks in program.ticks:
            self._strand(ticks.plan, program)
            for address in self.addresses:
                self._start(address, ticks)
        for relation in program.watches:
            watchers = node.relations[relation].watchers
            if node.log.watched not in watchers:
                watchers.append(node.log.watched)
        for name, row in program.facts:
            at = program.relations[name].shape.location
            if node.home(row[at]) == node.name:
                node.queue_base(1, name, row)
        for name in program.relations:
            node.unpark(name)
        node.run()

    def cancel(self, name: str) -> None:
        """Take a program away, and the tables that no other program knows."""
        program = self.programs.pop(name, None)
        if program is None:
            return
        node = self.node
        left = {relation for other in self.programs.values() for relation in other.relations}
        for plan in (*program.strands, *(ticks.plan for ticks in program.ticks)):
            strand = self.strands[_key(plan)]
            strand.users.remove(name)
            if strand.users:
                continue
            del self.strands[_key(plan)]
            self._retract(strand, left)
            self._unregister(strand)
        for (address, key), timer in list(self._timers.items()):
            if key not in self.strands:
                timer.cancel()
                del self._timers[address, key]
        for relation in program.relations.keys() - left:
            node.drop(relation)
        node.run()

    def _retract(self, strand: Strand, left: set[str]) -> None:
        """Take back what a rule has derived that is for tables which stay."""
        plan = strand.plan
        if plan.mode is not Mode.VIEW or plan.position or plan.head.relation not in left:
            return
        if not self.node.scheme.retracting:
            raise ProgramError(
                Diagnostic(
                    "W1358",
                    f"`{plan.head.relation}` is also derived by another program, so that rule "
                    f"`{plan.rule}` cannot be cancelled",
                    hint="cancel the other program too, or use the scheme `counting`",
                )
            )
        for row in list(self.node.table(plan.relation).rows):
            strand.fire(-1, row, None)

    def _check(self, program: NodeProgram) -> None:
        for name, plan in program.relations.items():
            for other in self.programs.values():
                known = other.relations.get(name)
                if known is not None and known != plan:
                    raise ProgramError(
                        Diagnostic(
                            "W1357",
                            f"`{name}` is {_said(plan)} here and {_said(known)} in the program "
                            f"`{other.name}` that is running",
                            hint="give one of the two another name",
                        )
                    )

    # ── strands ──────────────────────────────────────────────────────────────────────

    def _strand(self, plan: StrandPlan, program: NodeProgram) -> Strand | None:
        """Return the strand of a plan if it is new."""
        strand = self.strands.get(_key(plan))
        if strand is not None:
            strand.users.append(program.name)
            return None
        strand = self.strands[_key(plan)] = bound(program.code(plan, self.node.scheme), self.node)
        strand.users.append(program.name)
        return strand

    def _register(self, strand: Strand) -> None:
        for starts in self._starts(strand):
            starts.append(strand.fire)
        if self._refreshes(strand):
            self.node.relations[strand.plan.relation].refreshes.append(strand.refresh)

    def _unregister(self, strand: Strand) -> None:
        relation = self.node.relations.get(strand.plan.relation)
        if relation is None:
            return
        for starts in self._starts(strand):
            starts.remove(strand.fire)
        if self._refreshes(strand):
            relation.refreshes.remove(strand.refresh)
        self.node.forget(strand.plan)

    def _starts(self, strand: Strand) -> list[list[Callable[..., None]]]:
        """Return the lists of a relation from which a strand is started."""
        plan = strand.plan
        relation: Relation | None = self.node.relations.get(plan.relation)
        if relation is None:  # a timer starts it
            return []
        retracting = self.node.scheme.retracting
        if plan.event:
            return [relation.appears]
        if plan.head.folds:
            return [relation.appears, relation.vanishes]
        if plan.negated:
            both = plan.mode is Mode.VIEW and retracting
            return [relation.appears, relation.vanishes] if both else [relation.vanishes]
        if plan.mode is Mode.VIEW:
            return [relation.news, relation.vanishes] if retracting else [relation.news]
        return [relation.appears]

    def _refreshes(self, strand: Strand) -> bool:
        plan = strand.plan
        return plan.mode is Mode.SOFT and not plan.event and not plan.negated

    # ── addresses and timers ─────────────────────────────────────────────────────────

    def host(self, address: Address) -> None:
        """Let an address live here: timers of its rules start."""
        if address in self.addresses:
            return
        self.addresses[address] = None
        for program in self.programs.values():
            for ticks in program.ticks:
                self._start(address, ticks)

    def _start(self, address: Address, ticks: Ticks) -> None:
        key = (address, _key(ticks.plan))
        if key not in self._timers:
            fire = self.strands[_key(ticks.plan)].fire
            self._timers[key] = _Timer(self.node, fire, address, ticks, jitter=self._jitter)

    def stop(self) -> None:
        """Stop all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def firings(self) -> dict[str, int]:
        """Return how often the strands of each rule were started, by its label."""
        counts: dict[str, int] = {}
        for strand in self.strands.values():
            counts[strand.plan.rule] = counts.get(strand.plan.rule, 0) + strand.count
        return counts


class _Timer:
    """The events of one `periodic` at one address."""

    __slots__ = ("_fire", "_handle", "_left", "_next", "_node", "_row", "_ticks")

    def __init__(
        self,
        node: Node,
        fire: Callable[..., None],
        address: Address,
        ticks: Ticks,
        *,
        jitter: bool,
    ) -> None:
        self._node = node
        self._fire = fire
        self._ticks = ticks
        self._left = ticks.count
        self._row = address
        phase = node.dice.random() if jitter else 1.0
        self._next = node.clock.now() + ticks.period * phase
        self._handle: Handle | None = node.clock.call_at(self._next, self._tick)

    def _tick(self) -> None:
        node, ticks = self._node, self._ticks
        self._handle = None
        if self._left is not None:
            self._left -= 1
        if self._left is None or self._left > 0:
            self._next += ticks.period
            self._handle = node.clock.call_at(self._next, self._tick)
        if self._left is None or self._left >= 0:
            identifier = node.dice.getrandbits(62)
            columns = [identifier, *ticks.rest]
            columns.insert(ticks.location, self._row)  # type: ignore[arg-type]
            row: Row = tuple(columns)
            node.event(self._fire, row)
            node.run()

    def cancel(self) -> None:
        """Stop."""
        if self._handle is not None:
            self._handle.cancel()


def _key(plan: StrandPlan) -> Hashable:
    return (plan.identity, plan.position, plan.mode)


def _said(plan: RelationPlan) -> str:
    columns = "column" if plan.arity == 1 else "columns"
    key = "all" if plan.shape.key is None else ", ".join(str(c + 1) for c in plan.shape.key)
    return f"{plan.kind.value} with {plan.arity} {columns} and the key {key}"
