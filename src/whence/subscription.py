"""Subscriptions: who is told of changes, in the order of the commits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from whence.view.base import Change, Changes

Callback: TypeAlias = Callable[[Change], object]


class Subscription:
    """One who is told when a relation changes, until `cancel()`."""

    __slots__ = ("_publisher", "callback", "relation")

    def __init__(self, publisher: Publisher, relation: str, callback: Callback) -> None:
        self._publisher = publisher
        self.relation = relation
        self.callback = callback

    def cancel(self) -> None:
        """Be told no more; a second time does nothing."""
        self._publisher.remove(self)


class Publisher:
    """Tells the subscribers of each commit, one commit after the other.

    A callback may commit: its changes are told when those before it have been.
    """

    def __init__(self) -> None:
        self._subscriptions: tuple[Subscription, ...] = ()
        self._waiting: deque[tuple[Changes, tuple[Subscription, ...]]] = deque()
        self._telling = False

    @property
    def relations(self) -> frozenset[str]:
        """The relations that somebody is told of."""
        return frozenset(subscription.relation for subscription in self._subscriptions)

    def add(self, relation: str, callback: Callback) -> Subscription:
        """Tell `callback` of each change of the relation from now on."""
        made = Subscription(self, relation, callback)
        self._subscriptions += (made,)
        return made

    def remove(self, subscription: Subscription) -> None:
        """Tell it no more."""
        self._subscriptions = tuple(s for s in self._subscriptions if s is not subscription)

    def publish(self, changes: Changes) -> None:
        """Tell everybody; what callbacks raise is raised once all were told."""
        self._waiting.append((changes, self._subscriptions))
        if self._telling:
            return
        self._telling = True
        failed: list[Exception] = []
        try:
            while self._waiting:
                told, subscriptions = self._waiting.popleft()
                for subscription in subscriptions:
                    change = told.get(subscription.relation)
                    if change is None or subscription not in self._subscriptions:
                        continue
                    try:
                        subscription.callback(change)
                    except Exception as error:
                        failed.append(error)
        finally:
            self._telling = False
        if failed:
            raise ExceptionGroup("subscribers failed; the commit stands", failed)
