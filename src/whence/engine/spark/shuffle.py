"""Relations on their way to tasks and back: blobs of Arrow IPC, each for one task and one copy.

A task's input is a partition of blobs, or what all tasks are given (`Shared`) of which each takes
its share. Its output are blobs again: of relations, of what the task tells about itself, or of the
mistake that ended it, which is a value like any other: Spark would try again, and fail again.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whence.diagnostics import WhenceError
from whence.engine.spark.model import ALONE, By, Copy, Placement
from whence.engine.spark.owner import hash_bits, hash_texts, owners
from whence.functor.values import canonical_floats
from whence.syntax.nodes import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BLOBS = "task int, copy int, rows long, payload binary"
"""What frames of blobs look like to Spark."""

_SCHEMA = pa.schema(
    [
        ("task", pa.int32()),
        ("copy", pa.int32()),
        ("rows", pa.int64()),
        ("payload", pa.binary()),
    ]
)

TOLD = -1
"""The `copy` of a blob with what a task tells about itself, pickled."""
FAILED = -2
"""The `copy` of a blob with a mistake of the user's, pickled."""

NOTHING = -3
"""The `copy` of a blob that only says which task it is for."""

BLOB_BYTES = 8 << 20
"""About how large a blob grows before the next one begins."""

Ints: TypeAlias = npt.NDArray[np.int64]

Tables: TypeAlias = dict[str, pa.Table]
"""What a task is given, by the names of the copies: every one that its group reads."""

Outputs: TypeAlias = Iterator[tuple[int, "pa.Table | object"]]
"""What a task gives: tables by their place in `Group.writes`, and at most once (TOLD, anything)."""

Work: TypeAlias = Callable[[int, Tables], Outputs]
"""What one task does: its number and its tables in, its part of the written copies out."""


class Shared(Protocol):
    """Bytes that every task can have; a broadcast variable is one."""

    @property
    def value(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Carried:
    """Bytes that travel with the function itself: for tests, and where nothing is broadcast."""

    value: bytes


# ── tables and bytes ──


def to_ipc(table: pa.Table) -> bytes:
    """Return a table as an Arrow IPC stream."""
    found: bytes = _stream(table).to_pybytes()
    return found


def _stream(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def from_ipc(payload: bytes | pa.Buffer) -> pa.Table:
    """Return the table of an Arrow IPC stream; narrow numbers are as wide again as they were."""
    with pa.ipc.open_stream(payload) as reader:
        table = reader.read_all()
    for i, column in enumerate(table.columns):
        if column.type in _NARROW:
            table = table.set_column(i, table.column_names[i], column.cast(pa.int64()))
    return table


_NARROW = (pa.int8(), pa.int16(), pa.int32())


def narrowed(table: pa.Table) -> pa.Table:
    """Return a table whose numbers are as narrow as their values allow.

    What tasks give goes through Spark's memory several times, so that every byte costs.
    """
    for i, column in enumerate(table.columns):
        if column.type == pa.int64() and table.num_rows:
            numbers = [chunk for chunk in map(_values, column.chunks) if len(chunk)]
            low, high = min(int(c.min()) for c in numbers), max(int(c.max()) for c in numbers)
            for type_ in _NARROW:
                half = 1 << (type_.bit_width - 1)
                if -half <= low and high < half:
                    table = table.set_column(i, table.column_names[i], column.cast(type_))
                    break
    return table


def _values(chunk: pa.Array) -> Ints:
    bits: Ints = np.frombuffer(chunk.buffers()[1], dtype=np.int64)
    return bits[chunk.offset : chunk.offset + len(chunk)]


def truths(rows: int) -> pa.Table:
    """Return rows without columns."""
    return pa.table({"": pa.nulls(rows)}).select([])


_TYPES = {
    Kind.NUMBER: pa.int64(),
    Kind.UNSIGNED: pa.uint64(),
    Kind.FLOAT: pa.float64(),
    Kind.SYMBOL: pa.string(),
    Kind.RECORD: pa.string(),
}


def empty_table(kinds: Sequence[Kind]) -> pa.Table:
    """Return no rows of a relation with columns of these kinds."""
    return pa.schema([(str(i), _TYPES[kind]) for i, kind in enumerate(kinds)]).empty_table()


def joined(tables: Sequence[pa.Table], kinds: Sequence[Kind]) -> pa.Table:
    """Return the rows of all tables of one relation; columns are named by their places."""
    if not tables:
        return empty_table(kinds)
    if not kinds:
        return truths(sum(t.num_rows for t in tables))
    names = [str(i) for i in range(len(kinds))]
    return pa.concat_tables([t.rename_columns(names) for t in tables], promote_options="permissive")


# ── who gets what ──


def owners_of(column: pa.ChunkedArray, kind: Kind, tasks: int) -> Ints:
    """Return the number of the task that owns each value of a column."""
    if tasks == 1 or not len(column):
        return np.zeros(len(column), dtype=np.int64)
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return owners(hash_bits(_numbers(column)), tasks)
        case Kind.FLOAT:
            floats = canonical_floats(_numbers(column).view(np.float64))
            return owners(hash_bits(floats.view(np.int64)), tasks)
        case Kind.SYMBOL | Kind.RECORD:
            coded = pa.concat_arrays(column.chunks).dictionary_encode()
            texts = owners(hash_texts(coded.dictionary.to_pylist()), tasks)
            at: Ints = texts[coded.indices.to_numpy()]
            return at


def _numbers(column: pa.ChunkedArray) -> Ints:
    """Return the 64 bits of each value."""
    bits: Ints = np.ascontiguousarray(column.to_numpy()).view(np.int64)
    return bits


def share(
    table: pa.Table, placement: Placement, kinds: Sequence[Kind], task: int, tasks: int
) -> pa.Table:
    """Return the rows of a whole relation that are at one of the tasks."""
    match placement:
        case By(column=column):
            if tasks == 1:
                return table
            mine = owners_of(table.column(column), kinds[column], tasks) == task
            return table.take(np.flatnonzero(mine))
        case _:
            return empty_table(kinds) if placement is ALONE and task else table


def shares(
    table: pa.Table, placement: Placement, kinds: Sequence[Kind], tasks: int
) -> list[pa.Table]:
    """Return the rows of a relation that are at each task, in one pass over them."""
    if not isinstance(placement, By):
        return [share(table, placement, kinds, task, tasks) for task in range(tasks)]
    at = owners_of(table.column(placement.column), kinds[placement.column], tasks)
    sorted_ = table.take(np.argsort(at, kind="stable"))
    ends = np.cumsum(np.bincount(at, minlength=tasks)).tolist()
    return [sorted_.slice(a, b - a) for a, b in zip([0, *ends], ends, strict=False)]


# ── blobs ──


def blob(task: int, copy: int, rows: int, payload: bytes | pa.Buffer) -> pa.RecordBatch:
    """Return one blob as Spark takes it; the payload stays where it is."""
    data = pa.py_buffer(payload)
    ends = pa.py_buffer(np.array([0, data.size], dtype=np.int32))
    return pa.RecordBatch.from_arrays(
        [
            pa.array([task], pa.int32()),
            pa.array([copy], pa.int32()),
            pa.array([rows], pa.int64()),
            pa.Array.from_buffers(pa.binary(), 1, [None, ends, data]),
        ],
        schema=_SCHEMA,
    )


def blobs(task: int, copy: int, table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Return a table as blobs of a bearable size; of an empty one there is none."""
    step = table.num_rows
    if table.nbytes > BLOB_BYTES:
        step = max(1, table.num_rows * BLOB_BYTES // table.nbytes)
    for start in range(0, table.num_rows, max(1, step)):
        part = table.slice(start, step)
        yield blob(task, copy, part.num_rows, to_ipc(narrowed(part)))


def blob_rows(batch: pa.RecordBatch) -> Iterator[tuple[int, int, pa.Buffer]]:
    """Return the task, copy and payload of each blob of a batch, without copying payloads."""
    tasks, copies = batch.column(0).to_pylist(), batch.column(1).to_pylist()
    payloads = batch.column(3)
    for i, (task, copy) in enumerate(zip(tasks, copies, strict=True)):
        yield task, copy, payloads[i].as_buffer()


@dataclass(frozen=True, slots=True)
class Reader:
    """How tasks get at their copies: from the blobs of their partition, or what all are given."""

    copies: tuple[Copy, ...]
    kinds: tuple[tuple[Kind, ...], ...]
    """Of each copy, those of its columns."""
    tasks: int
    shared: Mapping[str, Shared]
    """Whole relations, as Arrow IPC, by their names; the others come as blobs."""

    def read(self, task: int, batches: Iterable[pa.RecordBatch]) -> Tables:
        """Return every copy as this task has it."""
        parts: list[list[pa.Table]] = [[] for _ in self.copies]
        for batch in batches:
            for _, copy, payload in blob_rows(batch):
                if copy == FAILED:
                    raise_mistake(payload)
                if copy >= 0:
                    parts[copy].append(from_ipc(payload))
        whole = {name: from_ipc(shared.value) for name, shared in self.shared.items()}
        found: Tables = {}
        for copy_, kinds, tables in zip(self.copies, self.kinds, parts, strict=True):
            if copy_.relation in whole:
                table = whole[copy_.relation]
                tables = [share(table, copy_.placement, kinds, task, self.tasks)]
            found[copy_.name] = joined(tables, kinds)
        return found


def run_task(work: Work, reader: Reader, task: int, batches: Iterable[pa.RecordBatch]) -> Any:
    """Read the input of a task, work, and give the output as blobs: the body of a `mapInArrow`.

    A mistake of the user's comes out as a blob too; `raise_failures` raises it at the driver.
    """
    try:
        for index, found in work(task, reader.read(task, batches)):
            if index == TOLD:
                yield blob(task, TOLD, 0, pickle.dumps(found))
            else:
                yield from blobs(task, index, found)
    except WhenceError as error:
        yield mistake(task, error)


def no_blobs(spark: SparkSession, tasks: int) -> DataFrame:
    """Return a frame of one partition per task, for tasks whose input is shared."""
    none = f"int(id) AS task, {NOTHING} AS copy, 0L AS rows, CAST('' AS BINARY) AS payload"
    return spark.range(0, tasks, 1, tasks).selectExpr(*none.split(", "))


def task_number() -> int:
    """Return the number of the task that this process works on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


# ── mistakes ──


def mistake(task: int, error: WhenceError) -> pa.RecordBatch:
    """Return a mistake as a blob."""
    return blob(task, FAILED, 0, pickle.dumps((type(error), error.diagnostics)))


def raise_mistake(payload: bytes | pa.Buffer) -> NoReturn:
    """Raise the mistake of a blob."""
    kind, diagnostics = pickle.loads(payload)
    raise kind(*diagnostics)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a frame of blobs holds, without the tuples where they are many."""

    rows: Mapping[tuple[int, int], int]
    """How many tuples are there of each copy at each task: (copy, task)."""
    sizes: Mapping[tuple[int, int], int]
    """How many bytes they take as blobs."""
    told: Mapping[int, Any]
    """What each task has told."""
    few: Mapping[tuple[int, int], Sequence[bytes] | None]
    """The blobs of each copy at each task, where they are small; else None."""

    def size(self, copy: int, *, everywhere: bool = False) -> int:
        """Return how many tuples the copy has; one that is `everywhere` has them at each task."""
        if everywhere:
            return self.rows.get((copy, 0), 0)
        return sum(rows for (index, _), rows in self.rows.items() if index == copy)

    def table(
        self, copy: int, kinds: Sequence[Kind], *, everywhere: bool = False
    ) -> pa.Table | None:
        """Return the tuples of a copy, if they have come along."""
        found = [
            payloads
            for (index, task), payloads in self.few.items()
            if index == copy and not (everywhere and task)
        ]
        if any(payloads is None for payloads in found):
            return None
        return joined([from_ipc(p) for payloads in found for p in payloads or ()], kinds)


FEW_BYTES = 4 << 20
"""Of a copy, blobs that are not larger in all come to the driver with the news that a job is done.
It can give them to the user then without another job."""


def few_bytes(tasks: int) -> int:
    """Return how large a blob may be that comes along, where there are so many tasks."""
    return FEW_BYTES // tasks


def summarise(frame: DataFrame, few: int) -> Summary:
    """Compute a (persisted) frame of blobs, and return what is there, or raise what went wrong."""
    from pyspark.sql import functions as F

    size = F.length("payload")
    telling = F.when((F.col("copy") < 0) | (size <= few), F.col("payload"))
    news = frame.select("task", "copy", "rows", size.alias("bytes"), telling.alias("payload"))
    return summary_of(news.toArrow())


def news_of(batch: pa.RecordBatch, few: int) -> pa.RecordBatch:
    """Return of blobs what `summarise` would ask for."""
    task, copy, rows, payload = batch.columns
    sizes = pc.binary_length(payload)
    telling = pc.or_(pc.less(copy, 0), pc.less_equal(sizes, few))
    told = pc.if_else(telling, payload, pa.scalar(None, payload.type))
    columns = {"task": task, "copy": copy, "rows": rows, "bytes": sizes, "payload": told}
    return pa.RecordBatch.from_pydict(columns)


def summary_of(found: pa.Table) -> Summary:
    """Return the summary of the news of blobs, or raise what went wrong."""
    failures = []
    rows: dict[tuple[int, int], int] = {}
    sizes: dict[tuple[int, int], int] = {}
    told: dict[int, Any] = {}
    few: dict[tuple[int, int], list[bytes] | None] = {}
    for task, copy, count, bytes_, payload in zip(
        *(column.to_pylist() for column in found.columns), strict=True
    ):
        if copy == FAILED:
            failures.append((task, payload))
        elif copy == TOLD:
            told[task] = pickle.loads(payload)
        elif copy >= 0:
            at = copy, task
            rows[at] = rows.get(at, 0) + count
            sizes[at] = sizes.get(at, 0) + bytes_
            known = few.setdefault(at, [])
            if payload is None or known is None:
                few[at] = None
            else:
                known.append(payload)
    if failures:
        raise_mistake(min(failures, key=lambda failure: failure[0])[1])
    return Summary(rows, sizes, told, few)
