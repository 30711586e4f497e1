"""A relation as people use it: rows to loop over, frames to hand on, a table in a notebook."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray

Value = int | float | str

_SHOWN = 10
"""Rows that a printed table shows."""


class Table:
    """The tuples of one relation at one moment; it does not change when the database does."""

    __slots__ = ("_load", "_loaded", "_size", "name")

    def __init__(self, name: str, size: int, load: Callable[[], pa.Table]) -> None:
        self.name = name
        self._size = size
        self._load = load
        self._loaded: pa.Table | None = None

    @property
    def _table(self) -> pa.Table:
        """The tuples, decoded when somebody first looks at them."""
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(self._table.column_names)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        if not self.columns:
            yield from [()] * len(self)
            return
        yield from _tuples(self._table)

    def __contains__(self, row: object) -> bool:
        return isinstance(row, tuple) and any(row == have for have in self)

    def rows(self) -> list[tuple[Value, ...]]:
        """Return the tuples as a list."""
        return list(self)

    def to_arrow(self) -> pa.Table:
        """Return the tuples as an Arrow table."""
        return self._table

    def to_pandas(self) -> pd.DataFrame:
        """Return the tuples as a pandas frame."""
        return self._table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the tuples as a polars frame."""
        import polars

        frame = polars.from_arrow(self._table)
        assert isinstance(frame, polars.DataFrame)
        return frame

    def to_numpy(self) -> NDArray[np.generic]:
        """Return the tuples as a 2-D array: of one number type, or of objects where they differ."""
        import numpy

        columns = [column.to_numpy() for column in self._table.columns]
        if not columns:
            return numpy.empty((len(self), 0), dtype=numpy.int64)
        if len({column.dtype for column in columns}) == 1:
            return numpy.column_stack(columns)
        return numpy.column_stack([column.astype(object) for column in columns])

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """Let any library that reads Arrow streams take the table without a copy."""
        return self._table.__arrow_c_stream__(requested_schema)

    def _cells(self) -> list[list[str]]:
        if not self.columns:
            return [[] for _ in range(min(len(self), _SHOWN))]
        return [[str(value) for value in row] for row in _tuples(self._table[:_SHOWN])]

    def __repr__(self) -> str:
        """Return the first rows as text, columns aligned."""
        lines = [list(self.columns), *self._cells()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        shown = [
            "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        rest = len(self) - _SHOWN
        if rest > 0:
            shown.append(f"… and {rest:,} more")
        plural = "" if len(self) == 1 else "s"
        return "\n".join([f"{self.name}: {len(self):,} tuple{plural}", *shown])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._cells()
        )
        rest = len(self) - _SHOWN
        plural = "" if len(self) == 1 else "s"
        note = f"<p>… and {rest:,} more</p>" if rest > 0 else ""
        return (
            f"<table><caption>{html.escape(self.name)}: {len(self):,} tuple{plural}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"
        )


class Pinned:
    """A relation as it is now, decoded when somebody looks or before it changes."""

    __slots__ = ("__weakref__", "_load", "_lock", "_table")

    def __init__(self, load: Callable[[], pa.Table], lock: threading.RLock) -> None:
        self._load = load
        self._lock = lock
        self._table: pa.Table | None = None

    def __call__(self) -> pa.Table:
        with self._lock:
            if self._table is None:
                self._table = self._load()
            return self._table


def _tuples(table: pa.Table) -> Iterator[tuple[Value, ...]]:
    for batch in table.to_batches(max_chunksize=1 << 16):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
