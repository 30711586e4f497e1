"""Facts that Spark reads: folders, many files, places with a scheme, tables of its catalogue.

Parquet and tables are Spark's own frames. Text is read by the same readers as everywhere, a file to
a task at a time, so that it means the same and bad rows are named by file and line.
"""

from __future__ import annotations

import functools
import gzip
import pickle
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whence.diagnostics import DataError, Diagnostic
from whence.facts.badrows import SHOWN
from whence.facts.content import Content, unreadable
from whence.facts.directives import directives, read_rows, skipped
from whence.facts.formats import format_of
from whence.facts.places import TABLE, Warn, has_scheme, input_place, location
from whence.facts.schema import Column, Layout, OnBadRow, columns_of
from whence.spark.faults import told
from whence.syntax.nodes import Directive, Program

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_PATTERN = frozenset("*?[{")
_PARSED = "bad binary, payload binary"


@dataclass(frozen=True, slots=True)
class SparkInput:
    """What one `.input` reads through Spark."""

    directive: Directive
    form: str
    where: str
    """A URI, a pattern of local files, a folder, or the name of a table."""
    columns: tuple[Column, ...]
    layout: Layout


@dataclass(frozen=True, slots=True)
class Loaded:
    """Facts as a frame; `kept` is what holds them meanwhile, to be given back at the end."""

    frame: DataFrame
    kept: DataFrame | None = None


def inputs_of_spark(program: Program, folder: str, *, warn: Warn | None = None) -> list[SparkInput]:
    """Return the inputs of a program that Spark is to read; the others are small files here."""
    found = []
    for directive in directives(program, "input"):
        if directive.get("IO") == "stdin":
            continue
        where = location(directive, folder, f"{directive.relation}.facts")
        table = directive.get("IO") == TABLE
        if table or has_scheme(where) or Path(where).is_dir() or _is_pattern(where):
            place = input_place(program, directive, Path(), warn=warn)
            form = place.form
            if not (table or directive.get("IO") or has_scheme(where)) and form == "file":
                form = _form_inside(Path(where))
            columns = columns_of(program, directive.relation)
            if not (table or has_scheme(where)):
                where = Path(where).absolute().as_uri() if Path(where).is_dir() else _pattern(where)
            found.append(SparkInput(directive, form, where, columns, place.layout))
    return found


def _is_pattern(where: str) -> bool:
    return not _PATTERN.isdisjoint(where) and not Path(where).exists()


def _pattern(where: str) -> str:
    return f"file://{Path(where).absolute()}"


def _form_inside(folder: Path) -> str:
    """Return the form of the files of a folder, by the name of the first."""
    if not folder.is_dir():
        return format_of(folder.name)
    names = sorted(p.name for p in folder.iterdir() if p.name[:1] not in "._")
    inside = (format_of(name.removesuffix(".gz")) for name in names)
    return next((form for form in inside if form != "file"), format_of(folder.name))


def load(
    spark: SparkSession,
    source: SparkInput,
    *,
    on_bad_row: OnBadRow = "stop",
    warn: Warn | None = None,
) -> Loaded:
    """Return the facts of an input; `DataError` says what is wrong with them."""
    from pyspark.errors import PySparkException

    try:
        if source.form in (TABLE, "parquet"):
            return _typed(spark, source, on_bad_row, warn)
        return _texts(spark, source, on_bad_row, warn)
    except PySparkException as error:
        message = f"cannot read `{source.where}`: {told(error)}"
        raise DataError(Diagnostic("W1067", message, source.directive.span)) from None


# ── frames of Spark's own ──


def _typed(
    spark: SparkSession, source: SparkInput, on_bad_row: OnBadRow, warn: Warn | None
) -> Loaded:
    table = source.form == TABLE
    whole = spark.read.table(source.where) if table else spark.read.parquet(source.where)
    chosen = _chosen(whole, source)
    frame = _selected(whole, chosen, source.columns)
    needed = [
        name
        for name, column in zip(chosen, source.columns, strict=False)
        if column.semiring is None
    ]
    if needed:
        bad = _nulls(whole, needed, source, known=not table)
        if bad and on_bad_row == "stop":
            raise DataError(*bad)
        if bad:
            kept = frame.dropna(subset=needed)
            if warn is not None:
                warn(skipped(frame.count() - kept.count(), source.where, bad[0]))
            frame = kept
    return Loaded(frame)


def _chosen(frame: DataFrame, source: SparkInput) -> Sequence[str]:
    """Return the columns to take: by name where all are there, else in order."""
    there, wanted = frame.columns, [column.name for column in source.columns]
    pick = source.layout.pick
    if pick:
        if max(pick) < len(there):
            return [there[i] for i in pick]
    elif len(set(there)) == len(there):
        for names in (wanted, _plain(source.columns)):
            if set(names) <= set(there):
                return names
        if len(there) in (len(wanted), len(_plain(source.columns))):
            return there
    raise DataError(
        Diagnostic(
            "W0607",
            f"`{source.where}` does not have the columns of `{source.directive.relation}`",
            source.directive.span,
            notes=(f"wanted {_list(wanted)}; there are {_list(there)}",),
            hint="name the columns as the attributes, or give as many in the same order",
        )
    )


def _selected(frame: DataFrame, names: Sequence[str], columns: Sequence[Column]) -> DataFrame:
    """Return these columns, and an empty one for annotations that are not there."""
    from pyspark.sql import functions as F

    from whence.engine.spark.frames import SPARK_TYPES

    found = [frame[f"`{_doubled(name)}`"] for name in names]
    for column in columns[len(names) :]:
        found.append(F.lit(None).cast(SPARK_TYPES[column.kind]).alias(column.name))
    return frame.select(*found)


def _plain(columns: Sequence[Column]) -> list[str]:
    return [column.name for column in columns if column.semiring is None]


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _doubled(name: str) -> str:
    return name.replace("`", "``")


def _nulls(
    frame: DataFrame, needed: Sequence[str], source: SparkInput, *, known: bool
) -> list[Diagnostic]:
    """Return the first rows that lack a value, with their file and place where Spark knows them."""
    from pyspark.sql import functions as F

    tests = {name: frame[f"`{_doubled(name)}`"].isNull() for name in needed}
    lacking = functools.reduce(lambda a, b: a | b, tests.values())
    which = F.coalesce(*(F.when(test, F.lit(name)) for name, test in tests.items()))
    columns = [which.alias("column")]
    if known:
        columns += [F.col("_metadata.file_path"), F.col("_metadata.row_index")]
    found = frame.where(lacking).select(*columns).limit(SHOWN).collect()
    return [
        Diagnostic(
            "W0608",
            f"row {row.row_index + 1} of `{row.file_path}` has no value for `{row.column}`"
            if known
            else f"a row of `{source.where}` has no value for `{row.column}`",
            source.directive.span,
            hint="`--on-bad-row skip` leaves bad rows out",
        )
        for row in found
    ]


# ── text, read by our own readers ──


def _texts(
    spark: SparkSession, source: SparkInput, on_bad_row: OnBadRow, warn: Warn | None
) -> Loaded:
    from pyspark import StorageLevel

    from whence.engine.spark.jobs import described
    from whence.engine.spark.ship import equip

    equip(spark)
    files = spark.read.format("binaryFile").load(source.where).select("path", "content")
    parse = functools.partial(
        _parsed, source.form, source.columns, source.layout, source.directive.relation, on_bad_row
    )
    kept = files.mapInArrow(parse, _PARSED).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        with described(spark, f"{source.directive.relation}: reading {source.where}"):
            found = [pickle.loads(row.bad) for row in kept.where("bad IS NOT NULL").collect()]
        errors = [d for _, _, diagnostics, fatal in found for d in diagnostics if fatal]
        if errors:
            raise DataError(*errors[:SHOWN])
        for name, count, diagnostics, _ in found:
            if warn is not None:
                warn(skipped(count, name, diagnostics[0]))
    except BaseException:
        kept.unpersist()
        raise
    payloads = kept.where("payload IS NOT NULL").select("payload")
    return Loaded(payloads.mapInArrow(_unpacked, _schema(source.columns)), kept)


def _schema(columns: Sequence[Column]) -> str:
    from whence.engine.spark.frames import NOTHING, SPARK_TYPES

    if not columns:
        return f"`{NOTHING}` boolean"
    return ", ".join(f"`{_doubled(c.name)}` {SPARK_TYPES[c.kind]}" for c in columns)


def _parsed(
    form: str,
    columns: Sequence[Column],
    layout: Layout,
    relation: str,
    on_bad_row: OnBadRow,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Read files, in a task: tables as Arrow IPC, and what is wrong, pickled."""
    import pyarrow as pa

    from whence.engine.spark.shuffle import to_ipc

    schema = pa.schema([("bad", pa.binary()), ("payload", pa.binary())])
    for batch in batches:
        for path, content in zip(*batch.columns, strict=True):
            name = path.as_py()
            try:
                table, bad = read_rows(
                    Content(name, _unzipped(content.as_buffer().to_pybytes(), name)),
                    form,
                    columns,
                    layout,
                    on_bad_row,
                )
                wrong = None
                if bad.count:
                    fatal = on_bad_row == "stop"
                    wrong = pickle.dumps((name, bad.count, bad.shown, fatal))
                payload = to_ipc(_as_spark(table))
            except DataError as error:
                payload = None
                wrong = pickle.dumps((name, 1, list(error.diagnostics), True))
            yield pa.record_batch([[wrong], [payload]], schema=schema)


def _unzipped(data: bytes, name: str) -> bytes:
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as fault:
        raise unreadable(Path(name), fault) from None


def _as_spark(table: pa.Table) -> pa.Table:
    from whence.engine.spark.frames import as_spark

    return as_spark(table)


def _unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from whence.engine.spark.frames import batches_of
    from whence.engine.spark.shuffle import from_ipc

    for batch in batches:
        for payload in batch.column(0):
            yield from batches_of(from_ipc(payload.as_buffer()))
