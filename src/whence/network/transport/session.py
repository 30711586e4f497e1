"""A reliable conversation of two processors, without sockets or clocks: bytes in, bytes out.

Packets have sequence numbers; what arrives is acknowledged cumulatively and selectively, what is
lost is sent again after a time that follows the round trip (Jacobson 1988, Karn's rule), and a
window that grows slowly and halves on loss (AIMD) says how much may be under way.

Each side has an *epoch*, greater after each restart. A packet counts only if it names the epoch of
its receiver, so whoever has restarted first tells who it is now: no packet of an earlier
conversation, replayed or late, is taken for one of this.
"""

from __future__ import annotations

import struct
from collections import deque
from dataclasses import dataclass
from typing import Final

_HEADER: Final = struct.Struct("!BQQQQI")
"""Kind, the sender's epoch, the receiver's as the sender knows it (0: not), the number of the
packet, the number up to which all has come, and a bit for each of the 32 after that one."""

OVERHEAD: Final = _HEADER.size
_LENGTH: Final = struct.Struct("!H")
_MORE: Final = 0x8000
_DATA: Final = 1
_ANSWER: Final = 2
_KINDS: Final = frozenset((0, _DATA, _ANSWER, _DATA | _ANSWER))


@dataclass(frozen=True, slots=True)
class Settings:
    """How a conversation behaves; times are seconds."""

    packet: int = 1200
    """Bytes of messages in a packet, at most; below 32 KiB."""
    window: int = 256
    """Packets under way, at most."""
    first_window: float = 8.0
    first_timeout: float = 0.5
    least_timeout: float = 0.05
    most_timeout: float = 5.0
    ack_delay: float = 0.01
    give_up: float = 60.0
    """After this time without an answer what waits is dropped, and the conversation is over."""
    queue: int = 1 << 28
    """Bytes that may wait for one peer; what comes on top is refused."""
    message: int = 1 << 26
    """Bytes of a message, at most."""


@dataclass(slots=True)
class _Sent:
    """A packet that was not acknowledged yet."""

    payload: bytes
    at: float
    again: bool = False
    passed: int = 0  # acknowledgements of later packets


class Session:
    """One side of a conversation. Methods return what is to be sent; `inbox` has what came."""

    def __init__(self, epoch: int, settings: Settings) -> None:
        self.epoch = epoch
        self.peer = 0
        self.inbox: list[bytes] = []
        self.restarts = 0
        self.heard = float("-inf")
        self.over = False
        self.given_up = 0
        """Messages that waited, at least in part, when it was over."""
        self.resent = 0
        self._settings = settings
        self._timeout = settings.first_timeout
        self._round: float | None = None
        self._variation = 0.0
        self._backoff = 1
        self._hello_at: float | None = None
        self._silent: float | None = None  # since when there was no answer
        self._queue: deque[bytes] = deque()
        self._waiting = 0
        self._reset()

    def _reset(self) -> None:
        """Begin both directions from nothing."""
        self._number = 0
        self._flight: dict[int, _Sent] = {}
        self._lost: deque[int] = deque()
        self._offset = 0  # how much of the first queued message has left
        self._window = self._settings.first_window
        self._threshold = float(self._settings.window)
        self._recovery = 0  # losses among packets before this one were paid for
        self._resend_at: float | None = None
        self._expected = 0
        self._early: dict[int, bytes] = {}
        self._partial: list[bytes] = []
        self._partial_size = 0
        self._unacknowledged = 0
        self._ack_at: float | None = None

    def idle(self) -> bool:
        """Say whether everything was sent and acknowledged."""
        return not (self._queue or self._flight)

    def deadline(self) -> float | None:
        """Return when `tick` should be called next."""
        times = (self._ack_at, self._resend_at, self._hello_at)
        return min((at for at in times if at is not None), default=None)

    def send(self, now: float, message: bytes) -> list[bytes] | None:
        """Take a message; return packets, or None when too much is waiting already."""
        if self._waiting + len(message) > self._settings.queue:
            return None
        if len(message) > self._settings.message:
            return None
        self._queue.append(message)
        self._waiting += len(message)
        return self._pump(now)

    def ping(self) -> bytes:
        """Return a packet that asks for an answer."""
        return self._packet(_ANSWER, self._number, b"")

    def tick(self, now: float) -> list[bytes]:
        """Do what is due."""
        if self._silent is not None and now - self._silent >= self._settings.give_up:
            self._end()
            return []
        out: list[bytes] = []
        if self._hello_at is not None and self._hello_at <= now:
            self._hello_at = None
            self._backoff = min(self._backoff * 2, 1 << 16)
        if self._resend_at is not None and self._resend_at <= now:
            # Everything under way may be lost: begin again with little.
            self._backoff = min(self._backoff * 2, 1 << 16)
            self._threshold = max(len(self._flight) / 2, 2.0)
            self._window = 2.0
            self._recovery = self._number
            self._lost = deque(self._flight)
            self._resend_at = None
        out += self._pump(now)
        if self._ack_at is not None and self._ack_at <= now:
            out.append(self._acknowledgement())
        return out

    def receive(self, now: float, datagram: bytes) -> list[bytes]:
        """Take a packet, however wrong it may be; return packets."""
        if len(datagram) < OVERHEAD:
            return []
        kind, theirs, ours, number, acknowledged, selective = _HEADER.unpack_from(datagram)
        if kind not in _KINDS or theirs == 0 or theirs < self.peer:
            return []
        if ours != self.epoch:
            # Not for who we are now: say so, and believe nothing else.
            return [self._packet(0, 0, b"", to=theirs)] if ours < self.epoch else []
        if theirs > self.peer:
            self._meet(theirs)
        self.heard = now
        self._silent = None
        out: list[bytes] = []
        if acknowledged <= self._number:
            self._acknowledge(now, acknowledged, selective)
        if kind & _DATA:
            self._take(now, number, datagram[OVERHEAD:])
        elif kind & _ANSWER:
            self._ack_at = now
        out += self._pump(now)
        if self._ack_at is not None and self._ack_at <= now:
            out.append(self._acknowledgement())
        return out

    def _end(self) -> None:
        """Give up: the peer is gone, or so far away that it makes no difference."""
        self.over = True
        self.given_up = len(self._queue) + len(self._flight)
        self._queue.clear()
        self._waiting = 0
        self._hello_at = None
        self._reset()

    def _meet(self, epoch: int) -> None:
        """Learn who the peer is now; what was meant for who it was before is void."""
        if self.peer:
            self.restarts += 1
            self._queue.clear()
            self._waiting = 0
        self.peer = epoch
        self._backoff = 1
        self._hello_at = None
        self._reset()

    def _packet(self, kind: int, number: int, payload: bytes, to: int | None = None) -> bytes:
        bits = 0
        if self._early:
            for early in self._early:
                if 0 < early - self._expected <= 32:
                    bits |= 1 << (early - self._expected - 1)
        peer = self.peer if to is None else to
        head = _HEADER.pack(kind, self.epoch, peer, number, self._expected, bits)
        return head + payload

    def _acknowledgement(self) -> bytes:
        self._ack_at = None
        self._unacknowledged = 0
        return self._packet(0, self._number, b"")

    # Sending

    def _pump(self, now: float) -> list[bytes]:
        """Return what may be sent now: what was lost first, then what is new."""
        if not self.peer:
            if not self._queue or self._hello_at is not None:
                return []
            self._hello_at = now + self._patience()
            if self._silent is None:
                self._silent = now
            return [self.ping()]
        out: list[bytes] = []
        under_way = len(self._flight) - len(self._lost)
        while self._lost and under_way < self._window:
            number = self._lost.popleft()
            sent = self._flight.get(number)
            if sent is not None:
                sent.at, sent.again, sent.passed = now, True, 0
                self.resent += 1
                out.append(self._packet(_DATA, number, sent.payload))
                under_way += 1
        most = min(self._window, self._settings.window)
        while self._queue and not self._lost and under_way < most and self._room():
            payload = self._fill()
            self._flight[self._number] = _Sent(payload, now)
            out.append(self._packet(_DATA, self._number, payload))
            self._number += 1
            under_way += 1
        if out:
            self._ack_at, self._unacknowledged = None, 0  # each packet acknowledges
        if self._flight and self._resend_at is None:
            self._resend_at = now + self._patience()
        if self._flight and self._silent is None:
            self._silent = now
        return out

    def _room(self) -> bool:
        """Say whether the receiver will keep the next packet even if all before it are late."""
        return not self._flight or self._number - next(iter(self._flight)) < self._settings.window

    def _fill(self) -> bytes:
        """Take the next packet's worth from the queue: whole messages, or a part of one."""
        parts: list[bytes] = []
        left = self._settings.packet
        while self._queue and left > _LENGTH.size:
            message = self._queue[0]
            part = message[self._offset : self._offset + left - _LENGTH.size]
            self._offset += len(part)
            more = self._offset < len(message)
            parts += (_LENGTH.pack(len(part) | (_MORE if more else 0)), part)
            left -= _LENGTH.size + len(part)
            if not more:
                self._queue.popleft()
                self._waiting -= len(message)
                self._offset = 0
        return b"".join(parts)

    def _patience(self) -> float:
        return min(self._timeout * self._backoff, self._settings.most_timeout)

    def _acknowledge(self, now: float, upto: int, selective: int) -> None:
        flight = self._flight
        if not flight:
            return
        gone: list[_Sent] = []
        newest = upto - 1
        while flight and (first := next(iter(flight))) < upto:
            gone.append(flight.pop(first))
        advanced = bool(gone)
        if selective:
            for bit in range(selective.bit_length()):
                number = upto + 1 + bit
                if selective >> bit & 1 and number in flight:
                    gone.append(flight.pop(number))
                    newest = max(newest, number)
        if not gone:
            return
        fresh = [now - sent.at for sent in gone if not sent.again]
        if fresh:
            self._measure(min(fresh))
        self._backoff = 1
        for _ in gone:
            if self._window < self._threshold:
                self._window += 1.0
            else:
                self._window += 1.0 / self._window
        self._window = min(self._window, float(self._settings.window))
        for number, sent in flight.items():
            if number > newest:
                break
            sent.passed += len(gone)
            if sent.passed >= 3 and not sent.again and number not in self._lost:
                self._lost.append(number)
                if number >= self._recovery:  # one halving for all losses of a window
                    self._recovery = self._number
                    self._threshold = self._window = max(self._window / 2, 2.0)
        self._lost = deque(number for number in self._lost if number in flight)
        if not flight:
            self._resend_at = None
        elif advanced:  # not for later packets: the first may be lost again and again
            self._resend_at = now + self._patience()

    def _measure(self, sample: float) -> None:
        """Follow the round trip, and how much it varies (RFC 6298)."""
        if self._round is None:
            self._round, self._variation = sample, sample / 2
        else:
            self._variation += (abs(self._round - sample) - self._variation) / 4
            self._round += (sample - self._round) / 8
        wanted = self._round + 4 * self._variation + self._settings.ack_delay
        self._timeout = max(wanted, self._settings.least_timeout)

    # Receiving

    def _take(self, now: float, number: int, payload: bytes) -> None:
        ahead = number - self._expected
        if ahead < 0 or number in self._early:
            self._ack_at = now  # seen before: the acknowledgement was lost
            return
        if ahead >= self._settings.window:
            return
        self._early[number] = payload
        if ahead:
            self._ack_at = now  # something is missing, and the sender should know
            return
        while (ready := self._early.pop(self._expected, None)) is not None:
            self._expected += 1
            self._unpack(ready)
        self._unacknowledged += 1
        if self._unacknowledged >= 2 or self._early:
            self._ack_at = now
        elif self._ack_at is None:
            self._ack_at = now + self._settings.ack_delay

    def _unpack(self, payload: bytes) -> None:
        """Put the messages of a packet together; a packet that lies about lengths ends early."""
        at = 0
        while at + _LENGTH.size <= len(payload):
            (length,) = _LENGTH.unpack_from(payload, at)
            at += _LENGTH.size
            part = payload[at : at + (length & ~_MORE)]
            at += len(part)
            self._partial_size += len(part)
            if self._partial_size <= self._settings.message:
                self._partial.append(part)
            if not length & _MORE:
                if self._partial_size <= self._settings.message:
                    self.inbox.append(b"".join(self._partial))
                self._partial = []
                self._partial_size = 0
