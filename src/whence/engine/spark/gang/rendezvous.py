"""Where the tasks of a gang find each other: a small Flight service at the driver.

A task that joins waits in its call until all others wait too. So whoever died meanwhile is seen to
be gone, and tasks of an attempt that Spark has given up meet nobody.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

from whence.engine.base import Observer, Round
from whence.engine.spark.gang.endpoint import FAULTS, Access, Endpoint
from whence.engine.spark.gang.inbox import PeerLost
from whence.engine.spark.shuffle import from_ipc, to_ipc

_LOOK = 0.2
"""Seconds between two looks at whether a waiting task is still there."""
_HEAR = 10.0
"""Seconds that a driver has to hear what a task tells at its end."""
_WHO = b"who"


@dataclass(slots=True)
class _Waiting:
    attempt: int
    location: str
    context: Any
    meeting: _Meeting | None = None


@dataclass(frozen=True, slots=True)
class _Meeting:
    token: str
    locations: tuple[str, ...]


class Rendezvous(Endpoint):
    """The service; tasks of different jobs and stages never meet."""

    def __init__(
        self, host: str, access: Access, tasks: int, *, patience: float, observer: Observer | None
    ) -> None:
        self._tasks = tasks
        self._patience = patience
        self._observer = observer
        self._changed = threading.Condition()
        self._waiting: dict[int, dict[int, _Waiting]] = {}
        self._news: dict[int, tuple[int, pa.Table]] = {}
        """What the last attempt of each task has told at its end."""
        self.meetings = 0
        """How many times all tasks have met: more than once where Spark had to try again."""
        super().__init__(host, access)

    def do_action(self, context: Any, action: Any) -> Iterator[bytes]:
        """Answer a task."""
        if action.type == "done":
            self._done(from_ipc(action.body))
            return
        body = json.loads(action.body.to_pybytes())
        if action.type == "join":
            found = self._join(context, body)
            yield json.dumps({"token": found.token, "locations": found.locations}).encode()
        elif action.type == "round" and self._observer is not None:
            self._observer.on_round(Round(**{**body, "relations": tuple(body["relations"])}))

    def _join(self, context: Any, body: Mapping[str, Any]) -> _Meeting:
        stage, task = int(body["stage"]), int(body["task"])
        me = _Waiting(int(body["attempt"]), str(body["location"]), context)
        until = time.monotonic() + self._patience
        with self._changed:
            here = self._waiting.setdefault(stage, {})
            before = here.get(task)
            if before is None or before.attempt < me.attempt:
                here[task] = me
            while me.meeting is None:
                if here.get(task) is not me:
                    raise flight.FlightCancelledError("a later attempt has taken this place")
                if time.monotonic() > until:
                    del here[task]
                    raise flight.FlightTimedOutError(
                        f"{len(here) + 1} of {self._tasks} tasks came in {self._patience:g} s"
                    )
                for other, waiting in list(here.items()):
                    if waiting.context.is_cancelled():
                        del here[other]
                if len(here) == self._tasks:
                    self._meet(here)
                    break
                self._changed.wait(_LOOK)
        assert me.meeting is not None
        return me.meeting

    def _meet(self, here: dict[int, _Waiting]) -> None:
        order = [here[task] for task in range(self._tasks)]
        meeting = _Meeting(secrets.token_hex(8), tuple(waiting.location for waiting in order))
        for waiting in order:
            waiting.meeting = meeting
        here.clear()
        self.meetings += 1
        self._changed.notify_all()

    def _done(self, news: pa.Table) -> None:
        said = json.loads(news.schema.metadata[_WHO])
        with self._changed:
            task, attempt = int(said["task"]), int(said["attempt"])
            if task not in self._news or self._news[task][0] < attempt:
                self._news[task] = attempt, news

    def news(self) -> pa.Table | None:
        """Return what the tasks have told at their ends, if all of them have."""
        with self._changed:
            if len(self._news) < self._tasks:
                return None
            return pa.concat_tables([news for _, news in self._news.values()])

    def close(self) -> None:
        """End the service."""
        ending = threading.Thread(target=self.shutdown, daemon=True)
        ending.start()
        ending.join(2.0)


def join(
    service: str, access: Access, *, stage: int, task: int, attempt: int, location: str, wait: float
) -> tuple[str, list[str]]:
    """Wait until all tasks are there; return what they call themselves, and where each is."""
    body = {"stage": stage, "task": task, "attempt": attempt, "location": location}
    client = access.connect(service)
    try:
        action = flight.Action("join", json.dumps(body).encode())
        (answer,) = client.do_action(action, access.options(wait))
        found = json.loads(answer.body.to_pybytes())
    except FAULTS as error:
        raise PeerLost(f"task {task} has met no others: {str(error).splitlines()[0]}") from None
    finally:
        client.close()
    return found["token"], found["locations"]


def tell_done(service: str, access: Access, news: pa.Table, *, task: int, attempt: int) -> None:
    """Tell the driver what a task has given; where it does not hear it, it asks Spark."""
    who = json.dumps({"task": task, "attempt": attempt})
    body = to_ipc(news.replace_schema_metadata({_WHO: who}))
    with contextlib.suppress(*FAULTS), access.connect(service) as client:
        list(client.do_action(flight.Action("done", body), access.options(_HEAR)))


class Reporter:
    """An observer at a task who tells the driver's, as often as people can read."""

    def __init__(self, service: str, access: Access, every: float = 0.2) -> None:
        self._service = service
        self._access = access
        self._every = every
        self._told = -every

    def on_round(self, event: Round) -> None:
        """Tell of a round, unless the last one was told just now."""
        if time.monotonic() - self._told < self._every:
            return
        self._told = time.monotonic()
        body = {name: getattr(event, name) for name in Round.__slots__}
        try:
            with self._access.connect(self._service) as client:
                action = flight.Action("round", json.dumps(body).encode())
                list(client.do_action(action, self._access.options(1.0)))
        except FAULTS:  # nobody waits for what is only shown
            self._told += 60.0
