"""Facts that are derived from each other: their annotations, by what the semiring's laws allow.

Absorptive and totally ordered: best first (Knuth 1977). Costs of the k best: up to k settlements.
Idempotent: each product is merged when a premise of it has changed. Stable: sums are computed
again until none changes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any, Generic, TypeVar

from whence.semiring.base import Law, Semiring
from whence.semiring.order import Check
from whence.semiring.topk import TopK, TopKDistinct

T = TypeVar("T")

CHECK_EVERY = 4096
"""Steps between two looks at whether the work is to be stopped."""


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """An instance inside a knot: what its premises outside come to, and those inside."""

    head: int
    outside: T
    inside: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Knot(Generic[T]):
    """Nodes derived from each other, numbered from 0."""

    initial: Sequence[T]
    """What each node has from outside: its own annotation and instances that stay outside."""
    steps: Sequence[Step[T]]

    def readers(self) -> list[list[int]]:
        """Return the steps that read each node, each once."""
        found: list[list[int]] = [[] for _ in self.initial]
        for number, step in enumerate(self.steps):
            inside = step.inside
            for node in inside if len(inside) == 1 else dict.fromkeys(inside):
                found[node].append(number)
        return found


def untie(knot: Knot[Any], semiring: Semiring[Any], check: Check) -> Sequence[Any]:
    """Return the annotation of each node of a knot, in a semiring whose laws promise an end."""
    laws = semiring.laws
    if laws & Law.ABSORPTIVE and laws & Law.SELECTIVE:
        return best_first(knot, semiring, check)
    if isinstance(semiring, TopK):
        return settle_costs(knot, semiring.k, isinstance(semiring, TopKDistinct), check)
    if laws & (Law.IDEMPOTENT | Law.ABSORPTIVE):
        return merge_changes(knot, semiring, check)
    return recompute_sums(knot, semiring, check)


def product(semiring: Semiring[T], step: Step[T], values: Sequence[T]) -> T:
    """Return what a step gives its head."""
    total = step.outside
    for node in step.inside:
        total = semiring.times(total, values[node])
    return total


class _Best(Generic[T]):
    """An annotation in a heap: the best one comes first."""

    __slots__ = ("semiring", "value")

    def __init__(self, semiring: Semiring[T], value: T) -> None:
        self.semiring, self.value = semiring, value

    def __lt__(self, other: _Best[T]) -> bool:
        if self.value == other.value:
            return False
        return self.semiring.plus(self.value, other.value) == self.value


def _priority(semiring: Semiring[Any]) -> Callable[[Any], Any]:
    """Return what sorts annotations from the best to the worst; numbers sort themselves."""
    chain = semiring.chain
    if chain is None:
        return lambda value: _Best(semiring, value)
    return (lambda value: value) if chain.least else (lambda value: -value)


def best_first(knot: Knot[T], semiring: Semiring[T], check: Check) -> list[T]:
    """Settle nodes from the best annotation to the worst, each once.

    A product is never better than its factors, so nothing that comes later could improve what is
    settled; each step is taken once, when the last of its premises is settled.
    """
    zero, priority = semiring.zero, _priority(semiring)
    values: list[T] = [zero] * len(knot.initial)
    settled = [False] * len(knot.initial)
    waiting = [len(s.inside) if len(s.inside) < 2 else len({*s.inside}) for s in knot.steps]
    readers = knot.readers()
    heap = [(priority(v), node, v) for node, v in enumerate(knot.initial) if v != zero]
    heapify(heap)
    turns = 0
    while heap:
        turns += 1
        if turns % CHECK_EVERY == 0:
            check()
        _, node, value = heappop(heap)
        if settled[node]:
            continue
        settled[node], values[node] = True, value
        for number in readers[node]:
            waiting[number] -= 1
            step = knot.steps[number]
            if waiting[number] == 0 and not settled[step.head]:
                found = product(semiring, step, values)
                if found != zero:
                    heappush(heap, (priority(found), step.head, found))
    return values


def merge_changes(knot: Knot[T], semiring: Semiring[T], check: Check) -> list[T]:
    """Add to each node what steps give it, until no node changes; ⊕ is idempotent."""
    zero = semiring.zero
    values = list(knot.initial)
    readers = knot.readers()
    queue = deque(node for node, value in enumerate(values) if value != zero)
    queued = [value != zero for value in values]
    turns = 0
    while queue:
        node = queue.popleft()
        queued[node] = False
        for number in readers[node]:
            turns += 1
            if turns % CHECK_EVERY == 0:
                check()
            step = knot.steps[number]
            found = product(semiring, step, values)
            if found == zero:
                continue
            head = step.head
            total = semiring.plus(values[head], found)
            if total != values[head]:
                values[head] = total
                if not queued[head]:
                    queued[head] = True
                    queue.append(head)
    return values


def recompute_sums(knot: Knot[T], semiring: Semiring[T], check: Check) -> list[T]:
    """Compute the sum of each node again when a premise has changed, until none does."""
    values = [semiring.zero] * len(knot.initial)
    deriving: list[list[int]] = [[] for _ in knot.initial]
    for number, step in enumerate(knot.steps):
        deriving[step.head].append(number)
    heads = [list(dict.fromkeys(knot.steps[n].head for n in r)) for r in knot.readers()]
    queue = deque(range(len(values)))
    queued = [True] * len(values)
    turns = 0
    while queue:
        turns += 1
        if turns % CHECK_EVERY == 0:
            check()
        node = queue.popleft()
        queued[node] = False
        products = [product(semiring, knot.steps[n], values) for n in deriving[node]]
        total = semiring.sum([knot.initial[node], *products])
        if total != values[node]:
            values[node] = total
            for head in heads[node]:
                if not queued[head]:
                    queued[head] = True
                    queue.append(head)
    return values


def settle_costs(knot: Knot[Any], k: int, distinct: bool, check: Check) -> list[tuple[float, ...]]:
    """Settle up to k costs of each node, the least first; annotations are tuples of costs.

    A candidate is an instance with a choice of one settled cost for each premise, and is looked
    at once: it comes after the one that chooses a better cost for the last premise that does not
    have its best (Huang and Chiang 2005, section 4.3). An annotation from outside is a candidate
    for each of its costs.
    """
    settled: list[list[float]] = [[] for _ in knot.initial]
    # What waits for the n-th cost of a node: the candidates that choose it.
    awaiting: dict[tuple[int, int], list[tuple[int, tuple[int, ...]]]] = {}
    heap: list[tuple[float, int, int, tuple[int, ...]]] = []
    for node, costs in enumerate(knot.initial):
        heap.extend((cost, node, -1, ()) for cost in costs)
    heapify(heap)

    def offer(number: int, choice: tuple[int, ...]) -> None:
        """Put a candidate in the heap once all costs that it chooses are settled."""
        step = knot.steps[number]
        total: float = step.outside[choice[0]]
        for node, at in zip(step.inside, choice[1:], strict=True):
            if at >= len(settled[node]):
                awaiting.setdefault((node, at), []).append((number, choice))
                return
            total += settled[node][at]
        heappush(heap, (total, step.head, number, choice))

    for number, step in enumerate(knot.steps):
        if step.outside:
            offer(number, (0,) * (1 + len(step.inside)))
    turns = 0
    while heap:
        turns += 1
        if turns % CHECK_EVERY == 0:
            check()
        cost, head, number, choice = heappop(heap)
        mine = settled[head]
        if len(mine) == k:
            continue  # nor can what comes after this candidate be among the best
        if not (distinct and mine and mine[-1] == cost):
            mine.append(cost)
            for waiting in awaiting.pop((head, len(mine) - 1), ()):
                offer(*waiting)
        if number < 0:
            continue
        step = knot.steps[number]
        last = max((place for place, at in enumerate(choice) if at), default=0)
        for place in range(last, len(choice)):
            limit = len(step.outside) if place == 0 else k
            if choice[place] + 1 < limit:
                offer(number, (*choice[:place], choice[place] + 1, *choice[place + 1 :]))
    return [tuple(costs) for costs in settled]
