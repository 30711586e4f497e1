"""Aggregates in heads: over what one event gives, and over tables as they change."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Any, Protocol


class Running(Protocol):
    """An aggregate of a multiset whose elements come and go."""

    def add(self, value: Any) -> None:
        """Take an element in."""

    def discard(self, value: Any) -> None:
        """Take an element out that is in."""

    def value(self) -> Any:
        """Return the aggregate of what is in, which is not empty."""


class Extreme:
    """The least or the greatest element: a heap in which those that left stay until they surface.

    Updates cost O(log n) and space is O(n) (Ramakrishnan et al. 1992, as Loo 2006, section 5.4.1).
    """

    __slots__ = ("_counts", "_heap", "_wrap")

    def __init__(self, *, greatest: bool) -> None:
        self._counts: dict[Hashable, int] = {}
        self._heap: list[Any] = []
        self._wrap = _Descending if greatest else None

    def add(self, value: Any) -> None:
        """Take an element in."""
        count = self._counts.get(value, 0)
        if not count:
            entry = value if self._wrap is None else self._wrap(value)
            if self._heap:
                _ = entry < self._heap[0]  # fails before anything is changed, if it has to
            heapq.heappush(self._heap, entry)
        self._counts[value] = count + 1

    def discard(self, value: Any) -> None:
        """Take an element out that is in."""
        count = self._counts[value] - 1
        if count:
            self._counts[value] = count
        else:
            del self._counts[value]
            if len(self._heap) > 2 * len(self._counts) + 8:
                wrap = self._wrap
                self._heap = [v if wrap is None else wrap(v) for v in self._counts]
                heapq.heapify(self._heap)

    def value(self) -> Any:
        """Return the least or greatest element."""
        heap, counts, wrapped = self._heap, self._counts, self._wrap is not None
        while True:
            top = heap[0].value if wrapped else heap[0]
            if top in counts:
                return top
            heapq.heappop(heap)


class _Descending:
    """A value in a heap that gives the greatest first."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Descending) -> bool:
        return bool(other.value < self.value)


class Count:
    """How many elements there are."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def add(self, _value: Any) -> None:
        """Take an element in."""
        self._count += 1

    def discard(self, _value: Any) -> None:
        """Take an element out."""
        self._count -= 1

    def value(self) -> int:
        """Return the number of elements."""
        return self._count


class Sum:
    """The sum of the elements, or their mean.

    Floats are kept as a multiset and added anew, exactly rounded: else what is left of a sum would
    depend on the order in which elements came and went.
    """

    __slots__ = ("_count", "_floats", "_mean", "_whole")

    def __init__(self, *, mean: bool) -> None:
        self._whole = 0
        self._count = 0
        self._floats: dict[float, int] = {}
        self._mean = mean

    def add(self, value: Any) -> None:
        """Take an element in."""
        self._change(value, 1)

    def discard(self, value: Any) -> None:
        """Take an element out."""
        self._change(value, -1)

    def _change(self, value: Any, times: int) -> None:
        self._count += times
        if isinstance(value, float):
            count = self._floats.get(value, 0) + times
            if count:
                self._floats[value] = count
            else:
                del self._floats[value]
        else:
            self._whole += times * value

    def value(self) -> int | float:
        """Return the sum, or the mean."""
        total: int | float = self._whole
        if self._floats:
            import math

            parts = [value for value, count in self._floats.items() for _ in range(count)]
            total = math.fsum([self._whole, *parts])
        return total / self._count if self._mean else total


def running(function: str) -> Running:
    """Return an empty multiset with this aggregate."""
    match function:
        case "min":
            return Extreme(greatest=False)
        case "max":
            return Extreme(greatest=True)
        case "count":
            return Count()
        case "sum":
            return Sum(mean=False)
        case "avg":
            return Sum(mean=True)
        case _:
            raise ValueError(f"no aggregate {function}")


AGGREGATES = ("avg", "count", "max", "min", "sum")
