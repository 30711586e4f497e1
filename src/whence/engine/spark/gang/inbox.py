"""What has come from peers and waits to be read: in memory up to a limit, then on disk.

It takes whatever comes at once: a sender that had to wait for its receiver, which waits for a
sender in turn, would wait for ever.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO

import numpy as np

from whence.engine.local.kernels.hashing import Ints

Header = Mapping[str, int | str]


class PeerLost(Exception):
    """A peer ended, or has been silent for too long; trying again may help."""


class PeerStopped(Exception):
    """A peer stopped because of a mistake that it tells the driver about itself."""


@dataclass(slots=True)
class _Letter:
    header: Header
    cells: Ints | None
    begin: int = 0
    length: int = 0


class Inbox:
    """The letters of each peer, in the order in which they were sent."""

    def __init__(self, peers: int, me: int, *, limit: int, silence: float) -> None:
        self._queues: list[deque[_Letter]] = [deque() for _ in range(peers)]
        self._heard = [time.monotonic()] * peers
        self._me = me
        self._limit = limit
        self._silence = silence
        self._changed = threading.Condition()
        self._bytes = 0
        self._on_disk = 0
        self._file: IO[bytes] | None = None
        self._lost: Exception | None = None
        self._closed = False
        self.spilled = 0
        """How many bytes have gone to disk."""

    def put(self, peer: int, header: Header, cells: Ints) -> None:
        """Take in a letter; never waits for the reader."""
        with self._changed:
            letter = _Letter(header, cells, length=cells.shape[0])
            if self._bytes + cells.nbytes > self._limit and cells.nbytes:
                self._spill(letter, cells)
            else:
                self._bytes += cells.nbytes
            self._queues[peer].append(letter)
            self._heard[peer] = time.monotonic()
            self._changed.notify_all()

    def heard(self, peer: int) -> None:
        """Note that a peer is there."""
        self._heard[peer] = time.monotonic()

    def fail(self, error: Exception) -> None:
        """Have whoever reads get this error; the first one counts."""
        with self._changed:
            if self._lost is None:
                self._lost = error
            self._changed.notify_all()

    def _spill(self, letter: _Letter, cells: Ints) -> None:
        if self._closed:
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="whence-gang-")  # noqa: SIM115
        self._file.seek(0, 2)
        letter.begin, letter.cells = self._file.tell(), None
        self._file.write(np.ascontiguousarray(cells).data)
        self._on_disk += 1
        self.spilled += cells.nbytes

    def read(self) -> Iterator[tuple[int, Header, Ints]]:
        """Return what peers send in one round, as it comes, with the header that ends each part."""
        waiting = set(range(len(self._queues))) - {self._me}
        while waiting:
            peer, letter = self._next(waiting)
            if "end" in letter.header:
                waiting.discard(peer)
            cells = letter.cells
            if cells is None:
                cells = self._load(letter)
            yield peer, letter.header, cells

    def _next(self, peers: set[int]) -> tuple[int, _Letter]:
        with self._changed:
            while True:
                if self._lost is not None:
                    raise self._lost
                for peer in peers:
                    if self._queues[peer]:
                        letter = self._queues[peer].popleft()
                        if letter.cells is not None:
                            self._bytes -= letter.cells.nbytes
                        return peer, letter
                oldest = min(peers, key=lambda peer: self._heard[peer])
                left = self._heard[oldest] + self._silence - time.monotonic()
                if left <= 0:
                    raise PeerLost(f"task {oldest} was silent for {self._silence:g} s")
                self._changed.wait(left)

    def _load(self, letter: _Letter) -> Ints:
        with self._changed:
            assert self._file is not None
            self._file.seek(letter.begin)
            found = self._file.read(8 * letter.length)
            self._on_disk -= 1
            if not self._on_disk:
                self._file.truncate(0)
        return np.frombuffer(found, dtype=np.int64)

    def close(self) -> None:
        """Let go of the disk."""
        with self._changed:
            self._closed = True
            if self._file is not None:
                self._file.close()
                self._file = None
