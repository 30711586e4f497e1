"""Programs that spread by themselves: flooded along links, or ahead of the first tuple to a peer.

A program has a name and a version; a node installs a newer version than it has, tells its
neighbours, and does nothing about one that it knows. Withdrawing is a version without text. Where
there is a key, only programs sealed with it count, whoever passes them on (Loo 2006, sections 3.2
and 4.1).
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from whence.diagnostics import WhenceError
from whence.network.model import Codec, Control, Receive, Transport

PROGRAM: Final = "program"
"""The kind of control messages that carry programs."""
MOST_TEXT: Final = 1 << 20
MOST_PROGRAMS: Final = 1000


@dataclass(frozen=True, slots=True)
class Announcement:
    """A version of a program; without text it is withdrawn."""

    name: str
    version: int
    text: str | None

    def tag(self, key: bytes) -> bytes:
        """Return the seal of whoever may spread programs."""
        mac = blake2b(key=blake2b(key, digest_size=32, person=b"whence program").digest())
        for part in (self.name, str(self.version), "" if self.text is None else f"+{self.text}"):
            data = part.encode("utf-8", "surrogatepass")
            mac.update(len(data).to_bytes(8, "big") + data)
        return mac.digest()[:16]


class Disseminator:
    """What one node knows of programs, and whom it tells."""

    def __init__(
        self,
        send: Callable[[str, Control], None],
        neighbours: Callable[[], Iterable[str]],
        prepare: Callable[[str, str], Callable[[], None]],
        cancel: Callable[[str], None],
        *,
        key: bytes | None = None,
        flood: bool = True,
        now: Callable[[], int] = lambda: 0,
        met: Callable[[str, Announcement], None] = lambda source, known: None,
    ) -> None:
        """Take how to send, to whom, and what to do with a program that is new or withdrawn.

        `prepare` looks whether a program is right and returns what starts it: neighbours hear of a
        program before its first tuples reach them. `now` begins numbers of versions, so that who
        restarts and has forgotten them all does not begin below what others know. `met` hears who
        has told a program, before it starts.
        """
        self.known: dict[str, Announcement] = {}
        self.refused = 0
        self._send = send
        self._neighbours = neighbours
        self._prepare = prepare
        self._cancel = cancel
        self._key = key
        self._flood = flood
        self._now = now
        self._met = met

    def announce(self, name: str, text: str) -> None:
        """Install a program here and, by and by, everywhere."""
        self._spread(Announcement(name, self._next(name), text), None)

    def withdraw(self, name: str) -> None:
        """Cancel a program here and, by and by, everywhere."""
        self._spread(Announcement(name, self._next(name), None), None)

    def receive(self, source: str, message: Control) -> None:
        """Take a program from another node; what is malformed, forged or old changes nothing."""
        found = self._read(message.body)
        if found is None:
            self.refused += 1
            return
        self._met(source, found)
        old = self.known.get(found.name)
        if old is not None and old.version >= found.version:
            return
        if old is None and len(self.known) >= MOST_PROGRAMS:
            self.refused += 1
            return
        try:
            self._spread(found, source)
        except WhenceError:  # a program that is wrong goes no further
            self.refused += 1

    def greet(self, peer: str) -> None:
        """Tell a node that has just come all programs, and which are withdrawn."""
        for known in self.known.values():
            self._send(peer, self.message(known))

    def active(self) -> list[Announcement]:
        """Return the programs that run here."""
        return [known for known in self.known.values() if known.text is not None]

    def message(self, known: Announcement) -> Control:
        """Return a program as it travels."""
        tag = None if self._key is None else known.tag(self._key)
        return Control(PROGRAM, (known.name, known.version, known.text, tag))

    def _next(self, name: str) -> int:
        old = self.known[name].version if name in self.known else 0
        return max(old + 1, self._now())

    def _spread(self, new: Announcement, source: str | None) -> None:
        start = None if new.text is None else self._prepare(new.name, new.text)
        if new.name in self.known and self.known[new.name].text is not None:
            self._cancel(new.name)
        self.known[new.name] = new
        if self._flood or new.text is None:  # a withdrawal has no tuple to ride on
            for peer in self._neighbours():
                if peer != source:
                    self._send(peer, self.message(new))
        if start is not None:
            try:
                start()
            except WhenceError:  # it does not go together with what runs here
                self.known[new.name] = Announcement(new.name, new.version, None)
                raise

    def _read(self, body: object) -> Announcement | None:
        match body:
            case (str(name), int(version), str() | None as text, bytes() | None as tag):
                if version < 1 or len(text or "") > MOST_TEXT:
                    return None
                found = Announcement(name, version, text)
            case _:
                return None
        if self._key is not None and not hmac.compare_digest(tag or b"", found.tag(self._key)):
            return None
        return found


class RidingTransport:
    """Sends the programs of a node ahead of its first tuples to each peer."""

    def __init__(self, inner: Transport, codec: Codec) -> None:
        self.inner = inner
        self.programs: Disseminator | None = None
        """Who knows what runs here; to be set before anything is sent."""
        self._codec = codec
        self._told: set[tuple[str, str, int]] = set()

    def attach(self, address: str, receive: Receive) -> None:
        """Deliver to `receive` what is sent to this processor."""
        self.inner.attach(address, receive)

    def detach(self, address: str) -> None:
        """Deliver nothing to this processor any more."""
        self.inner.detach(address)

    def close(self) -> None:
        """End all activity."""
        self.inner.close()

    def send(self, source: str, target: str, payload: bytes) -> None:
        """Send bytes, after the programs that the target was not told."""
        if self.programs is not None:
            for known in self.programs.active():
                told = (target, known.name, known.version)
                if told not in self._told:
                    self._told.add(told)
                    message = self._codec.encode(self.programs.message(known))
                    self.inner.send(source, target, message)
        self.inner.send(source, target, payload)

    def heard(self, source: str, known: Announcement) -> None:
        """Take note that a peer knows a program, since it has sent it."""
        self._told.add((source, known.name, known.version))

    def forget(self, peer: str) -> None:
        """Tell a peer everything again: it has restarted."""
        self._told = {told for told in self._told if told[0] != peer}
