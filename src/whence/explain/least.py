"""The best derivation of every fact of a cone, best first (Knuth 1977, after Dijkstra)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from heapq import heappop, heappush
from typing import Any, Generic, TypeVar

from whence.explain.cone import Grounded
from whence.explain.model import Fact
from whence.explain.search import Instance
from whence.semiring.base import Semiring

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Settled(Generic[V]):
    """For each fact of a cone its value and the instance that gives it, None for what is given."""

    graph: Grounded
    values: list[V | None]
    chosen: list[int | None]

    def value(self, fact: Fact) -> V | None:
        """Return the value of a fact, None if nothing supports it."""
        return self.values[self.graph.numbers[fact]]

    def choice(self, fact: Fact) -> Instance | None:
        """Return the instance that gives a fact its value, None if it was given."""
        chosen = self.chosen[self.graph.numbers[fact]]
        return None if chosen is None else self.graph.instances[chosen]


def settle(
    graph: Grounded,
    given: Callable[[Fact], V | None],
    product: Callable[[Sequence[V]], V | None],
    key: Callable[[V], Any],
) -> Settled[V]:
    """Settle facts in the order of their values; products are never better than their factors.

    What an instance rests on is settled before it, so the choices never go round in a circle.
    None is the value of what is as good as not there.
    """
    values: list[V | None] = [None] * len(graph.facts)
    chosen: list[int | None] = [None] * len(graph.facts)
    uses: list[list[int]] = [[] for _ in graph.facts]
    waiting: list[int] = []
    queue: list[tuple[Any, bool, int, int | None, V]] = []

    def offer(node: int, value: V | None, instance: int | None) -> None:
        if value is not None:  # what is given comes before what is as good
            heappush(queue, (key(value), instance is not None, node, instance, value))

    def ready(instance: int) -> None:
        factors = [v for p in graph.premises[instance] if (v := values[p]) is not None]
        offer(graph.heads[instance], product(factors), instance)

    for instance, premises in enumerate(graph.premises):
        distinct = set(premises)
        waiting.append(len(distinct))
        for premise in distinct:
            uses[premise].append(instance)
        if not distinct:
            ready(instance)
    for node, fact in enumerate(graph.facts):
        if graph.base[node]:
            offer(node, given(fact), None)
    while queue:
        _, _, node, how, value = heappop(queue)
        if values[node] is not None:
            continue
        values[node], chosen[node] = value, how
        for instance in uses[node]:
            waiting[instance] -= 1
            if not waiting[instance]:
                ready(instance)
    return Settled(graph, values, chosen)


def least_heights(graph: Grounded) -> Settled[int]:
    """Return the least height of a proof of each fact: 0 of base facts, one more of others."""
    return settle(graph, lambda _: 0, lambda factors: 1 + max(factors, default=0), lambda v: v)


def best_annotations(
    graph: Grounded, semiring: Semiring[Any], annotation: Callable[[Fact], Any]
) -> Settled[tuple[Any, int]]:
    """Return the best annotation of each fact, and the height of the proof that has it.

    The semiring is absorptive and its order total. Of equal annotations the lower proof is taken.
    """

    def compare(a: Any, b: Any) -> int:
        if a == b:
            return 0
        return -1 if semiring.plus(a, b) == a else 1

    better = cmp_to_key(compare)

    def there(value: Any, height: int) -> tuple[Any, int] | None:
        return None if value == semiring.zero else (value, height)

    def product(factors: Sequence[tuple[Any, int]]) -> tuple[Any, int] | None:
        found = semiring.one
        for value, _ in factors:
            found = semiring.times(found, value)
        return there(found, 1 + max((height for _, height in factors), default=0))

    return settle(
        graph,
        lambda fact: there(annotation(fact), 0),
        product,
        lambda value: (better(value[0]), value[1]),
    )
