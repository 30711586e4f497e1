"""Between the tasks of a gang: rounds of letters over Arrow Flight, one stream to each peer.

In every round each task sends each peer its parts and then an end; a round is over for a task when
it has every peer's end. Streams stay open from first to last, and threads drain them.
"""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight

from whence.engine.local.kernels.hashing import Ints
from whence.engine.spark.gang.endpoint import FAULTS, Access, Endpoint
from whence.engine.spark.gang.inbox import Header, Inbox, PeerLost, PeerStopped

_SCHEMA = pa.schema([("cells", pa.int64())])
_NO_CELLS: Ints = np.empty(0, dtype=np.int64)
_ALIVE = (b'{"say": "alive"}', _NO_CELLS)
_MOMENT = 0.3
_LEAVE = 5.0
"""Seconds that a task gives its last letters."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, and how much to keep in memory."""

    silence: float = 120.0
    """Seconds after which a peer that says nothing is given up."""
    inbox_bytes: int = 1 << 30
    """What waits to be read and is more than this goes to disk."""


class _Postbox(Endpoint):
    """Where the letters of peers arrive."""

    def __init__(self, host: str, access: Access, inbox: Inbox, wait: float) -> None:
        self._inbox = inbox
        self._wait = wait
        self._token: str | None = None
        self._met = threading.Event()
        super().__init__(host, access)

    def meet(self, token: str) -> None:
        """Let those in who were at the same meeting."""
        self._token = token
        self._met.set()

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """Drain one peer's stream."""
        token, sender = (part.decode() for part in descriptor.path)
        self._met.wait(self._wait)  # a peer may know of the meeting first
        if token != self._token:  # a ghost of a former attempt
            raise flight.FlightUnauthorizedError("this endpoint belongs to another attempt")
        peer, inbox = int(sender), self._inbox
        inbox.heard(peer)
        ended = "its connection broke"
        try:
            while True:
                chunk = reader.read_chunk()
                header = json.loads(chunk.app_metadata.to_pybytes())
                match header.get("say"):
                    case "alive":
                        inbox.heard(peer)
                    case "bye":
                        return
                    case "stopped":
                        inbox.fail(PeerStopped(f"task {peer}: {header['why']}"))
                        return
                    case "lost":
                        ended = header["why"]
                        break
                    case _:
                        inbox.put(peer, header, _cells(chunk.data))
        except (StopIteration, flight.FlightError, pa.ArrowException) as error:
            ended = f"{ended} ({str(error).splitlines()[0]})" if str(error) else ended
        inbox.fail(PeerLost(f"task {peer} ended: {ended}"))


def _cells(batch: Any) -> Ints:
    column = batch.column(0)
    if not len(column):
        return _NO_CELLS
    whole = np.frombuffer(column.buffers()[1], dtype=np.int64)
    return whole[column.offset : column.offset + len(column)]


def _batch(cells: Ints) -> Any:
    array = pa.Array.from_buffers(pa.int64(), cells.shape[0], [None, pa.py_buffer(cells)])
    return pa.RecordBatch.from_arrays([array], schema=_SCHEMA)


class _Stream(threading.Thread):
    """The way to one peer, with a thread that sends: the evaluation never waits for a receiver.

    When there is nothing to send it says that this task is alive.
    """

    def __init__(
        self, peer: int, way: Callable[[], tuple[Any, Any]], inbox: Inbox, every: float
    ) -> None:
        super().__init__(name=f"to task {peer}", daemon=True)
        self._peer = peer
        self._way = way
        self._inbox = inbox
        self._every = every
        self._letters: SimpleQueue[tuple[bytes, Ints] | None] = SimpleQueue()

    def send(self, header: Mapping[str, object], cells: Ints = _NO_CELLS) -> None:
        """Have a letter sent after those before it."""
        self._letters.put((json.dumps(header).encode(), cells))

    def close(self) -> None:
        """End the stream after the last letter."""
        self.send({"say": "bye"})
        self._letters.put(None)

    def run(self) -> None:
        try:
            client, writer = self._way()
            while (letter := self._next()) is not None:
                writer.write_with_metadata(_batch(letter[1]), letter[0])
            writer.close()
            client.close()
        except FAULTS as error:
            # A peer that ends says why on its own stream, which may take a moment.
            time.sleep(_MOMENT)
            self._inbox.fail(PeerLost(f"task {self._peer} is not reached: {_first_line(error)}"))

    def _next(self) -> tuple[bytes, Ints] | None:
        try:
            return self._letters.get(timeout=self._every)
        except Empty:
            return _ALIVE


class Exchange:
    """One task's part in a gang: `connect` before the first round, `close` at the end."""

    def __init__(
        self,
        me: int,
        tasks: int,
        *,
        host: str,
        access: Access,
        patience: Patience | None = None,
    ) -> None:
        patience = patience or Patience()
        self.me = me
        self.tasks = tasks
        self._access = access
        self._inbox = Inbox(tasks, me, limit=patience.inbox_bytes, silence=patience.silence)
        self._server = _Postbox(host, access, self._inbox, patience.silence)
        self._silence = patience.silence
        self._streams: dict[int, _Stream] = {}
        self.sent_bytes = 0
        self.received_bytes = 0
        self.waited = 0.0
        """Seconds of waiting for peers."""

    @property
    def location(self) -> str:
        """Where peers find this task."""
        return str(self._server.location)

    @property
    def spilled_bytes(self) -> int:
        """How much had to wait on disk."""
        return self._inbox.spilled

    def connect(self, locations: Sequence[str], token: str) -> None:
        """Open the way to every peer; the token is what all were told when they met."""
        self._server.meet(token)
        for peer, location in enumerate(locations):
            if peer != self.me:
                way = functools.partial(_open, location, self._access, token, self.me)
                self._streams[peer] = _Stream(peer, way, self._inbox, self._silence / 8)
                self._streams[peer].start()

    def send(self, peer: int, header: Header, cells: Ints) -> None:
        """Send one letter to one peer; its cells must stay as they are."""
        self.sent_bytes += cells.nbytes
        self._streams[peer].send(header, cells)

    def end(self, header: Mapping[str, object]) -> None:
        """Tell all peers that this task has sent what it had in this round."""
        for stream in self._streams.values():
            stream.send({"end": 1, **header})

    def receive(self) -> Iterator[tuple[int, Header, Ints]]:
        """Return what all peers send in this round, as it comes."""
        started = time.perf_counter()
        for peer, header, cells in self._inbox.read():
            self.waited += time.perf_counter() - started
            self.received_bytes += cells.nbytes
            yield peer, header, cells
            started = time.perf_counter()
        self.waited += time.perf_counter() - started

    def stop(self, why: str, *, mistake: bool) -> None:
        """Tell peers at once that this task gives up: for good, or so that all may try again."""
        for stream in self._streams.values():
            stream.send({"say": "stopped" if mistake else "lost", "why": why})

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Take leave of the peers and free what this task holds."""
        for stream in self._streams.values():
            stream.close()
        until = time.monotonic() + _LEAVE
        for stream in self._streams.values():
            stream.join(max(0.0, until - time.monotonic()))
        # Handlers of peers that are still there would keep `shutdown` waiting.
        done = threading.Thread(target=self._server.shutdown, daemon=True)
        done.start()
        done.join(2.0)
        self._inbox.close()


def _open(location: str, access: Access, token: str, me: int) -> tuple[Any, Any]:
    """Return a client of a peer, and the stream to it."""
    client = access.connect(location)
    path = flight.FlightDescriptor.for_path(token.encode(), str(me).encode())
    writer, _ = client.do_put(path, _SCHEMA, access.options())
    return client, writer


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
