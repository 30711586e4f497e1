"""Where the tasks of a batch meet: each says what views its process holds, and is told what to do.

The service is at the driver, for as long as the query runs. A task does not choose its partition by
Spark's number for it: it is given one whose views it holds, if there is any.
"""

from __future__ import annotations

import pickle
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import pyarrow.flight as flight

from whence.engine.spark.gang.endpoint import Access, Endpoint
from whence.spark.streaming.state import Committed

_PATIENCE = 300.0
"""Seconds that a task waits for the others."""


@dataclass(frozen=True, slots=True)
class Holding:
    """The views of one partition, as a process has them."""

    role: int
    version: int
    """The batch that they are of."""
    epoch: str


class Mode(Enum):
    """What to do with what is held."""

    APPLY = "apply"
    """Apply the batch to the views of the one before."""
    AGAIN = "again"
    """Tell once more what the batch changed."""
    MAKE = "make"
    """Make the views from base facts."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What one task is to do in one batch."""

    batch: int
    before: Committed
    """What counted before the batch."""
    delta: bytes
    compact: bool
    """Whether to write a snapshot after the batch."""
    staging: str = ""
    """A folder for what is written, which no other attempt has."""
    role: int = 0
    mode: Mode = Mode.MAKE
    epoch: str = ""
    locations: tuple[str, ...] = ()


@dataclass(slots=True)
class _Task:
    slot: int
    holdings: tuple[Holding, ...]
    location: str
    attempt: int = 0
    """Spark's number of the attempt, the later the greater."""
    context: Any = None
    orders: Orders | None = None


class Meeting(Endpoint):
    """The service at the driver."""

    def __init__(self, host: str, access: Access, tasks: int, *, together: bool) -> None:
        super().__init__(host, access)
        self._tasks = tasks
        self._together = together
        self._changed = threading.Condition()
        self._token = ""
        self._orders: Orders | None = None
        self._met: dict[int, _Task] = {}

    def begin(self, orders: Orders) -> str:
        """Have the tasks of one more batch meet; return the token that they show."""
        with self._changed:
            self._token, self._orders, self._met = uuid.uuid4().hex, orders, {}
            self._changed.notify_all()
            return self._token

    def do_action(self, context: Any, action: Any) -> list[bytes]:
        """Let a task wait for the others, and give it its orders."""
        token, attempt, slot, holdings, location = pickle.loads(action.body.to_pybytes())
        me = _Task(slot, holdings, location, attempt, context)
        until = time.monotonic() + _PATIENCE
        with self._changed:
            if token != self._token:
                raise flight.FlightUnauthorizedError("this attempt is over: so is its batch")
            self._join(me)
            while me.orders is None:
                if self._met.get(slot) is not me:
                    raise flight.FlightUnauthorizedError("this attempt is over: there is a later")
                if context.is_cancelled() or time.monotonic() > until:
                    del self._met[slot]
                    raise flight.FlightCancelledError("this attempt is over: nobody came")
                self._changed.wait(1.0)
            return [pickle.dumps(me.orders)]

    def _join(self, me: _Task) -> None:
        """Let a task wait with those that are there; who has left waits no more."""
        there = self._met.values()
        if any(task.orders is not None for task in there):  # they met, and are tried again
            self._met = {}
        self._met = {t.slot: t for t in self._met.values() if not t.context.is_cancelled()}
        before = self._met.get(me.slot)
        if before is None or before.attempt <= me.attempt:
            self._met[me.slot] = me
        if self._together:  # Spark numbers tasks that it starts together one after the other
            newest = max(task.attempt for task in self._met.values())
            self._met = {
                slot: task
                for slot, task in self._met.items()
                if task.attempt > newest - self._tasks
            }
        if len(self._met) == self._tasks:
            assert self._orders is not None
            give_orders(list(self._met.values()), self._orders, together=self._together)
        self._changed.notify_all()


def give_orders(tasks: Sequence[_Task], orders: Orders, *, together: bool) -> None:
    """Give each task a partition, so that as many as can be go on with what they hold."""
    again = _matched(tasks, lambda h: h.version == orders.batch)
    apply = _matched(tasks, lambda h: h.version == orders.batch - 1)
    everyone = range(len(tasks))
    if together:
        chosen: dict[int, tuple[_Task, Mode, str]] = {}
        for found, mode in ((again, Mode.AGAIN), (apply, Mode.APPLY)):
            epochs = {epoch for _, epoch in found.values()}
            if len(found) == len(tasks) and len(epochs) == 1:
                chosen = {role: (task, mode, epoch) for role, (task, epoch) in found.items()}
                break
    else:
        chosen = {role: (task, Mode.AGAIN, epoch) for role, (task, epoch) in again.items()}
        taken = {task.slot for task, _, _ in chosen.values()}
        for role, (task, epoch) in apply.items():
            if role not in chosen and task.slot not in taken:
                chosen[role] = task, Mode.APPLY, epoch
                taken.add(task.slot)
    taken = {task.slot for task, _, _ in chosen.values()}
    free = [task for task in tasks if task.slot not in taken]
    epoch, staging = uuid.uuid4().hex, f"{orders.batch}-{uuid.uuid4().hex}"
    for role in everyone:
        if role not in chosen:
            chosen[role] = free.pop(), Mode.MAKE, epoch
    locations = tuple(chosen[role][0].location for role in everyone)
    for role, (task, mode, epoch) in chosen.items():
        task.orders = replace(
            orders, staging=staging, role=role, mode=mode, epoch=epoch, locations=locations
        )


def _matched(
    tasks: Sequence[_Task], suits: Callable[[Holding], bool]
) -> dict[int, tuple[_Task, str]]:
    """Return, for as many partitions as can be, a task of its own that holds its views."""
    holders: dict[int, list[tuple[_Task, str]]] = {}
    for task in tasks:
        for holding in task.holdings:
            if suits(holding):
                holders.setdefault(holding.role, []).append((task, holding.epoch))
    found: dict[int, tuple[_Task, str]] = {}
    owner: dict[int, int] = {}

    def place(role: int, seen: set[int]) -> bool:
        for task, epoch in holders.get(role, ()):
            if task.slot in seen:
                continue
            seen.add(task.slot)
            before = owner.get(task.slot)
            if before is None or place(before, seen):
                owner[task.slot], found[role] = role, (task, epoch)
                return True
        return False

    for role in holders:
        place(role, set())
    return found


def meet(
    service: str,
    access: Access,
    token: str,
    attempt: int,
    slot: int,
    holdings: Sequence[Holding],
    location: str,
) -> Orders:
    """Meet the other tasks of a batch, and return what this one is to do."""
    client = access.connect(service)
    try:
        body = pickle.dumps((token, attempt, slot, tuple(holdings), location))
        (found,) = client.do_action(flight.Action("meet", body), access.options())
        orders: Orders = pickle.loads(found.body.to_pybytes())
        return orders
    finally:
        client.close()
