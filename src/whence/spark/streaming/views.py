"""Current views as frames, and their changes as frames or streams, from the folder of a query."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.diagnostics import Diagnostic, UsageError, nearest
from whence.engine.spark.frames import NOTHING, SPARK_TYPES
from whence.spark.streaming.changed import batch_column, op_column
from whence.spark.streaming.state import Folder
from whence.syntax.nodes import Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def view(
    spark: SparkSession, checkpoint: Path | str, relation: str, *, batch: int | None = None
) -> DataFrame:
    """Return a relation as it is after the last batch that counts, or after a later one of these.

    All views of one batch fit each other: ask for `last_batch` once, and give it to each.
    """
    from pyspark.sql import functions as F

    folder, columns = _columns(checkpoint, relation)
    committed = folder.committed
    last = committed.batch if batch is None else batch
    if not committed.snapshot <= last <= committed.batch:
        raise UsageError(
            Diagnostic(
                "W1052",
                f"the views of batch {last} are not there",
                hint=f"those of {max(committed.snapshot, 0)} to {committed.batch} are",
            )
        )
    names = [name for name, _ in columns]
    quoted = [F.col(_quoted(name)) for name in names]
    op, number = op_column(names), batch_column(names)
    schema = _schema(columns)
    parts = []
    there = folder.snapshot_path(committed.snapshot) / "views" / relation
    if there.is_dir():
        whole = spark.read.schema(schema).parquet(str(there))
        parts.append(
            whole.select(*quoted, F.lit(-1).cast("bigint").alias(number), F.lit("+").alias(op))
        )
    home = folder.path / "changes" / relation
    since = [home / f"{number}={n}" for n in range(committed.snapshot + 1, last + 1)]
    paths = [str(path) for path in since if path.is_dir()]
    if paths:
        told = f"{_quoted(op)} string, {schema}, {_quoted(number)} bigint"
        reader = spark.read.schema(told).option("basePath", str(home))
        parts.append(reader.parquet(*paths).select(*quoted, F.col(number), F.col(op)))
    if not parts:
        return spark.createDataFrame([], schema)
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.unionAll(part)
    latest = whole.groupBy(*quoted).agg(F.max_by(op, number).alias(op))
    return latest.where(F.col(op) == "+").select(*quoted)


def changes(
    spark: SparkSession, checkpoint: Path | str, relation: str, *, stream: bool = False
) -> DataFrame:
    """Return what batches changed in a relation, as a frame, or as a stream of what comes.

    Its columns are `op`, `+` or `-`, those of the relation, and `batch`.
    """
    folder, columns = _columns(checkpoint, relation)
    names = [name for name, _ in columns]
    schema = f"{_quoted(op_column(names))} string, {_schema(columns)}"
    schema += f", {_quoted(batch_column(names))} bigint"
    path = folder.path / "changes" / relation
    path.mkdir(parents=True, exist_ok=True)
    reader = spark.readStream if stream else spark.read
    return reader.schema(schema).parquet(str(path))


def last_batch(checkpoint: Path | str) -> int:
    """Return the number of the last batch that counts, -1 before the first."""
    return Folder(checkpoint).committed.batch


def _schema(columns: list[tuple[str, Kind]]) -> str:
    return ", ".join(f"{_quoted(name)} {SPARK_TYPES[kind]}" for name, kind in columns) or (
        f"`{NOTHING}` boolean"
    )


def _quoted(name: str) -> str:
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def _columns(checkpoint: Path | str, relation: str) -> tuple[Folder, list[tuple[str, Kind]]]:
    folder = Folder(checkpoint)
    path = folder.path / "query"
    if not path.exists():
        raise UsageError(
            Diagnostic(
                "W1053",
                f"`{folder.path}` is no checkpoint of a stream's views",
                hint="give the folder that `whence.spark.maintain` was given",
            )
        )
    known: dict[str, Any] = json.loads(folder.get(path, 0))["outputs"]
    if relation not in known:
        like = nearest(relation, known)
        raise UsageError(
            Diagnostic(
                "W1041",
                f"the changes of `{relation}` are not told",
                hint=f"did you mean `{like}`?" if like else f"those of {', '.join(known)} are",
            )
        )
    return folder, [(name, Kind(kind)) for name, kind in known[relation]]
