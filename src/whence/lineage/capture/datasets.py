"""Datasets by their paths: what they are called, and the mark that a traced job leaves beside rows.

The mark is a file that Spark's readers pass over. It says how rows were numbered when they were
written, so that the next job knows them by the same numbers.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from whence.lineage.capture import faults

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from whence.lineage.capture.tracer import Tracer

MARK: Final = "_whence.json"


@dataclass(frozen=True, slots=True)
class Mark:
    """How the rows of a dataset are numbered: by part file and position, or by a column."""

    dataset: str
    workflow: str
    job: str
    column: str | None = None


def name_of(path: str) -> str:
    """Return what the dataset at a path is called where nobody says.

    >>> name_of("/data/2026/tweets.csv"), name_of("hdfs://host/counts/")
    ('tweets', 'counts')
    """
    last = path.rstrip("/").rpartition("/")[2]
    stem = re.sub(r"(\.(csv|tsv|json|jsonl|txt|text|parquet|orc|gz|bz2|zst|snappy))+$", "", last)
    return re.sub(r"[^\w.-]+", "_", stem) or "input"


def input_name(tracer: Tracer, paths: list[str], mark: Mark | None) -> str:
    """Return the name of an input: the mark's, which no other may contradict, or by its path."""
    given = next((tracer.names[path] for path in paths if path in tracer.names), None)
    if mark is not None:
        if given is not None and given != mark.dataset:
            raise faults.other_name(paths[0], given, mark.dataset)
        return mark.dataset
    return given or "+".join(dict.fromkeys(map(name_of, paths)))


def output_name(tracer: Tracer, path: str) -> str:
    """Return the name of an output."""
    return tracer.names.get(path) or name_of(path)


def read_mark(spark: SparkSession, path: str) -> Mark | None:
    """Return the mark beside the rows at a path, if a traced job wrote them."""
    if any(sign in path for sign in "*?[{"):
        return None
    try:
        text = _read(spark, f"{path.rstrip('/')}/{MARK}")
        if text is None:
            return None
        found = json.loads(text)
        return Mark(found["dataset"], found["workflow"], found["job"], found["column"])
    except (ValueError, KeyError, TypeError) as error:
        raise faults.bad_mark(f"{path}/{MARK}", str(error) or type(error).__name__) from None


def _read(spark: SparkSession, path: str) -> str | None:
    here = _here(spark, path)
    if here is not None:
        return here.read_text("utf-8") if here.exists() else None
    place, system = _hadoop(spark, path)
    if not system.exists(place):
        return None
    stream = system.open(place)
    try:
        return bytes(stream.readAllBytes()).decode()
    finally:
        stream.close()


def write_mark(spark: SparkSession, path: str, mark: Mark) -> None:
    """Leave the mark beside the rows at a path."""
    file, text = f"{path.rstrip('/')}/{MARK}", json.dumps(asdict(mark)).encode()
    here = _here(spark, file)
    if here is not None:
        here.write_bytes(text)
        return
    place, system = _hadoop(spark, file)
    stream = system.create(place, True)
    try:
        stream.write(bytearray(text))
    finally:
        stream.close()


def remove_mark(spark: SparkSession, path: str) -> None:
    """Take the mark away before rows are written anew."""
    file = f"{path.rstrip('/')}/{MARK}"
    here = _here(spark, file)
    if here is not None:
        here.unlink(missing_ok=True)
        return
    place, system = _hadoop(spark, file)
    system.delete(place, False)


def _here(spark: SparkSession, path: str) -> Path | None:
    """Return the path of a file on this machine, where no file system of Hadoop's is needed.

    That one starts a process for each file it makes, to say who may read it.
    """
    scheme, colon, rest = path.partition(":")
    if colon and scheme == "file":
        return Path("/" + rest.lstrip("/"))
    if colon or not path.startswith("/"):
        return None
    context: Any = spark.sparkContext
    ours = context._jsc.hadoopConfiguration().get("fs.defaultFS", "file:///")
    return Path(path) if ours.startswith("file:") else None


def _hadoop(spark: SparkSession, path: str) -> tuple[Any, Any]:
    context: Any = spark.sparkContext
    # By its whole name a class is found at once, else package by package.
    place = getattr(context._jvm, "org.apache.hadoop.fs.Path")(path)
    return place, place.getFileSystem(context._jsc.hadoopConfiguration())
