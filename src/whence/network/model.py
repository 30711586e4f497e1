"""What nodes, transports, clocks, schemes and shippers know of each other.

A tuple that comes or goes is an `Update`; what travels between processors is a `Message`, either
updates in the order in which they were derived or a `Control`. Values are plain Python values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

Value = int | float | str | bool | tuple["Value", ...]
Row = tuple[Value, ...]
Address = Hashable  # what stands at the location of an atom: usually a string
Annotation = object
Key = TypeVar("Key")

# Hot paths make one of these per derivation, so it is a plain tuple:
# sign (+1 comes, -1 goes), relation, row, and the annotation that a scheme gave it, if any.
Update = tuple[int, str, Row, Annotation]
Premise = tuple[str, Row, Annotation]


@dataclass(frozen=True, slots=True)
class Control:
    """A message that is not about tuples; `body` is made of values that the wire can carry."""

    kind: str
    body: object


Message = list[Update] | Control

DEAD = "dead"  # the kind of a control whose body is a list of base variables that are false


class Handle(Protocol):
    """Something that was asked of a clock."""

    def cancel(self) -> None:
        """Let it not happen."""


class Clock(Protocol):
    """Time in seconds, simulated or real."""

    def now(self) -> float:
        """Return the time."""

    def call_at(self, time: float, callback: Callable[[], None]) -> Handle:
        """Call back at a time; calls for the same time happen in the order they were asked."""


Receive = Callable[[str, bytes], None]  # the processor that sent it, and what it sent


class Transport(Protocol):
    """Carries bytes between processors, in order for each pair."""

    def attach(self, address: str, receive: Receive) -> None:
        """Deliver to `receive` what is sent to this processor."""

    def detach(self, address: str) -> None:
        """Deliver nothing to this processor any more."""

    def send(self, source: str, target: str, payload: bytes) -> None:
        """Send bytes from one processor to another."""

    def close(self) -> None:
        """End all activity."""


class Codec(Protocol):
    """Turns messages into bytes; annotations go through the scheme's `encode` and `decode`."""

    def encode(self, message: Message) -> bytes:
        """Return the bytes of a message."""

    def decode(self, payload: bytes) -> Message:
        """Return the message in these bytes."""


class Scheme(Protocol):
    """The annotations of one processor, and what becomes of a tuple that loses a derivation.

    Two families. A *retracting* scheme (counting, over-deletion) sends deletions through strands,
    as tuples with sign -1. The others know base tuples by variables: a base tuple that goes makes
    its variable false, every processor is told (`DEAD`), and annotations are restricted.
    A scheme belongs to one processor; what it remembers (dead variables, managers) it keeps itself.
    In that family a row of an aggregate, and a negated literal that holds, are base tuples of their
    own: each gets a fresh variable from `base` when it begins to hold, false when it ceases to.
    """

    name: str
    retracting: bool
    annotated: bool  # strands tell it the premises, and updates carry what it derives

    def attach(self, host: Host) -> None:
        """Learn the processor that this scheme works for, before anything else."""

    def base(self, relation: str, row: Row) -> Annotation:
        """Return the annotation of a base tuple that is (again) inserted: a fresh variable."""

    def variable(self, annotation: Annotation) -> Hashable:
        """Return the variable that `base` made, as it stands in a `DEAD` message."""

    def derive(
        self, rule: str, head: tuple[str, Row], premises: Sequence[Premise]
    ) -> Annotation | None:
        """Return the annotation of one derivation; None when a premise does not hold any more."""

    def merge(
        self, relation: str, row: Row, old: Annotation | None, new: Annotation
    ) -> tuple[Annotation | None, Annotation | None]:
        """Return what is now known of a tuple, and what of it is news to those above (or None).

        `old` is None for a tuple that is not there. No news: the derivation was absorbed. Nothing
        known: the tuple stays away for now (over-deletion keeps it back until it may come again).
        """

    def withdraw(
        self, relation: str, row: Row, old: Annotation | None, gone: Annotation
    ) -> Annotation | None:
        """Return what is left of a tuple of which a derivation was retracted; None: nothing.

        It is asked also for a tuple that is not there (`old` is None).
        """

    def arrive(self, annotation: Annotation) -> Annotation | None:
        """Return an annotation from the wire without variables known to be false; None: nothing."""

    def kill(self, variables: Iterable[Hashable]) -> frozenset[Hashable]:
        """Remember that variables are false; return those that were not known to be."""

    def restrict(self, annotation: Annotation, dead: frozenset[Hashable]) -> Annotation | None:
        """Return the annotation with these variables false; None when nothing derives it."""

    def affected(
        self, annotated: Iterable[tuple[Key, Annotation]], dead: frozenset[Hashable]
    ) -> list[Key]:
        """Return the keys of annotations that `restrict` would change, and maybe of others."""

    def settle(self) -> None:
        """Tidy up: the processor has run to completion, nothing is queued, all is restricted."""

    def control(self, source: str, message: Control) -> None:
        """Take a control message of a kind that only the scheme knows."""

    def encode(self, annotation: Annotation) -> object:
        """Return the annotation as a value that the wire can carry."""

    def decode(self, value: object) -> Annotation:
        """Return the annotation in a value from the wire."""

    def size(self, annotation: Annotation) -> int:
        """Return the bytes that the annotation has on the wire."""


class Gate(Protocol):
    """What stands before a table and lets through only some of the updates for it.

    Aggregate selection is one (Liu et al. 2008, algorithm 4). A node that has a gate for a relation
    gives it each update for that relation, and handles what the gate returns instead.
    """

    def attach(self, host: Host) -> None:
        """Learn the processor that this gate works for."""

    def push(self, update: Update) -> Sequence[Update]:
        """Take an update; return those that pass, in order."""

    def kill(self, dead: frozenset[Hashable]) -> Sequence[Update]:
        """Restrict what waits here; return what passes now. Called before tables are restricted."""


class Shipper(Protocol):
    """What happens to a derived update on its way to its processor."""

    local: bool  # whether `push` is also asked about tuples of this processor

    def attach(self, host: Host) -> None:
        """Learn the processor that this shipper works for."""

    def push(self, target: str, update: Update) -> None:
        """Take an update that was derived; one for this processor goes on with `host.enqueue`."""

    def flush(self) -> None:
        """Send what should not wait longer: the processor has run to completion."""

    def kill(self, dead: frozenset[Hashable]) -> None:
        """Restrict what is buffered and what was sent; called before tables are restricted."""

    def idle(self) -> bool:
        """Return whether nothing waits that a timer will send."""


class Notes(Protocol):
    """Where a processor writes down what is worth knowing."""

    def note(self, what: str, subject: str, detail: object) -> None:
        """Write something down."""


class Host(Protocol):
    """A processor as schemes and shippers see it."""

    name: str
    clock: Clock
    scheme: Scheme
    shipper: Shipper | None
    peers: Sequence[str]  # all processors but this one
    updates_sent: int  # to other processors, counted when the transport takes them
    updates_received: int

    @property
    def log(self) -> Notes:
        """Return where it writes down what is worth knowing."""

    def send(self, target: str, message: Message) -> None:
        """Encode a message and give it to the transport."""

    def broadcast(self, message: Control) -> None:
        """Send a control message to every other processor."""

    def falsify(self, variables: Sequence[Hashable]) -> None:
        """Make variables of this processor false, here and (after what is sent now) everywhere."""

    def enqueue(self, update: Update) -> None:
        """Let the processor handle an update as if it had been derived here."""

    def admit(self, update: Update) -> None:
        """Let the processor handle an update that has passed the gate of its relation before."""

    def run(self) -> None:
        """Handle what is enqueued, to completion, and flush; for callbacks of timers."""

    def rows(self, relation: str) -> Mapping[Row, Annotation]:
        """Return the rows of a table here, each with its annotation."""


class Placement(Protocol):
    """Which processor holds the tuples of an address."""

    def processor(self, address: Address) -> str:
        """Return the processor of an address."""
