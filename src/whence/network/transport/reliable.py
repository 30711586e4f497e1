"""In order, once: the conversations of many processors over any transport that loses datagrams."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

from whence.network.model import Clock, Handle, Receive, Transport
from whence.network.transport.base import Counters
from whence.network.transport.session import Session, Settings

Told = Callable[[str, str], None]
"""Called with a processor here and the peer that it is about."""


class _End:
    """One side of a conversation with its timer."""

    __slots__ = ("here", "peer", "session", "timer", "timer_at")

    def __init__(self, here: str, peer: str, session: Session) -> None:
        self.here = here
        self.peer = peer
        self.session = session
        self.timer: Handle | None = None
        self.timer_at = float("inf")


class ReliableTransport:
    """Delivers what is sent once and in order for each pair, over datagrams that may get lost.

    A processor that is attached again is a new one: what was meant for the old is not delivered.
    A conversation that was given up begins anew, which the peer cannot tell from a restart.
    """

    def __init__(
        self,
        inner: Transport,
        clock: Clock,
        *,
        settings: Settings | None = None,
        epochs: Callable[[], int] | None = None,
        restarted: Told | None = None,
        knows: Callable[[str], bool] | None = None,
    ) -> None:
        """Take datagrams; `epochs` gives ever greater numbers, also after the process restarts.

        Where not all processors exist that tuples may name, `knows` says which do.
        """
        self.inner = inner
        self.clock = clock
        self.counters = Counters()
        self._settings = settings or Settings()
        self._epochs = epochs or itertools.count(1).__next__
        self._restarted = restarted
        self._knows = knows
        self._renewed: dict[tuple[str, str], int] = {}
        self._own: dict[str, int] = {}
        self._receivers: dict[str, Receive] = {}
        self._ends: dict[tuple[str, str], _End] = {}

    def attach(self, address: str, receive: Receive) -> None:
        """Deliver to `receive` what is sent to this processor, from now on."""
        self.detach(address)
        self._own[address] = self._epochs()
        self._receivers[address] = receive
        self.inner.attach(address, partial(self._datagram, address))

    def detach(self, address: str) -> None:
        """Deliver nothing to this processor any more, and send nothing for it."""
        if self._receivers.pop(address, None) is not None:
            self.inner.detach(address)
        for key in [key for key in self._ends if key[0] == address]:
            end = self._ends.pop(key)
            if end.timer is not None:
                end.timer.cancel()

    def close(self) -> None:
        """End all conversations."""
        for address in list(self._receivers):
            self.detach(address)
        self.inner.close()

    def send(self, source: str, target: str, payload: bytes) -> None:
        """Send bytes; they arrive some time, unless the target never answers."""
        if source == target:
            self.clock.call_at(self.clock.now(), partial(self._deliver, source, source, payload))
            return
        if source not in self._receivers or (self._knows is not None and not self._knows(target)):
            self.counters.dropped += 1
            return
        end = self._end(source, target)
        packets = end.session.send(self.clock.now(), payload)
        if packets is None:
            self.counters.dropped += 1
            return
        self.counters.sent += 1
        self.counters.sent_bytes += len(payload)
        self._post(end, packets)

    def idle(self) -> bool:
        """Say whether everything was acknowledged that was sent from here."""
        return all(end.session.idle() for end in self._ends.values())

    def ping(self, source: str, target: str) -> None:
        """Ask a peer for a sign of life."""
        end = self._end(source, target)
        self._post(end, [end.session.ping()])

    def heard(self, source: str, target: str) -> float:
        """Return when a peer was last heard of; minus infinity if never."""
        found = self._ends.get((source, target))
        return float("-inf") if found is None else found.session.heard

    def sessions(self) -> Iterator[tuple[str, str, Session]]:
        """Yield each conversation of processors here."""
        for end in self._ends.values():
            yield end.here, end.peer, end.session

    def _end(self, here: str, peer: str) -> _End:
        found = self._ends.get((here, peer))
        if found is None:
            epoch = max(self._own[here], self._renewed.get((here, peer), 0))
            found = _End(here, peer, Session(epoch, self._settings))
            self._ends[here, peer] = found
        return found

    def _datagram(self, here: str, source: str, datagram: bytes) -> None:
        end = self._end(here, source)
        session = end.session
        before = session.restarts
        packets = session.receive(self.clock.now(), datagram)
        if session.restarts != before and self._restarted is not None:
            self._restarted(here, source)
        if session.inbox:
            messages, session.inbox = session.inbox, []
            for message in messages:
                self.counters.delivered += 1
                self.counters.delivered_bytes += len(message)
                self._deliver(source, here, message)
        if self._ends.get((here, source)) is end:  # the receiver may have detached itself
            self._post(end, packets)

    def _deliver(self, source: str, target: str, payload: bytes) -> None:
        receive = self._receivers.get(target)
        if receive is not None:
            receive(source, payload)

    def _post(self, end: _End, packets: list[bytes]) -> None:
        for packet in packets:
            self.inner.send(end.here, end.peer, packet)
        deadline = end.session.deadline()
        if deadline is not None and deadline < end.timer_at:
            if end.timer is not None:
                end.timer.cancel()
            end.timer_at = deadline
            end.timer = self.clock.call_at(deadline, partial(self._fire, end))

    def _fire(self, end: _End) -> None:
        """Do what is due; a timer that was set for something done meanwhile is set anew."""
        end.timer, end.timer_at = None, float("inf")
        self._post(end, end.session.tick(self.clock.now()))
        if end.session.over:
            self.counters.dropped += end.session.given_up
            self._renewed[end.here, end.peer] = self._epochs()
            del self._ends[end.here, end.peer]
