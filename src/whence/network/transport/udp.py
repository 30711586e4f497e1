"""Datagrams over UDP: a socket for each processor here, and a book that says where the others are.

Nothing is trusted. What comes from nobody in the book is dropped at once; a flood of it is read in
large portions and cannot keep timers or known peers waiting for long.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
from collections.abc import Callable, Mapping
from typing import IO, Any, Final

from whence.diagnostics import DataError, Diagnostic
from whence.network.clock import RealClock
from whence.network.model import Receive
from whence.network.transport.base import Counters

LARGEST: Final = 65_507
_BUFFER: Final = 1 << 22
_TAKEN: Final = 64
"""Datagrams of known peers that are handled before timers get their turn."""
_READ: Final = 1024
"""Datagrams that are looked at before timers get their turn."""
_LONGEST_WAIT: Final = 0.25

Place = tuple[str, int]


class UdpTransport:
    """Carries datagrams between processors in processes or on machines of their own."""

    def __init__(
        self, book: Mapping[str, Place], opened: Mapping[str, socket.socket] | None = None
    ) -> None:
        """Take the places of all processors; port 0 is any that is free, for those here.

        Sockets may have been `opened` before, by whoever has started this process.
        """
        self.book: dict[str, Place] = {}
        self.counters = Counters()
        self.strangers = 0
        self._names: dict[Place, str] = {}
        self._opened = dict(opened or {})
        self._sockets: dict[str, socket.socket] = {}
        self._receivers: dict[str, Receive] = {}
        self._selector = selectors.DefaultSelector()
        for name, place in book.items():
            self.know(name, place)

    def know(self, name: str, place: Place) -> None:
        """Learn where a processor is."""
        host, port = place
        with contextlib.suppress(OSError):  # a name that is unknown now is just not reached
            host = socket.gethostbyname(host)
        old = self.book.get(name)
        if old is not None and self._names.get(old) == name:
            del self._names[old]
        self.book[name] = (host, port)
        if port:
            self._names[host, port] = name

    def attach(self, address: str, receive: Receive) -> None:
        """Open the socket of a processor here, and deliver to `receive` what comes there."""
        self.detach(address)
        given = self._opened.pop(address, None)
        opened = given or socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            opened.setblocking(False)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
            if given is None:
                opened.bind(self.book.get(address, ("127.0.0.1", 0)))
        except OSError as error:
            opened.close()
            host, port = self.book.get(address, ("127.0.0.1", 0))
            message = f"`{address}` cannot be at {host}:{port}: {(error.strerror or '').lower()}"
            raise DataError(Diagnostic("W1410", message)) from None
        self.know(address, opened.getsockname())
        self._sockets[address] = opened
        self._receivers[address] = receive
        self._selector.register(opened, selectors.EVENT_READ, address)

    def detach(self, address: str) -> None:
        """Close the socket of a processor here."""
        self._receivers.pop(address, None)
        opened = self._sockets.pop(address, None)
        if opened is not None:
            self._selector.unregister(opened)
            opened.close()

    def close(self) -> None:
        """Close all sockets."""
        for address in list(self._sockets):
            self.detach(address)
        self._selector.close()

    def send(self, source: str, target: str, payload: bytes) -> None:
        """Send a datagram, or lose it where that is impossible now."""
        opened, place = self._sockets.get(source), self.book.get(target)
        if opened is None or place is None or not place[1]:
            self.counters.dropped += 1
            return
        try:
            opened.sendto(payload, place)
        except OSError:  # no room, no route: as if it were lost on the way
            self.counters.dropped += 1
            return
        self.counters.sent += 1
        self.counters.sent_bytes += len(payload)

    def watch(self, file: IO[Any], callback: Callable[[], None]) -> None:
        """Call back when there is something to read from a file, too."""
        self._selector.register(file, selectors.EVENT_READ, callback)

    def unwatch(self, file: IO[Any]) -> None:
        """Look at a file no more."""
        self._selector.unregister(file)

    def poll(self, seconds: float | None) -> None:
        """Wait for datagrams no longer than this, and deliver those that are there."""
        for key, _ in self._selector.select(seconds):
            if isinstance(key.data, str):
                self._drain(key.data)
            else:
                key.data()

    def _drain(self, address: str) -> None:
        """Deliver what has come to a socket: a portion, so that others get their turn."""
        taken = 0
        for _ in range(_READ):
            opened = self._sockets.get(address)
            if opened is None:  # the receiver has detached itself
                return
            try:
                datagram, place = opened.recvfrom(LARGEST)
            except BlockingIOError:
                return
            except OSError:  # an error report for something sent earlier
                continue
            source = self._names.get(place)
            if source is None:
                self.strangers += 1
                continue
            self.counters.delivered += 1
            self.counters.delivered_bytes += len(datagram)
            self._receivers[address](source, datagram)
            taken += 1
            if taken == _TAKEN:
                return


def run(clock: RealClock, transport: UdpTransport, stop: Callable[[], bool]) -> None:
    """Let timers and datagrams happen until told to stop."""
    while not stop():
        clock.tick()
        wait = clock.wait()
        transport.poll(_LONGEST_WAIT if wait is None else min(wait, _LONGEST_WAIT))
