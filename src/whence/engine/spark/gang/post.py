"""One task's mail: rows to the tasks they belong to, and the rows of a round from all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass

from whence.engine.local.kernels.hashing import Rows
from whence.engine.spark.gang.exchange import Exchange
from whence.engine.spark.gang.routes import Route
from whence.engine.spark.gang.wire import (
    Incoming,
    Outgoing,
    Records,
    Symbols,
    Words,
    from_cells,
    to_cells,
)


@dataclass(frozen=True, slots=True)
class End:
    """What a task says of itself at the end of a round."""

    busy: bool
    """Whether it has sent tuples, or will derive from new ones of its own."""
    unordered: bool = False
    """Whether it has met a value without order, so that all have to begin the stratum again."""
    new: int = 0
    """How many tuples it has derived in the round."""
    total: int = 0
    """How many tuples of its share it has derived in all."""


class Post:
    """The mail of one task, with what each peer has been told and has told."""

    def __init__(self, exchange: Exchange | None, words: Words) -> None:
        self._exchange = exchange
        tasks = 0 if exchange is None else exchange.tasks
        self._outgoing = [Outgoing(words) for _ in range(tasks)]
        self._incoming = [Incoming(words) for _ in range(tasks)]
        self.sent: Counter[str] = Counter()
        """How many tuples of each copy went out."""
        self.received: Counter[str] = Counter()

    def send(self, copy: str, route: Route, rows: Rows) -> bool:
        """Send rows of a copy to the peers they belong to; say whether there were any."""
        if self._exchange is None:
            return False
        some = False
        for peer, addressed in route.addressed(rows):
            some = True
            self.sent[copy] += addressed.shape[0]
            for part in self._outgoing[peer].parts(copy, addressed):
                header, cells = to_cells(part)
                self._exchange.send(peer, header, cells)
        return some

    def finish(self, end: End, take: Callable[[str, Rows], None]) -> list[End]:
        """End the round: hand over what peers have sent, and return the ends of all tasks."""
        ends = [end]
        if self._exchange is None:
            return ends
        self._exchange.end(asdict(end))
        for peer, header, cells in self._exchange.receive():
            if "end" in header:
                ends.append(
                    End(
                        bool(header["busy"]),
                        bool(header["unordered"]),
                        int(header["new"]),
                        int(header["total"]),
                    )
                )
                continue
            part, incoming = from_cells(header, cells), self._incoming[peer]
            if isinstance(part, Symbols):
                incoming.symbols(part)
            elif isinstance(part, Records):
                incoming.records(part)
            else:
                self.received[part.copy] += part.rows.shape[0]
                take(part.copy, incoming.rows(part))
        return ends
