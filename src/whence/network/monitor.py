"""Which neighbours are alive: they are asked now and then, and silence means that they are not."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from whence.network.model import Clock, Handle
from whence.network.transport.reliable import ReliableTransport


class Monitor:
    """Watches the neighbours of one node over its transport."""

    def __init__(
        self,
        clock: Clock,
        transport: ReliableTransport,
        here: str,
        peers: Iterable[str],
        up: Callable[[str], None],
        down: Callable[[str], None],
        *,
        beat: float = 0.5,
        silence: float = 2.5,
    ) -> None:
        """Ask every `beat` seconds; who has not been heard for `silence` seconds is down."""
        self.alive: dict[str, bool] = dict.fromkeys(peers, False)
        self._clock = clock
        self._transport = transport
        self._here = here
        self._up = up
        self._down = down
        self._beat = beat
        self._silence = silence
        self._timer: Handle | None = clock.call_at(clock.now(), self._tick)

    def restarted(self, peer: str) -> None:
        """Learn that a neighbour has come back without its memory: it was down, and is up."""
        if self.alive.get(peer):
            self._down(peer)
            self._up(peer)

    def stop(self) -> None:
        """Ask no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        now = self._clock.now()
        self._timer = self._clock.call_at(now + self._beat, self._tick)
        for peer, was in self.alive.items():
            self._transport.ping(self._here, peer)
            heard = self._transport.heard(self._here, peer)
            alive = now - heard < self._silence
            if alive != was:
                self.alive[peer] = alive
                (self._up if alive else self._down)(peer)
