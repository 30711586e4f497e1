"""Rows of a user's table that satisfy a predicate, as entities by their row ids."""

from __future__ import annotations

import functools
import json
import re
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset

from whence.lineage.names import parse_names
from whence.lineage.repository import faults
from whence.lineage.repository.apart import TIMEOUT, ask_apart
from whence.lineage.repository.entities import NONE, Entities, is_text, of_arrays, sorted_set

if TYPE_CHECKING:
    from whence.lineage.capture.datasets import Mark

ID: Final = "id"
POSITION: Final = "#"
"""In place of a column of ids: the place of a row in its file, from 0."""

_PLACED: Final = "__whence_row"
_DEEPEST: Final = 200
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_FORMATS: Final = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".arrow": "ipc",
    ".feather": "feather",
    ".jsonl": "json",
    ".json": "json",
}


def matching(
    space: str,
    data: object,
    where: str | None,
    *,
    id: str | None = None,
    timeout: float = TIMEOUT,
) -> Entities:
    """Return the entities of `space` whose rows in `data` satisfy `where`.

    The column `id` has their numbers, or their names such as `tweets/17`. Rows that a traced job
    wrote are known without it; of other rows the column is called `id` if nothing is said.
    `POSITION` is the place of a row in its file. The predicate is an expression of DuckDB's over
    the columns, which sees these rows and nothing else.
    """
    if not is_text(space):
        raise faults.no_entity(space)
    table, ids, column = _with_ids(data, id)
    chosen = ids if where is None else ids.take(_filtered(table, where, timeout))
    return _numbered(space, chosen, column, table.column_names)


def _with_ids(data: object, id: str | None) -> tuple[pa.Table, pa.ChunkedArray, str]:
    """Return rows, their ids, and which column has those."""
    mark = read_mark(Path(data)) if id is None and isinstance(data, str | Path) else None
    if mark is not None and mark.column is None:
        return *_by_part(Path(str(data))), POSITION
    table = read_rows(data)
    if id == POSITION:
        return table, pa.chunked_array([np.arange(len(table))]), POSITION
    column = id or (mark.column if mark is not None else None) or ID
    if (several := table.column_names.count(column)) != 1:
        why = "there are several of that name" if several else "there is no such column"
        raise faults.no_row_ids(column, table.column_names, why)
    return table, table[column], column


def _by_part(path: Path) -> tuple[pa.Table, pa.ChunkedArray]:
    """Return rows that a traced job wrote, numbered as it did: by part file and position."""
    from whence.lineage.capture.executions import SHIFT

    tables, ids = [], []
    for part in _files(path):
        found = re.match(r"part-(\d+)", part.name)
        if found is None:
            raise faults.no_rows(part, "it is no part of what a traced job wrote")
        if part.suffix in (".csv", ".tsv"):
            why = "a CSV file does not say whether its first line is a row; name a column of ids"
            raise faults.no_rows(part, why)
        table = _read_path(part)
        ids.append((int(found[1]) << SHIFT) + np.arange(len(table)))
        tables.append(table)
    return pa.concat_tables(tables, promote_options="default"), pa.chunked_array(ids)


def read_mark(path: Path) -> Mark | None:
    """Return what a traced job has noted beside the rows it wrote into a folder, if it did."""
    from whence.lineage.capture.datasets import MARK, Mark

    place = path / MARK
    if not place.is_file():
        return None
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
        return Mark(found["dataset"], found["workflow"], found["job"], found["column"])
    except (ValueError, KeyError, TypeError):
        raise faults.no_rows(place, "it is no mark of a traced job") from None


def read_rows(data: object) -> pa.Table:
    """Return rows of a Parquet, CSV, Arrow or JSON lines file, of a folder, or of a frame."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, str | Path):
        return _read_path(Path(data))
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    raise faults.no_rows(type(data).__name__, "give a path, an Arrow table or a frame")


def _files(path: Path) -> list[Path]:
    """Return the files of rows at a path, which are of one kind."""
    if not path.exists():
        raise faults.no_rows(path, "there is no such file")
    inside = sorted(p for p in path.rglob("*") if p.suffix in _FORMATS) if path.is_dir() else [path]
    visible = [p for p in inside if not p.name.startswith(("_", "."))]
    suffixes = {p.suffix for p in visible}
    if len(suffixes) != 1 or not suffixes <= _FORMATS.keys():
        known = ", ".join(_FORMATS)
        raise faults.no_rows(path, f"it is none of {known}, or a folder of one of them")
    return visible


def _read_path(path: Path) -> pa.Table:
    visible = _files(path)
    suffix = visible[0].suffix
    form: Any = _FORMATS[suffix]
    if suffix == ".tsv":
        parsing = pyarrow.csv.ParseOptions(delimiter="\t")
        form = pyarrow.dataset.CsvFileFormat(parse_options=parsing)
    try:
        if suffix == ".arrow":
            tables = [_read_arrow(p) for p in visible]
            return pa.concat_tables(tables, promote_options="default")
        return pyarrow.dataset.dataset([str(p) for p in visible], format=form).to_table()
    except (OSError, pa.ArrowException, UnicodeDecodeError) as fault:
        raise faults.no_rows(path, str(fault).split("\n")[0]) from None


def _read_arrow(path: Path) -> pa.Table:
    """Return the rows of Arrow, as a file or, as reduced graphs are written, as a stream."""
    with pa.OSFile(str(path)) as file:
        whole = file.read(6) == b"ARROW1"
        file.seek(0)
        return (pa.ipc.open_file(file) if whole else pa.ipc.open_stream(file)).read_all()


def _depth(text: str) -> int:
    """Return how deep brackets are nested, quoted ones aside."""
    signs = np.frombuffer(_QUOTED.sub("", text).encode("utf-32-le", "replace"), np.uint32)
    steps = (signs == ord("(")).astype(np.int64) - (signs == ord(")"))
    return int(np.max(np.cumsum(steps), initial=0))


def _filtered(table: pa.Table, where: str, timeout: float) -> pa.ChunkedArray:
    """Return the places of the rows for which the predicate is true."""
    # DuckDB's parser takes time by the square of open brackets: 16 s for 5,000 of them.
    if _depth(where) > _DEEPEST:
        raise faults.no_predicate(where, f"brackets are nested deeper than {_DEEPEST}")
    # DuckDB knows columns by names in which case does not count, so ids would be found by another
    # column's name; places have a name of their own.
    place = _unlike(table.column_names)
    placed = table.append_column(place, pa.array(np.arange(len(table))))
    question = {"where": where, "place": place}
    wrong = functools.partial(faults.no_predicate, where)
    return ask_apart(question, {"rows": placed}, wrong, timeout=timeout).column(0)


def _unlike(names: list[str]) -> str:
    """Return a name that none of the names can be taken for."""
    taken = {name.casefold() for name in names}
    return next(n for n in (f"{_PLACED}_{i}" for i in count()) if n not in taken)


def _numbered(space: str, ids: pa.ChunkedArray, column: str, names: list[str]) -> Entities:
    if not len(ids):
        return NONE
    if ids.null_count:
        raise faults.no_row_ids(column, names, "it has nulls")
    if pa.types.is_dictionary(ids.type):
        ids = ids.cast(ids.type.value_type)
    if pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type):
        spaces, numbers = parse_names(ids.combine_chunks())
        here = pc.equal(pc.cast(spaces, pa.utf8()), space)
        if not pc.all(here).as_py():
            raise faults.no_row_ids(column, names, f"not all are names of `{space}`")
        found = numbers.to_numpy()
    elif pa.types.is_integer(ids.type):
        try:
            found = ids.cast(pa.int64()).to_numpy()
        except pa.ArrowException:
            raise faults.no_row_ids(column, names, "a number exceeds 63 bits") from None
    else:
        raise faults.no_row_ids(column, names, f"it is of type {ids.type}")
    if found.min() < 0:
        raise faults.no_row_ids(column, names, "a number is below zero")
    return of_arrays({space: sorted_set(np.asarray(found, np.int64))})
