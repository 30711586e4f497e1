"""Many nodes in one process: on a simulated clock and simulated links, or on real ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from whence.diagnostics import DataError, Diagnostic, LimitError
from whence.network.clock import SimulatedClock
from whence.network.model import Address, Clock, Gate, Placement, Row, Transport
from whence.network.node import Node
from whence.network.periodic import Periodic
from whence.network.placement import OneToOne
from whence.network.program import Kind, NodeProgram, RelationPlan, node_program
from whence.network.rewrite.passes import NAMES, Options, prepare
from whence.network.rewrite.selection import AggregateSelection, selections
from whence.network.rewrite.share_messages import shared_columns
from whence.network.schemes import SchemeMaker, ShipperMaker, scheme_for, shipper_for
from whence.network.sharing import Delayed, SharedCodec
from whence.network.transport.simulated import SimulatedTransport
from whence.network.transport.wire import WireCodec
from whence.syntax.nodes import Program

PLAIN = Options(without=frozenset(NAMES) - {"localize"})
"""Nothing is done to a program but what must be: localization."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the nodes of a network work."""

    scheme: str | SchemeMaker = "auto"
    ship: str | ShipperMaker = "plain"
    options: Options = PLAIN
    windows: Collection[str] = ()
    buffered: float | None = None
    jitter: bool = True
    seed: int = 0
    log: int = 1000


class Network:
    """Nodes that run one program (or more, later), and the tuples that they hold together."""

    def __init__(
        self,
        program: Program,
        addresses: Iterable[Address],
        *,
        settings: Settings | None = None,
        clock: Clock | None = None,
        transport: Transport | None = None,
        placement: Placement | None = None,
        start: bool = True,
    ) -> None:
        """Take a program, where it runs, and how; without `start`, addresses are hosted later."""
        self.settings = settings or Settings()
        self.addresses = tuple(addresses)
        self.clock: Clock = SimulatedClock() if clock is None else clock
        self.transport: Transport = (
            SimulatedTransport(self.clock, seed=self.settings.seed)
            if transport is None
            else transport
        )
        self.placement: Placement = OneToOne() if placement is None else placement
        self._own_columns: dict[str, int] = {}
        self._selections: list[AggregateSelection] = []
        self.program = self.prepared(program)
        processors = dict.fromkeys(self.placement.processor(a) for a in self.addresses)
        self.nodes: dict[str, Node] = {name: self._node(name, processors) for name in processors}
        for node in self.nodes.values():
            node.add(self.program)
        if start:
            for address in self.addresses:
                self.host(address)

    def prepared(self, program: Program, name: str = "program") -> NodeProgram:
        """Return a program as these nodes install it."""
        options = replace(self.settings.options, windows=frozenset(self.settings.windows))
        localized = prepare(program, options)
        self._own_columns.update(shared_columns(localized))
        self._selections.extend(selections(localized))
        return node_program(localized, name, windows=self.settings.windows)

    def _node(self, name: str, processors: Iterable[str]) -> Node:
        settings = self.settings
        scheme, ship = settings.scheme, settings.ship
        make = scheme_for(self.program, scheme) if isinstance(scheme, str) else scheme
        shipper = shipper_for(ship) if isinstance(ship, str) else ship
        made, shared = make(), settings.options.share
        return Node(
            name,
            self.clock,
            self.transport,
            scheme=made,
            shipper=shipper() if shared is None else shipper() or Delayed(shared),
            placement=self.placement,
            codec=None if shared is None else SharedCodec(WireCodec(made), self._own_columns),
            gates=lambda relation: gate_of(relation, self._selections),
            peers=[other for other in processors if other != name],
            seed=settings.seed,
            buffered=settings.buffered,
            jitter=settings.jitter,
            log=settings.log,
        )

    # ── tuples ───────────────────────────────────────────────────────────────────────

    def node(self, address: Address) -> Node:
        """Return the node that holds the tuples of an address."""
        return self.nodes[self.placement.processor(address)]

    def host(self, address: Address) -> None:
        """Let an address live: its timers start."""
        self.node(address).host(address)

    def insert(self, relation: str, *rows: Row) -> None:
        """Insert base tuples where they belong, or let events happen there."""
        self._base(1, relation, rows)

    def delete(self, relation: str, *rows: Row) -> None:
        """Delete base tuples where they are."""
        self._base(-1, relation, rows)

    def update(self, changes: Iterable[tuple[int, str, Row]]) -> None:
        """Insert and delete at once: each node handles its share in one go."""
        touched: dict[str, Node] = {}
        for sign, relation, row in changes:
            node = self._home(relation, row)
            node.queue_base(sign, relation, row)
            touched[node.name] = node
        for node in touched.values():
            node.run()

    def _base(self, sign: int, relation: str, rows: Iterable[Row]) -> None:
        self.update((sign, relation, tuple(row)) for row in rows)

    def _home(self, relation: str, row: Row) -> Node:
        plan = self._plan(relation)
        if len(row) != plan.arity:
            raise DataError(
                Diagnostic(
                    "W1362", f"`{relation}` has {plan.arity} columns, and this has {len(row)}"
                )
            )
        address = row[plan.shape.location]
        found = self.nodes.get(self.placement.processor(address))
        if found is None:
            raise DataError(
                Diagnostic(
                    "W1363", f"`{address}` is no node of this network, but `{relation}` is there"
                )
            )
        return found

    def _plan(self, relation: str) -> RelationPlan:
        plan = self.program.relations.get(relation)
        if plan is None:
            raise DataError(Diagnostic("W1364", f"the program has no relation `{relation}`"))
        return plan

    def rows(self, relation: str) -> set[Row]:
        """Return the tuples of a relation at all nodes."""
        return {row for node in self.nodes.values() for row in node.rows(relation)}

    def tables(self, kinds: Collection[Kind] = (Kind.BASE, Kind.VIEW)) -> dict[str, set[Row]]:
        """Return the tuples of all nodes, by relation."""
        return {
            name: self.rows(name)
            for name, plan in self.program.relations.items()
            if plan.kind in kinds
        }

    # ── time ─────────────────────────────────────────────────────────────────────────

    def run(self, seconds: float) -> None:
        """Let simulated time pass."""
        clock = self._simulated()
        clock.run_until(clock.now() + seconds)

    def settle(self, *, steps: int = 10_000_000, seconds: float = float("inf")) -> float:
        """Let happen whatever happens, until nothing does; return the time of the last thing.

        For programs without endless timers; it stops with an error after too many steps.
        """
        clock = self._simulated()
        end = clock.now() + seconds
        for _ in range(steps):
            due = clock.next_time()
            if due is None:
                return clock.now()
            if due > end:
                break
            clock.step()
        raise LimitError(
            Diagnostic(
                "W1365",
                "the network does not come to rest",
                hint="let time pass with `run` where a program has timers",
            )
        )

    def _simulated(self) -> SimulatedClock:
        assert isinstance(self.clock, SimulatedClock), "only simulated time can be let pass"
        return self.clock

    # ── programs and numbers ─────────────────────────────────────────────────────────

    def add(self, program: Program, name: str) -> None:
        """Add a program to all nodes while they run."""
        prepared = self.prepared(program, name)
        self.program = _joined(self.program, prepared)
        for node in self.nodes.values():
            node.add(prepared)

    def cancel(self, name: str) -> None:
        """Cancel a program at all nodes."""
        for node in self.nodes.values():
            node.cancel(name)

    def fail(self, address: Address) -> None:
        """Let the node of an address be gone, with all it held."""
        name = self.placement.processor(address)
        self.nodes.pop(name).stop()

    def firings(self) -> dict[str, int]:
        """Return how often each rule was started, at all nodes."""
        counts: dict[str, int] = {}
        for node in self.nodes.values():
            for rule, count in node.installed.firings().items():
                counts[rule] = counts.get(rule, 0) + count
        return counts

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())


def _joined(one: NodeProgram, two: NodeProgram) -> NodeProgram:
    return replace(one, relations={**one.relations, **two.relations})


def gates_of(program: Program) -> Callable[[str], Gate | None] | None:
    """Return what makes the gates that the aggregate selections of a program ask for."""
    chosen = selections(program)
    return (lambda relation: gate_of(relation, chosen)) if chosen else None


def gate_of(relation: str, chosen: Iterable[AggregateSelection]) -> Gate | None:
    """Return the gate of a relation, if there are aggregate selections of it."""
    from whence.network.provenance.selection import Selection

    here = list(dict.fromkeys(one for one in chosen if one.relation == relation))
    if not here:
        return None
    best = [(one.function, one.column) for one in here]
    selection, period = Selection(relation, here[0].group, best), here[0].period
    return selection if period is None else Periodic(selection, period, best[0])
