"""What rounds keep in Spark's memory: rows of each of them, until nobody needs them any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Kept:
    """The rows that frames of an evaluation hold by local checkpoints, by Spark's numbers."""

    def __init__(self) -> None:
        self._rows: dict[int, Any] = {}

    def add(self, frame: DataFrame) -> DataFrame:
        """Remember the rows of a frame that was just cut off."""
        self._rows.update(_rows(frame))
        return frame

    def drop_others(self, frames: Iterable[DataFrame]) -> None:
        """Give back what none of the frames is made of, once all of theirs has been computed."""
        needed = {number: rows for frame in frames for number, rows in _rows(frame)}
        if all(rows.isCheckpointed() for n, rows in needed.items() if n in self._rows):
            for number in [n for n in self._rows if n not in needed]:
                self._rows.pop(number).unpersist(False)

    def unpersist(self) -> None:
        """Give back everything."""
        while self._rows:
            self._rows.popitem()[1].unpersist(False)


def _rows(frame: DataFrame) -> Iterator[tuple[int, Any]]:
    """Return the rows that a frame begins with, with their numbers."""
    begun: Any = frame
    leaves = begun._jdf.queryExecution().analyzed().collectLeaves()
    for i in range(leaves.size()):
        leaf = leaves.apply(i)
        if leaf.getClass().getSimpleName() == "LogicalRDD":
            rows = leaf.rdd()
            yield int(rows.id()), rows
