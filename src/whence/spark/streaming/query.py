"""The streaming query that `maintain` returns: Spark's own, which tells mistakes as diagnostics."""

from __future__ import annotations

from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from whence.spark.streaming.keeper import Done, Keeper


class Live(StreamingQuery):
    """A streaming query that keeps views current."""

    def __init__(self, query: StreamingQuery, keeper: Keeper) -> None:
        super().__init__(query._jsq)
        self._keeper = keeper
        keeper.watch(query)

    @property
    def last(self) -> Done | None:
        """What the last batch of this driver cost."""
        return self._keeper.last

    def awaitTermination(self, timeout: int | None = None) -> bool | None:
        """Wait for the end; raise what ended the query, a mistake of the user's as such."""
        ended: bool | None = self._telling(lambda: super(Live, self).awaitTermination(timeout))
        return ended

    def processAllAvailable(self) -> None:
        """Wait until all that is there has been applied."""
        self._telling(lambda: super(Live, self).processAllAvailable())

    def stop(self) -> None:
        """Stop the query; what it holds in processes is dropped with them."""
        super().stop()
        self._keeper.close()

    def exception(self) -> StreamingQueryException | None:
        """Return what ended the query; raise a mistake of the user's."""
        if self._keeper.failure is not None:
            raise self._keeper.failure
        return super().exception()

    def _telling(self, wait: Any) -> Any:
        try:
            return wait()
        except StreamingQueryException:
            if self._keeper.failure is not None:
                raise self._keeper.failure from None
            raise
