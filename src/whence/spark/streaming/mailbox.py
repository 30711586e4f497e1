"""Rounds between the tasks of a batch over Arrow Flight: one endpoint for each worker process.

An endpoint stays as long as its process, so that a batch pays for its letters only. A letter names
its batch's token, so one of a former attempt goes nowhere.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

import pyarrow.flight as flight

from whence.engine.spark.gang.endpoint import FAULTS, Access, Endpoint

_PART = 32 << 20
"""Bytes of the largest letter; what is larger goes in several."""
_PATIENCE = 5.0
"""Seconds of silence after which a peer is asked whether it is there."""
_CALL = 60.0
"""Seconds that a call may take."""


class PeerLost(Exception):
    """A peer cannot be reached; trying the batch again may help."""


class PeerStopped(Exception):
    """A peer stopped because of a mistake, which it tells the driver about itself."""


class Mailbox(Endpoint):
    """Where letters for the tasks of this process arrive."""

    def __init__(self, host: str, access: Access) -> None:
        super().__init__(host, access)
        self._letters: dict[str, dict[int, deque[bytes]]] = {}
        self._arrived = threading.Condition()

    def open(self, token: str) -> None:
        """Take letters of this batch from now on, and of no other."""
        with self._arrived:
            self._letters = {token: defaultdict(deque)}

    def do_action(self, context: Any, action: Any) -> list[bytes]:
        """Take a letter, or say that somebody is here."""
        if action.type == "letter":
            token, sender, body = action.body.to_pybytes().split(b"\0", 2)
            with self._arrived:
                letters = self._letters.get(token.decode())
                if letters is None:
                    raise flight.FlightUnavailableError("nobody waits for this letter")
                letters[int(sender)].append(body)
                self._arrived.notify_all()
        return [b"here"]

    def next(self, token: str, sender: int, seconds: float) -> bytes | None:
        """Return the next letter of a peer, None if it does not come in time."""
        until = time.monotonic() + seconds
        with self._arrived:
            while not self._letters[token][sender]:
                left = until - time.monotonic()
                if left <= 0:
                    return None
                self._arrived.wait(left)
            return self._letters[token][sender].popleft()


class Correspondence:
    """The exchange of one task in one batch."""

    def __init__(
        self, box: Mailbox, access: Access, token: str, task: int, locations: Sequence[str]
    ) -> None:
        self.task, self.tasks = task, len(locations)
        self._box, self._token, self._access = box, token, access
        self._locations = locations
        self._clients = {
            peer: access.connect(location)
            for peer, location in enumerate(locations)
            if peer != task
        }

    def swap(self, outgoing: Sequence[bytes]) -> Sequence[bytes]:
        """Give each task its bytes, and return what each task gave to this one."""
        for peer in self._clients:
            self._send(peer, outgoing[peer])
        return [
            outgoing[peer] if peer == self.task else self._receive(peer)
            for peer in range(self.tasks)
        ]

    def stop(self) -> None:
        """Tell peers that there will be no more, because of a mistake."""
        for peer in self._clients:
            try:
                self._post(peer, b"!")
            except PeerLost:  # it has its own troubles
                continue

    def close(self) -> None:
        """Free what this task holds."""
        for client in self._clients.values():
            client.close()

    def _send(self, peer: int, body: bytes) -> None:
        for begin in range(0, max(len(body), 1), _PART):
            part = body[begin : begin + _PART]
            self._post(peer, (b"." if begin + _PART >= len(body) else b"+") + part)

    def _post(self, peer: int, body: bytes) -> None:
        letter = b"\0".join([self._token.encode(), str(self.task).encode(), body])
        self._call(peer, flight.Action("letter", letter))

    def _call(self, peer: int, action: Any) -> None:
        try:
            list(self._clients[peer].do_action(action, self._access.options(_CALL)))
        except FAULTS as error:
            lines = str(error).splitlines() or [type(error).__name__]
            raise PeerLost(f"task {peer} cannot be reached: {lines[0]}") from None

    def _receive(self, peer: int) -> bytes:
        parts = []
        while True:
            letter = self._box.next(self._token, peer, _PATIENCE)
            if letter is None:
                self._call(peer, flight.Action("ping", b""))
                continue
            if letter[:1] == b"!":
                raise PeerStopped(f"task {peer} stopped")
            parts.append(letter[1:])
            if letter[:1] == b".":
                return b"".join(parts)
