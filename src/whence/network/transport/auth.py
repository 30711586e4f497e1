"""Datagrams that only who knows the network's secret can make, each good once.

A keyed BLAKE2b over sender, receiver, epoch, counter and bytes stands before them. A receiver keeps
a window of counters for each sender and forgets older epochs; what it has seen it drops, before
anything else looks at it. After a restart it knows no counters, which is what the epochs of
conversations (`session.py`) are for.
"""

from __future__ import annotations

import hmac
import itertools
import struct
from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from typing import Final

from whence.network.model import Receive, Transport

_HEADER: Final = struct.Struct("!BQQ")
_TAG: Final = 16
_VERSION: Final = 1
OVERHEAD: Final = _HEADER.size + _TAG
LEAST_SECRET: Final = 16
"""Bytes; fewer can be guessed."""
_WINDOW: Final = 1024


class Seal:
    """Makes and checks sealed datagrams; `forged` and `replayed` count what was refused."""

    def __init__(self, secret: bytes, epoch: int) -> None:
        if len(secret) < LEAST_SECRET:
            raise ValueError(f"a secret has {LEAST_SECRET} bytes at least")
        self._key = blake2b(secret, digest_size=32, person=b"whence network").digest()
        self._epoch = epoch
        self._counter = itertools.count()
        self._seen: dict[tuple[str, str], tuple[int, int, int]] = {}
        self.forged = 0
        self.replayed = 0

    def seal(self, source: str, target: str, payload: bytes) -> bytes:
        """Return the bytes with what proves where they come from."""
        head = _HEADER.pack(_VERSION, self._epoch, next(self._counter))
        return head + self._tag(source, target, head, payload) + payload

    def open(self, source: str, target: str, datagram: bytes) -> bytes | None:
        """Return the bytes of a datagram that is what it says and was not seen before."""
        if len(datagram) < OVERHEAD or datagram[0] != _VERSION:
            self.forged += 1
            return None
        head, tag = datagram[: _HEADER.size], datagram[_HEADER.size : OVERHEAD]
        payload = datagram[OVERHEAD:]
        if not hmac.compare_digest(tag, self._tag(source, target, head, payload)):
            self.forged += 1
            return None
        _, epoch, counter = _HEADER.unpack(head)
        if not self._is_new((source, target), epoch, counter):
            self.replayed += 1
            return None
        return payload

    def _tag(self, source: str, target: str, head: bytes, payload: bytes) -> bytes:
        names = source.encode("utf-8", "surrogatepass"), target.encode("utf-8", "surrogatepass")
        mac = blake2b(head, key=self._key, digest_size=_TAG)
        mac.update(struct.pack("!II", *map(len, names)) + names[0] + names[1])
        mac.update(payload)
        return mac.digest()

    def _is_new(self, pair: tuple[str, str], epoch: int, counter: int) -> bool:
        """Say whether a counter was not seen, and remember it: the highest, and bits below it."""
        known, highest, bits = self._seen.get(pair, (0, -1, 0))
        if epoch < known:
            return False
        if epoch > known:
            highest, bits = -1, 0
        if counter > highest:
            bits = (bits << min(counter - highest, _WINDOW) | 1) & ((1 << _WINDOW) - 1)
            highest = counter
        else:
            behind = highest - counter
            if behind >= _WINDOW or bits >> behind & 1:
                return False
            bits |= 1 << behind
        self._seen[pair] = (epoch, highest, bits)
        return True


class AuthenticatedTransport:
    """Seals what is sent over another transport, and delivers only what is sealed."""

    def __init__(self, inner: Transport, secret: bytes, epochs: Callable[[], int]) -> None:
        self.inner = inner
        self.seal = Seal(secret, epochs())

    def attach(self, address: str, receive: Receive) -> None:
        """Deliver to `receive` what comes from who knows the secret."""
        self.inner.attach(address, partial(self._datagram, address, receive))

    def detach(self, address: str) -> None:
        """Deliver nothing to this processor any more."""
        self.inner.detach(address)

    def send(self, source: str, target: str, payload: bytes) -> None:
        """Send bytes under a seal."""
        self.inner.send(source, target, self.seal.seal(source, target, payload))

    def close(self) -> None:
        """End all activity."""
        self.inner.close()

    def _datagram(self, here: str, receive: Receive, source: str, datagram: bytes) -> None:
        payload = self.seal.open(source, here, datagram)
        if payload is not None:
            receive(source, payload)
