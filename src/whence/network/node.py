"""A processor: tables, strands between them, queues, and what it sends and receives.

A node handles one thing at a time, to completion: a message, a timer, a tuple from outside. Changes
of tables go before events, in the order in which they were derived; a tuple enters its table when
its turn comes, so what is there came before it, which is what the sequence numbers of pipelined
semi-naive evaluation say (Loo 2006, algorithm 5.3). What is for others leaves at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, cast

from whence.functor.ndlog import FAULTS
from whence.network.installed import Installed
from whence.network.introspect import Snapshot
from whence.network.model import (
    DEAD,
    Address,
    Annotation,
    Clock,
    Codec,
    Control,
    Gate,
    Message,
    Placement,
    Row,
    Scheme,
    Shipper,
    Transport,
    Update,
)
from whence.network.program import NodeProgram
from whence.network.provenance.counting import Counting
from whence.network.relations.base import Apply, EventStream, Watcher
from whence.network.relations.views import View
from whence.network.table import Table
from whence.network.transport.wire import WireCodec, WireError
from whence.network.wiring import Queued, Wiring

MAX_PARKED = 10_000  # updates of relations that no program here knows (yet)


class Node(Wiring):
    """One processor of a network."""

    def __init__(
        self,
        name: str,
        clock: Clock,
        transport: Transport,
        *,
        scheme: Scheme | None = None,
        shipper: Shipper | None = None,
        placement: Placement | None = None,
        codec: Codec | None = None,
        gates: Callable[[str], Gate | None] | None = None,
        peers: Sequence[str] = (),
        seed: int = 0,
        buffered: float | None = None,
        jitter: bool = True,
        log: int = 1000,
    ) -> None:
        """Take what a node is made of.

        `buffered` holds messages back for so many seconds and then handles them in iterations;
        `jitter` lets each timer begin somewhere in its period instead of after it.
        """
        scheme = Counting() if scheme is None else scheme
        super().__init__(name, clock, scheme, shipper, placement, gates, seed, log)
        self.peers = peers
        self.updates_sent = 0
        self.updates_received = 0
        self.messages_received = 0
        self.controls: dict[str, Callable[[str, Control], None]] = {}
        self.unknown: Callable[[str, Update], None] | None = None
        self.parked: dict[str, list[Update]] = {}
        self._parked = 0
        self._transport = transport
        self._codec: Codec = WireCodec(scheme) if codec is None else codec
        self._dying: set[Hashable] = set()
        self._announced: dict[Hashable, None] = {}
        self._running = False
        self._buffered = buffered
        self._held: list[Update] = []
        self.installed = Installed(self, jitter=jitter)
        scheme.attach(self)
        if shipper is not None:
            shipper.attach(self)
        transport.attach(name, self.receive)

    # ── what programs, people and timers ask ─────────────────────────────────────────

    def add(self, program: NodeProgram) -> None:
        """Install a program, with what follows from the tuples that are here; once."""
        self.installed.add(program)

    def cancel(self, name: str) -> None:
        """Take a program away, and the tables that no other program knows."""
        self.installed.cancel(name)

    def host(self, address: Address) -> None:
        """Let an address live here: its timers start."""
        self.installed.host(address)

    def insert(self, relation: str, row: Row) -> None:
        """Take a base tuple, or let an event happen, and all that follows from it here."""
        self.queue_base(1, relation, row)
        self.run()

    def delete(self, relation: str, row: Row) -> None:
        """Delete a base tuple, and what holds no more without it."""
        self.queue_base(-1, relation, row)
        self.run()

    def queue_base(self, sign: int, relation: str, row: Row) -> None:
        """Queue a base tuple that comes or goes; `run` handles it."""
        known = self.relations[relation]
        put = known.put if sign > 0 else known.take
        queue = self._events if isinstance(known, EventStream) else self._changes
        queue.append((lambda _sign, row, _note: put(row), sign, row, None))

    @property
    def tables(self) -> dict[str, Table]:
        """Return the tables, without streams, by name."""
        return {
            name: relation.table
            for name, relation in self.relations.items()
            if not isinstance(relation, EventStream)
        }

    def rows(self, relation: str) -> Mapping[Row, Annotation]:
        """Return the rows of a table here, each with its annotation."""
        known = self.relations.get(relation)
        return {} if known is None else known.table.rows

    def watch(self, relation: str | None, callback: Watcher) -> Callable[[], None]:
        """Tell of tuples of a relation (None: of all) that come or go; return what ends it."""
        names = list(self.relations) if relation is None else [relation]
        for name in names:
            self.relations[name].watchers.append(callback)

        def end() -> None:
            for name in names:
                if name in self.relations and callback in self.relations[name].watchers:
                    self.relations[name].watchers.remove(callback)

        return end

    def snapshot(self) -> Snapshot:
        """Return the node in numbers."""
        return Snapshot(
            self.name,
            self.clock.now(),
            {name: len(table) for name, table in self.tables.items()},
            self.installed.firings(),
            dict(self.log.faults),
            self.updates_sent,
            self.updates_received,
            tuple(self.installed.programs),
        )

    def idle(self) -> bool:
        """Return whether nothing waits here but timers of rules and lifetimes."""
        waiting = self._changes or self._events or self._held
        return not waiting and (self.shipper is None or self.shipper.idle())

    # ── handling, to completion ──────────────────────────────────────────────────────

    def enqueue(self, update: Update) -> None:
        """Queue a derived update for a tuple of this processor."""
        sign, name, row, note = update
        relation = self.relations.get(name)
        if relation is None:
            self._park(update)
            return
        queue = self._events if isinstance(relation, EventStream) else self._changes
        queue.append((relation.entry, sign, row, note))

    def admit(self, update: Update) -> None:
        """Queue an update that has passed the gate of its relation before."""
        sign, name, row, note = update
        self._changes.append((self.relations[name].apply, sign, row, note))

    def event(self, apply: Apply, row: Row) -> None:
        """Queue something that happens."""
        self._events.append((apply, 1, row, None))

    def run(self) -> None:
        """Handle what is queued, to completion, and let go what is for others."""
        if self._running:
            return
        self._running = True
        try:
            self._drain()
            self._flush()
        finally:
            self._running = False

    def _drain(self) -> None:
        changes, events, dying = self._changes, self._events, self._dying
        rounds = self._buffered is not None
        while True:
            if changes:
                if rounds and len(changes) > 1:
                    self._round()
                    continue
                apply, sign, row, note = changes.popleft()
                apply(sign, row, note)
            elif dying:
                self._restrict()
            elif events:
                apply, sign, row, note = events.popleft()
                apply(sign, row, note)
            else:
                return

    def _round(self) -> None:
        """Handle all changes queued so far as one iteration, without those that cancel out."""
        batch = list(self._changes)
        self._changes.clear()
        if self.scheme.retracting and not self.scheme.annotated:
            batch = _netted(batch)
        for apply, sign, row, note in batch:
            apply(sign, row, note)

    def falsify(self, variables: Sequence[Hashable]) -> None:
        """Make variables false, here and (after what is sent now) everywhere."""
        for variable in self.scheme.kill(variables):
            self._dying.add(variable)
            self._announced[variable] = None

    def _restrict(self) -> None:
        dead = frozenset(self._dying)
        self._dying.clear()
        if self.shipper is not None:
            self.shipper.kill(dead)
        # What waits must not outlive these variables, whose places others will have.
        self._held = self._left(self._held, dead)
        self.parked = {name: self._left(waiting, dead) for name, waiting in self.parked.items()}
        self._parked = sum(map(len, self.parked.values()))
        for gate in self._gates.values():
            for update in gate.kill(dead):
                sign, name, row, note = update
                self._changes.append((self.relations[name].apply, sign, row, note))
        for relation in self.relations.values():
            relation.restrict(dead)

    def _left(self, updates: list[Update], dead: frozenset[Hashable]) -> list[Update]:
        """Return the updates that still say something when variables are false."""
        left: list[Update] = []
        for sign, relation, row, note in updates:
            if note is not None:
                note = self.scheme.restrict(note, dead)
                if note is None:
                    continue
            left.append((sign, relation, row, note))
        return left

    # ── sending and receiving ────────────────────────────────────────────────────────

    def _flush(self) -> None:
        if self.shipper is not None:
            self.shipper.flush()
        outbox = self._outbox
        if outbox:
            for target, updates in outbox.items():
                self.send(target, updates)
            outbox.clear()
        if self._announced:
            message = Control(DEAD, list(self._announced))
            self._announced.clear()
            self.broadcast(message)
        self.scheme.settle()

    def send(self, target: str, message: Message) -> None:
        """Encode a message and give it to the transport."""
        if isinstance(message, list):
            self.updates_sent += len(message)
        self._transport.send(self.name, target, self._codec.encode(message))

    def broadcast(self, message: Control) -> None:
        """Send a control message to every other processor."""
        payload = self._codec.encode(message)
        for peer in self.peers:
            self._transport.send(self.name, peer, payload)

    def receive(self, source: str, payload: bytes) -> None:
        """Take a message; bytes that are none are noted and change nothing."""
        try:
            message = self._codec.decode(payload)
        except WireError as error:
            self.log.note("malformed", source, error)
            return
        self.messages_received += 1
        if isinstance(message, Control):
            self._control(source, message)
        elif self._buffered is not None:
            if not self._held:
                self.clock.call_at(self.clock.now() + self._buffered, self._unheld)
            self._held.extend(message)
            self.updates_received += len(message)
            return
        else:
            self.updates_received += len(message)
            self._running = True
            try:
                for update in message:
                    self._arrived(source, update)
                    self._drain()
            finally:
                self._running = False
        self.run()

    def _unheld(self) -> None:
        held, self._held = self._held, []
        for update in held:
            self._arrived("", update)
        self.run()

    def _arrived(self, source: str, update: Update) -> None:
        sign, name, row, note = update
        relation = self.relations.get(name)
        if relation is None:
            if self.unknown is not None:
                self.unknown(source, update)
            self._park(update)
            return
        if len(row) != relation.arity:
            self.log.note("malformed", source, f"{name} with {len(row)} columns")
            return
        if not (relation.stream or self.scheme.retracting) and isinstance(relation, View):
            if sign < 0 or note is None:
                self.log.note("malformed", source, f"{name} without a derivation")
                return
            note = self.scheme.arrive(note)
            if note is None:
                return
        queue = self._events if relation.stream else self._changes
        queue.append((relation.entry, sign, row, note))

    def _park(self, update: Update) -> None:
        """Keep an update until a program comes that knows its relation; not too many."""
        if self._parked < MAX_PARKED:
            self._parked += 1
            self.parked.setdefault(update[1], []).append(update)
        else:
            self.log.note("dropped", update[1], "no program knows it")

    def unpark(self, relation: str) -> None:
        """Handle what came too early for a relation that is known now."""
        for update in self.parked.pop(relation, ()):
            self._parked -= 1
            self._arrived("", update)

    def _control(self, source: str, message: Control) -> None:
        handler = self.controls.get(message.kind)
        try:
            if message.kind == DEAD:
                self._dying.update(self.scheme.kill(cast("Iterable[Hashable]", message.body)))
            elif handler is not None:
                handler(source, message)
            else:
                self.scheme.control(source, message)
        except (*FAULTS, AssertionError) as error:  # whoever sent it does not do as we do
            self.log.note("malformed", source, f"{message.kind}: {error}")

    def stop(self) -> None:
        """Receive nothing any more, and let no timer go on."""
        self.installed.stop()
        self._transport.detach(self.name)


def _netted(batch: list[Queued]) -> list[Queued]:
    """Return the changes of an iteration without derivations of views that came and went in it."""
    net: dict[tuple[Any, Row], int] = {}
    views: dict[int, bool] = {}
    for apply, sign, row, _ in batch:
        owner = getattr(apply, "__self__", None)
        views[id(apply)] = isinstance(owner, View) and apply == owner.apply
        if views[id(apply)]:
            key = (owner, row)
            net[key] = net.get(key, 0) + sign
    kept: list[Queued] = []
    for entry in batch:
        apply, sign, row, _ = entry
        if not views[id(apply)]:
            kept.append(entry)
            continue
        key = (apply.__self__, row)  # type: ignore[attr-defined]
        if net[key] * sign > 0:
            net[key] -= sign
            kept.append(entry)
    return kept
