"""Annotated evaluation in semirings that are no chains of numbers: by one task of Spark's.

Such an evaluation writes down all rule instances and solves them together, which cannot be taken
apart. It runs on an executor all the same, so that the driver need not have the memory.
"""

from __future__ import annotations

import functools
import pickle
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whence.diagnostics import DataError, Diagnostic, UsageError
from whence.engine.annotated import evaluate_annotated
from whence.engine.base import Limits
from whence.engine.local.guard import peak_bytes
from whence.engine.spark.decomposed import first_line, pickled, unpacked_functors
from whence.engine.spark.frames import Columns
from whence.engine.spark.model import ALONE, Copy, Group, SparkPlan, Strategy
from whence.engine.spark.shuffle import (
    BLOBS,
    TOLD,
    Outputs,
    Reader,
    Tables,
    from_ipc,
    no_blobs,
    run_task,
    to_ipc,
)
from whence.engine.spark.stats import TaskStats, worker_name
from whence.plan.nodes import Plan
from whence.rewrite.annotate import COLUMN
from whence.rewrite.read_in import AnySemiring, made
from whence.syntax.nodes import Kind, Program

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Whole:
    """What the one task is told to do."""

    plan: bytes
    inputs: Broadcast[bytes]
    """Pickled: Arrow IPC by relation, each with a column of annotations or without."""
    semiring: str | bytes
    functors: bytes
    written: tuple[str, ...]
    limits: Limits
    threads: int

    def __call__(self, task: int, tables: Tables) -> Outputs:
        """Evaluate the whole program; tell the statistics, and of each relation its schema."""
        started = time.perf_counter()
        plan: Plan = pickle.loads(self.plan)
        inputs = {name: from_ipc(data) for name, data in pickle.loads(self.inputs.value).items()}
        found = evaluate_annotated(
            plan,
            inputs,
            _semiring(self.semiring),
            functors=unpacked_functors(self.functors),
            limits=self.limits,
            threads=self.threads,
        )
        schemas = {}
        for index, name in enumerate(self.written):
            table = found.table(name)
            schemas[name] = table.schema
            yield index, table
        stats = found.stats
        told = TaskStats(
            seconds=time.perf_counter() - started,
            prepare_seconds=stats.prepare_seconds,
            tuples=sum(one.tuples for name, one in stats.relations.items() if name not in inputs),
            rounds=max((one.rounds for one in stats.relations.values()), default=0),
            read={name: (table.num_rows, table.nbytes) for name, table in inputs.items()},
            peak_memory_bytes=peak_bytes(),
            worker=worker_name(),
        )
        yield TOLD, (told, schemas)


def _semiring(packed: str | bytes) -> AnySemiring:
    if isinstance(packed, str):
        return made(packed, load_code=True)
    try:
        found: AnySemiring = pickle.loads(packed)
    except Exception as error:
        raise DataError(
            Diagnostic(
                "W1027",
                f"the semiring is not understood where Spark's tasks run: {first_line(error)}",
                hint="send its module along: `spark.sparkContext.addPyFile(…)`",
            )
        ) from None
    return found


def packed_semiring(semiring: AnySemiring, asked: str | None) -> str | bytes:
    """Return a semiring as a task can make it: by its name, or from its own bytes."""
    from pyspark import cloudpickle

    if asked is not None and ":" not in asked:
        return asked
    try:
        found: bytes = cloudpickle.dumps(semiring)  # type: ignore[no-untyped-call]
    except Exception as error:
        raise UsageError(
            Diagnostic(
                "W1026",
                f"the semiring cannot be sent to Spark's tasks: {first_line(error)}",
                hint="give it by its name, or let it hold nothing but values",
            )
        ) from None
    return found


def annotated_plan(plan: Plan, semiring: str, asked: Collection[str] | None) -> SparkPlan:
    """Return the one group that evaluates everything."""
    program = bare(plan.program)
    names = [decl.name for decl in program.relations]
    derived = {rule.head.relation for rule in program.rules}
    wanted = [n for n in names if (asked is None and not n.startswith("@")) or n in (asked or ())]
    group = Group(
        0,
        Strategy.ALONE,
        tuple(stratum.number for stratum in plan.strata),
        program,
        tuple(Copy(name, name, ALONE) for name in names if name not in derived),
        tuple(Copy(name, name, ALONE) for name in wanted),
        why=f"`{semiring}` is no chain of numbers: all rule instances are solved together",
    )
    return SparkPlan((group,))


def bare(program: Program) -> Program:
    """Return a program without its semiring, which may be nothing that can be sent."""
    relations = tuple(replace(decl, semiring=None) for decl in program.relations)
    return replace(program, relations=relations)


def run_annotated(
    spark: SparkSession,
    plan: Plan,
    inputs: Mapping[str, pa.Table],
    semiring: str | bytes,
    written: tuple[str, ...],
    *,
    functors: bytes,
    limits: Limits,
    threads: int,
) -> tuple[DataFrame, Broadcast[bytes]]:
    """Return the frame of blobs that the task gives, still to be computed, and what it reads."""
    payload = pickle.dumps({name: to_ipc(table) for name, table in inputs.items()})
    shared = spark.sparkContext.broadcast(payload)
    sent = replace(plan, program=bare(plan.program))
    whole = Whole(pickled(sent), shared, semiring, functors, written, limits, threads)
    return no_blobs(spark, 1).mapInArrow(functools.partial(_run, whole), BLOBS), shared


def _run(whole: Whole, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from run_task(whole, Reader((), (), 1, {}), 0, batches)


_KINDS: Mapping[Any, Kind] = {
    pa.int64(): Kind.NUMBER,
    pa.uint64(): Kind.UNSIGNED,
    pa.float64(): Kind.FLOAT,
    pa.string(): Kind.SYMBOL,
}


def annotated_columns(relation: str, schema: pa.Schema) -> Columns:
    """Return the columns of an annotated relation as they came out; records are only text here."""
    names = tuple(field.name for field in schema)
    kinds = tuple(_KINDS[field.type] for field in schema)
    assert names[-1:] in ((COLUMN,), ())
    return Columns(relation, names, tuple(kind.value for kind in kinds), kinds)
