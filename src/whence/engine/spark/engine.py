"""The engine on Spark: cut a plan into groups, run one after the other, hand out relations."""

from __future__ import annotations

import functools
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from whence.diagnostics import Diagnostic, LimitError, UsageError
from whence.engine.base import Limits, Observer, RelationStats, Round
from whence.engine.local.engine import LocalEvaluation
from whence.engine.local.records import ExactRecordText
from whence.engine.local.values import Values
from whence.engine.spark.decomposed import packed_functors, run_decomposed
from whence.engine.spark.evaluation import SparkEvaluation, distinct
from whence.engine.spark.frames import Columns, columns_of, normal
from whence.engine.spark.groups import cut
from whence.engine.spark.jobs import ending_together
from whence.engine.spark.model import (
    ALONE,
    EVERYWHERE,
    SOMEWHERE,
    By,
    Copy,
    Group,
    SparkPlan,
    Strategy,
)
from whence.engine.spark.running import Deadline, job
from whence.engine.spark.ship import equip
from whence.engine.spark.shuffle import (
    BLOBS,
    Reader,
    Summary,
    Tables,
    run_task,
    summarise,
    task_number,
)
from whence.engine.spark.sources import (
    AtDriver,
    Delivery,
    FrameInput,
    InBlobs,
    Source,
    deliver,
    found_input,
)
from whence.engine.spark.stats import GroupStats, SparkStats, TaskStats
from whence.functor.user import UserFunctors
from whence.plan.nodes import Plan
from whence.syntax.nodes import Atom, Program

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkEngine:
    """Evaluates on the executors of a Spark session: the active one, or a new one on this machine.

    `strategy` is how every group that can is run; `tasks` into how many parts relations are cut,
    as many as there are cores to run them where nothing is said.
    """

    name = "spark"

    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        strategy: Strategy | None = None,
        tasks: int | None = None,
        functors: UserFunctors | None = None,
    ) -> None:
        if tasks is not None and tasks < 1:
            raise UsageError(Diagnostic("W1020", f"{tasks} tasks cannot do anything"))
        self._spark = spark
        self._strategy = strategy
        self._tasks = tasks
        self._functors = functors

    def evaluate(
        self,
        plan: Plan,
        inputs: Mapping[str, pa.Table | FrameInput],
        *,
        limits: Limits = Limits(),
        threads: int | None = None,
        observer: Observer | None = None,
        asked: Collection[str] | None = None,
    ) -> SparkEvaluation:
        """Return the relations of the plan over the inputs; `asked` are those that are wanted.

        A task has as many `threads` as Spark gives it cores, unless more are asked for.
        """
        functors = packed_functors(self._functors)
        if self._spark is None:
            from whence.engine.spark.session import session

            self._spark = session()
        spark = self._spark
        equip(spark)
        tasks = self._tasks or max(1, spark.sparkContext.defaultParallelism)
        threads = threads or int(spark.conf.get("spark.task.cpus", "1") or 1)
        run = _Run(spark, plan, limits, threads, tasks, functors, observer, asked)
        with ending_together(spark, None if limits.timeout is None else limits.timeout + _GRACE):
            try:
                return run.evaluate(inputs, self._strategy)
            except BaseException:
                run.found.close()
                raise


_GRACE = 1.0
"""Seconds that tasks have to say themselves that they took too long."""


class _Run:
    """One evaluation while it is going on."""

    def __init__(
        self,
        spark: SparkSession,
        plan: Plan,
        limits: Limits,
        threads: int,
        tasks: int,
        functors: bytes,
        observer: Observer | None,
        asked: Collection[str] | None,
    ) -> None:
        self.spark, self.plan, self.limits = spark, plan, limits
        self.threads, self.tasks, self.functors = threads, tasks, functors
        self.observer = observer
        self.asked = None if asked is None else frozenset(asked)
        self.started = time.perf_counter()
        self.deadline = Deadline(limits.timeout)
        self.columns = columns_of(plan.program)
        stats = SparkStats(threads=threads, tasks=tasks, master=str(spark.sparkContext.master))
        self.found = SparkEvaluation(spark, self.columns, stats)
        self.total = 0

    def evaluate(
        self, inputs: Mapping[str, pa.Table | FrameInput], strategy: Strategy | None
    ) -> SparkEvaluation:
        found, given = self.found, self.found.given
        for name, input_ in inputs.items():
            if name in self.columns:
                with job(self.spark, f"whence: facts of {name}"):
                    given[name] = [found_input(input_, self.columns[name])]
        sizes = {name: sum(s.rows for s in sources) for name, sources in given.items()}
        plan = cut(
            self.plan,
            sizes=sizes,
            tasks=self.tasks,
            forced=strategy,
            inputs=tuple(inputs),
            asked=self.asked,
        )
        found.plan = plan
        for name, table in _stated(self.plan.program, plan).items():
            given.setdefault(name, []).append(AtDriver(table))
        found.stats.load_seconds = time.perf_counter() - self.started
        self.total = sum(sizes.values())
        for place, group in enumerate(plan.groups):
            later = {copy.relation for g in plan.groups[place + 1 :] for copy in g.reads}
            wanted = None if self.asked is None else self.asked | later
            self._run(group, wanted, len(plan.groups))
        found.selected = self.plan.selected
        stats = found.stats
        stats.evaluate_seconds = time.perf_counter() - self.started - stats.load_seconds
        return found

    # ── groups ──

    def _run(self, group: Group, wanted: frozenset[str] | None, groups: int) -> None:
        started = time.perf_counter()
        limits = replace(self.limits, timeout=self.deadline.left())
        columns = columns_of(group.program)
        sources = {copy.relation: self.found.sources(copy.relation) for copy in group.reads}
        relations = tuple(dict.fromkeys(copy.relation for copy in group.writes))
        tasks = 1 if group.strategy is Strategy.ALONE else self.tasks
        with job(self.spark, f"whence: {', '.join(relations)} ({group.strategy.value})"):
            match group.strategy:
                case Strategy.DECOMPOSED | Strategy.ALONE:
                    delivery = deliver(self.spark, group.reads, columns, sources, tasks)
                    self.found.broadcasts += delivery.broadcasts
                    blobs = run_decomposed(
                        group,
                        delivery,
                        wanted=wanted,
                        functors=self.functors,
                        limits=limits,
                        threads=self.threads,
                    )
                    summary = self._computed(blobs)
                case _:
                    raise NotImplementedError(group.strategy)
            for index, copy in enumerate(group.writes):
                if wanted is None or copy.relation in wanted:
                    self._hold(index, copy, columns[copy.name], blobs, summary)
        told = tuple(summary.told[task] for task in sorted(summary.told))
        self._tell(group, relations, delivery, summary, told, time.perf_counter() - started, groups)

    def _computed(self, blobs: DataFrame) -> Summary:
        from pyspark import StorageLevel

        self.found.persisted.append(blobs.persist(StorageLevel.MEMORY_AND_DISK))
        return summarise(blobs)

    def _hold(
        self, index: int, copy: Copy, columns: Columns, blobs: DataFrame, summary: Summary
    ) -> None:
        """Remember where a relation is that a group has written."""
        everywhere = copy.placement is EVERYWHERE
        rows = summary.size(index, everywhere=everywhere)
        table = summary.table(index, columns.kinds, everywhere=everywhere)
        found: Source = InBlobs(blobs, index, rows, everywhere, table)
        if copy.placement is SOMEWHERE and rows > 1:
            found = AtDriver(distinct(table)) if table is not None else self._once(found, columns)
        self.found.results[copy.relation] = found

    def _once(self, source: Source, columns: Columns) -> InBlobs:
        """Return a relation without the tuples that several tasks have derived."""
        copy = Copy("all", "all", By(0) if columns.kinds else ALONE)
        sent = deliver(self.spark, [copy], {"all": columns}, {"all": [source]}, self.tasks)
        self.found.broadcasts += sent.broadcasts
        blobs = sent.frame.mapInArrow(functools.partial(_distinct, sent.reader), BLOBS)
        summary = self._computed(blobs)
        return InBlobs(blobs, 0, summary.size(0), table=summary.table(0, columns.kinds))

    # ── what it cost ──

    def _tell(
        self,
        group: Group,
        relations: tuple[str, ...],
        delivery: Delivery,
        summary: Summary,
        told: Sequence[TaskStats],
        seconds: float,
        groups: int,
    ) -> None:
        stats = self.found.stats
        moved = [task.read.get(name, (0, 0)) for task in told for name in delivery.moved]
        written = {n: self.found.results[n].rows for n in relations if n in self.found.results}
        new = sum(written.values())
        rounds = max((task.rounds for task in told), default=0)
        for name, rows in written.items():
            stats.relations[name] = RelationStats(rows, rounds)
        stats.groups.append(
            GroupStats(
                number=group.number,
                strategy=group.strategy.value,
                relations=relations,
                why=group.why,
                seconds=seconds,
                tuples=new,
                broadcast_bytes=delivery.broadcast_bytes,
                shuffled_rows=sum(rows for rows, _ in moved),
                shuffled_bytes=sum(size for _, size in moved),
                sent_rows=sum(task.sent_rows for task in told),
                sent_bytes=sum(task.sent_bytes for task in told),
                output_bytes=sum(summary.sizes.values()),
                rounds=rounds,
                tasks=tuple(told),
            )
        )
        stats.prepare_seconds += max((task.prepare_seconds for task in told), default=0.0)
        peaks = [task.peak_memory_bytes for task in told]
        stats.peak_memory_bytes = max(stats.peak_memory_bytes, *peaks, 0)
        self.total += new
        if self.observer is not None:
            self.observer.on_round(
                Round(group.number, groups, relations, rounds, new, self.total, seconds)
            )
        limit = self.limits.max_tuples
        if limit is not None and self.total > limit:
            raise LimitError(
                Diagnostic(
                    "W0704",
                    f"more than {limit:,} tuples were derived",
                    hint="raise `--max-tuples`, or ask for less with `whence query`",
                    notes=("nothing was written",),
                )
            )


def _distinct(reader: Reader, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from run_task(_distinct_share, reader, task_number(), batches)


def _distinct_share(_: int, tables: Tables) -> Iterator[tuple[int, Any]]:
    (table,) = tables.values()
    yield 0, distinct(table)


def _stated(program: Program, plan: SparkPlan) -> dict[str, pa.Table]:
    """Return the stated facts as normal tables, by relation."""
    by_relation: dict[str, list[Atom]] = {}
    for fact in plan.facts:
        by_relation.setdefault(fact.relation, []).append(fact)
    declared = {decl.name: (program, decl.name) for decl in program.relations}
    for group in plan.groups:  # what only placing knows is declared where it is read
        for copy in group.reads:
            declared.setdefault(copy.relation, (group.program, copy.name))
    found: dict[str, pa.Table] = {}
    empty: dict[int, LocalEvaluation] = {}
    for relation, facts in by_relation.items():
        if relation in declared:
            whole, name = declared[relation]
            evaluation = empty.get(id(whole))
            if evaluation is None:
                none = Plan(whole, ())
                evaluation = LocalEvaluation(none, {}, Values(), UserFunctors(), ExactRecordText)
                empty[id(whole)] = evaluation
            table = evaluation.decode(name, evaluation.fact_rows(name, facts))
            found[relation] = normal(table, columns_of(whole)[name], exact=True)
    return found
