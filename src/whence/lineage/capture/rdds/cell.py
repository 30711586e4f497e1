"""Chains of narrow functions that know which element they are at, without carrying it along.

Python's `map`, `filter` and `chain` take one element at a time and look at none ahead. So while a
chain gives a value, the last element that its source gave is where the value comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from whence.lineage.capture.executions import SHIFT, Used

Step: TypeAlias = "Callable[[Iterator[Any]], Iterator[Any]]"
Cell: TypeAlias = "list[Any]"
"""One reference: a number, or a tuple of numbers and None, one for each space."""


@dataclass(frozen=True, slots=True)
class Chain:
    """How to run through a partition: what its elements are, and the functions after that."""

    spaces: tuple[str, ...]
    paired: bool
    """Whether elements are pairs of a reference and a value, or values to be numbered."""
    steps: tuple[Step, ...] = ()
    sample: float = 1.0

    def run(self, partition: int, elements: Iterable[Any], cell: Cell) -> Iterator[Any]:
        """Give the values; the cell holds where the last one came from."""
        found: Iterator[Any] = (
            _paired(elements, cell)
            if self.paired
            else _numbered(elements, cell, partition << SHIFT)
            if self.sample >= 1
            else _sampled(elements, cell, partition << SHIFT, self.sample)
        )
        for step in self.steps:
            found = step(found)
        return found


def _paired(elements: Iterable[Any], cell: Cell) -> Iterator[Any]:
    for cell[0], value in elements:
        yield value


def _numbered(elements: Iterable[Any], cell: Cell, first: int) -> Iterator[Any]:
    for cell[0], value in enumerate(elements, first):
        yield value


def _sampled(elements: Iterable[Any], cell: Cell, first: int, share: float) -> Iterator[Any]:
    chosen = _chosen(first, share)
    wanted = next(chosen)
    for number, value in enumerate(elements, first):
        if number == wanted:
            cell[0] = number
            yield value
            cell[0] = None
            wanted = next(chosen)
        else:
            yield value


def _chosen(first: int, share: float) -> Iterator[int]:
    """Give the numbers of the sample, in order; the same for the same partition."""
    import numpy as np

    odd = np.uint64(0x9E3779B97F4A7C15)
    limit = np.uint64(int(share * (1 << 32)))
    while True:
        numbers = np.arange(first, first + (1 << 14), dtype=np.uint64)
        mixed = (numbers ^ (numbers >> np.uint64(29))) * odd
        mixed = (mixed ^ (mixed >> np.uint64(32))) * odd
        yield from numbers[(mixed >> np.uint64(32)) < limit].tolist()
        first += 1 << 14


def used_of(spaces: Sequence[str], references: Sequence[Any], rows: Any = None) -> list[Used]:
    """Return references, one for each row or for the rows given, as what executions used."""
    import numpy as np

    places = np.arange(len(references)) if rows is None else np.asarray(rows, np.int64)
    if len(spaces) == 1:
        return [_column(spaces[0], references, places)]
    columns = list(zip(*references, strict=True)) or [()] * len(spaces)
    return [_column(space, c, places) for space, c in zip(spaces, columns, strict=True)]


def _column(space: str, numbers: Sequence[Any], places: Any) -> Used:
    import numpy as np

    try:
        return Used(space, places, np.array(numbers, np.int64))
    except TypeError:  # some are None
        there = [i for i, number in enumerate(numbers) if number is not None]
        return Used(space, places[there], np.array([numbers[i] for i in there], np.int64))


def nothing(spaces: Sequence[str]) -> Any:
    """Return the reference to nothing."""
    return None if len(spaces) == 1 else (None,) * len(spaces)
