"""One evaluation on Spark while it is going on: group after group, each by its strategy."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, assert_never

import pyarrow as pa

from whence.diagnostics import Diagnostic, LimitError
from whence.engine.base import Limits, Observer, RelationStats, Round
from whence.engine.spark.annotated import (
    annotated_columns,
    annotated_plan,
    packed_semiring,
    run_annotated,
)
from whence.engine.spark.cut.groups import cut
from whence.engine.spark.decomposed import run_decomposed
from whence.engine.spark.evaluation import SparkEvaluation, distinct
from whence.engine.spark.frames import Columns, columns_of
from whence.engine.spark.held import hold
from whence.engine.spark.jobs import too_late
from whence.engine.spark.model import (
    ALONE,
    EVERYWHERE,
    SOMEWHERE,
    By,
    Copy,
    Group,
    Strategy,
)
from whence.engine.spark.running import Watch
from whence.engine.spark.shuffle import (
    BLOBS,
    Reader,
    Summary,
    Tables,
    few_bytes,
    run_task,
    summarise,
    task_number,
)
from whence.engine.spark.sources import (
    AtDriver,
    Delivery,
    FrameInput,
    InBlobs,
    InFrame,
    Source,
    deliver,
    found_input,
)
from whence.engine.spark.stated import stated_tables
from whence.engine.spark.stats import GroupStats, SparkStats, TaskStats
from whence.functor.user import UserFunctors
from whence.plan.nodes import Plan
from whence.rewrite.read_in import AnySemiring

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Settings:
    """How an evaluation is to run."""

    tasks: int
    threads: int
    limits: Limits
    functors: bytes
    """Those of the user's, as tasks can have them."""
    user_functors: UserFunctors
    observer: Observer | None
    asked: frozenset[str] | None
    """The relations that somebody wants; None when that may be any."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a group has given."""

    results: Mapping[str, Source]
    tasks: Sequence[TaskStats] = ()
    rounds: int = 0
    broadcast_bytes: int = 0
    moved: frozenset[str] = frozenset()
    output_bytes: int = 0


class Run:
    """One evaluation."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self._spark = spark
        self._settings = settings
        self._started = time.perf_counter()
        self._watch = Watch(spark, settings.limits.timeout)
        stats = SparkStats(
            threads=settings.threads, tasks=settings.tasks, master=str(spark.sparkContext.master)
        )
        self._found = SparkEvaluation(spark, stats)
        self._total = 0

    def evaluate(
        self, plan: Plan, inputs: Mapping[str, pa.Table | FrameInput], strategy: Strategy | None
    ) -> SparkEvaluation:
        """Return the relations of a plan over the inputs."""
        with self._watch.over_all(), _closing(self._found):
            self._prepare(plan, inputs, strategy)
            groups = self._found.plan.groups
            for place, group in enumerate(groups):
                later = {copy.relation for g in groups[place + 1 :] for copy in g.reads}
                asked = self._settings.asked
                self._run(group, None if asked is None else asked | later)
            self._found.selected = plan.selected
            return self._finished()

    def evaluate_annotated(
        self,
        plan: Plan,
        inputs: Mapping[str, pa.Table],
        semiring: AnySemiring,
        name: str | None,
    ) -> SparkEvaluation:
        """Return the relations of a plan in a semiring that is no chain."""
        found, settings = self._found, self._settings
        packed = packed_semiring(semiring, name)
        found.plan = annotated_plan(plan, semiring.name, settings.asked)
        (group,) = found.plan.groups
        written = tuple(copy.relation for copy in group.writes)
        with self._watch.over_all(), _closing(self._found):
            started = time.perf_counter()
            with self._watch.job(_description(group)):
                blobs, shared = run_annotated(
                    self._spark,
                    plan,
                    inputs,
                    packed,
                    written,
                    functors=settings.functors,
                    limits=replace(settings.limits, timeout=self._watch.left()),
                    threads=settings.threads,
                )
                found.broadcasts.append(shared)
                blobs, summary = self._computed(blobs)
            ((told, schemas),) = summary.told.values()
            found.columns = {name: annotated_columns(name, schemas[name]) for name in written}
            results: dict[str, Source] = {}
            for index, name in enumerate(written):
                table = summary.table(index, found.columns[name].kinds)
                results[name] = InBlobs(blobs, index, summary.size(index), False, table)
            size = sum(size for _, size in told.read.values())
            sent = sum(summary.sizes.values())
            self._take(group, Done(results, [told], told.rounds, size, output_bytes=sent), started)
            return self._finished()

    def _finished(self) -> SparkEvaluation:
        stats = self._found.stats
        stats.evaluate_seconds = time.perf_counter() - self._started - stats.load_seconds
        return self._found

    def _prepare(
        self,
        plan: Plan,
        inputs: Mapping[str, pa.Table | FrameInput],
        strategy: Strategy | None,
    ) -> None:
        """Find out what is given, and cut the plan."""
        found, given = self._found, self._found.given
        found.columns = columns_of(plan.program)
        for name, input_ in inputs.items():
            if name in found.columns:
                with self._watch.job(f"the facts of {name}"):
                    given[name] = [found_input(input_, found.columns[name])]
        sizes = {name: sum(s.rows for s in sources) for name, sources in given.items()}
        found.plan = cut(
            plan,
            sizes=sizes,
            tasks=self._settings.tasks,
            forced=strategy,
            inputs=tuple(given),
            asked=self._settings.asked,
        )
        for name, table in stated_tables(plan.program, found.plan).items():
            given.setdefault(name, []).append(AtDriver(table))
        self._total = sum(sizes.values())
        found.stats.load_seconds = time.perf_counter() - self._started

    # ── groups ──

    def _run(self, group: Group, wanted: frozenset[str] | None) -> None:
        started = time.perf_counter()
        limits = replace(self._settings.limits, timeout=self._watch.left())
        with self._watch.job(_description(group)), self._in_time():
            match group.strategy:
                case Strategy.DECOMPOSED | Strategy.ALONE:
                    done = self._decomposed(group, wanted, limits)
                case Strategy.GANG:
                    done = self._gang(group, wanted, limits)
                case Strategy.ROUNDS:
                    done = self._rounds(group, limits)
                case never:
                    assert_never(never)
        self._take(group, done, started)

    @contextlib.contextmanager
    def _in_time(self) -> Iterator[None]:
        """Tell of the time that was given, where tasks only know what was left of it."""
        try:
            yield
        except LimitError as error:
            timeout = self._settings.limits.timeout
            if timeout is None or error.diagnostics[0].code != "W0702":
                raise
            raise too_late(timeout) from None

    def _decomposed(self, group: Group, wanted: frozenset[str] | None, limits: Limits) -> Done:
        settings = self._settings
        columns, sources = columns_of(group.program), self._sources(group)
        tasks = settings.tasks if group.strategy is Strategy.DECOMPOSED else 1
        delivery = deliver(self._spark, group.reads, columns, sources, tasks)
        self._found.broadcasts += delivery.broadcasts
        blobs = run_decomposed(
            group,
            delivery,
            wanted=wanted,
            functors=settings.functors,
            limits=limits,
            threads=settings.threads,
        )
        return self._done(group, wanted, delivery, blobs)

    def _gang(self, group: Group, wanted: frozenset[str] | None, limits: Limits) -> Done:
        from whence.engine.spark.gang.job import gang_tasks, run_gang

        settings = self._settings
        columns, tasks = columns_of(group.program), gang_tasks(self._spark, settings.tasks)
        delivery = deliver(self._spark, group.reads, columns, self._sources(group), tasks)
        self._found.broadcasts += delivery.broadcasts
        gang = run_gang(
            self._spark,
            group,
            delivery,
            tasks=tasks,
            wanted=wanted,
            functors=settings.functors,
            limits=limits,
            observer=settings.observer,
        )
        self._found.gangs.append(gang)
        return self._done(group, wanted, delivery, gang.frame, gang.summary)

    def _done(
        self,
        group: Group,
        wanted: frozenset[str] | None,
        delivery: Delivery,
        blobs: DataFrame,
        heard: Callable[[], Summary | None] = lambda: None,
    ) -> Done:
        """Compute the blobs of a group, and return what they hold."""
        blobs, summary = self._computed(blobs, heard)
        told = [summary.told[task] for task in sorted(summary.told)]
        return Done(
            self._held(group, wanted, blobs, summary),
            told,
            max((task.rounds for task in told), default=0),
            delivery.broadcast_bytes,
            delivery.moved,
            sum(summary.sizes.values()),
        )

    def _rounds(self, group: Group, limits: Limits) -> Done:
        from whence.engine.spark.rounds.loop import Options, run_rounds

        columns = columns_of(group.program)
        frames = {
            copy.name: self._found.exact_frame(copy.relation, columns[copy.name])
            for copy in group.reads
        }
        options = Options(
            exact_records=True,
            functors=self._settings.user_functors,
            limits=limits,
            observer=self._settings.observer,
        )
        found = run_rounds(self._spark, group, frames, options)
        self._found.held.append(found.kept)
        results: dict[str, Source] = {
            copy.relation: InFrame(found.frames[copy.name], None, found.sizes[copy.name], True)
            for copy in group.writes
        }
        return Done(results, rounds=max(found.rounds.values(), default=0))

    def _sources(self, group: Group) -> dict[str, Sequence[Source]]:
        return {copy.relation: self._found.sources(copy.relation) for copy in group.reads}

    def _computed(
        self, blobs: DataFrame, heard: Callable[[], Summary | None] = lambda: None
    ) -> tuple[DataFrame, Summary]:
        """Compute a frame of blobs; return it as it is kept, and what is there.

        To hold a frame with a shuffle computes what is before it, where Spark plans as it goes.
        Then tasks may have told what they gave, and the rest is computed when it is needed.
        """
        held = hold(self._spark, blobs)
        self._found.held.append(held)
        return held.frame, heard() or summarise(held.frame, few_bytes(self._settings.tasks))

    def _held(
        self,
        group: Group,
        wanted: frozenset[str] | None,
        blobs: DataFrame,
        summary: Summary,
    ) -> dict[str, Source]:
        """Return where the relations are that a group has written as blobs."""
        columns = columns_of(group.program)
        found: dict[str, Source] = {}
        for index, copy in enumerate(group.writes):
            if wanted is not None and copy.relation not in wanted:
                continue
            everywhere, own = copy.placement is EVERYWHERE, columns[copy.name]
            rows = summary.size(index, everywhere=everywhere)
            table = summary.table(index, own.kinds, everywhere=everywhere)
            held: Source = InBlobs(blobs, index, rows, everywhere, table)
            if copy.placement is SOMEWHERE and rows > 1:
                held = AtDriver(distinct(table)) if table is not None else self._once(held, own)
            found[copy.relation] = held
        return found

    def _once(self, source: Source, columns: Columns) -> InBlobs:
        """Return a relation without the tuples that several tasks have derived."""
        copy = Copy("all", "all", By(0) if columns.kinds else ALONE)
        tasks = self._settings.tasks
        sent = deliver(self._spark, [copy], {"all": columns}, {"all": [source]}, tasks)
        self._found.broadcasts += sent.broadcasts
        blobs = sent.frame.mapInArrow(functools.partial(_distinct, sent.reader), BLOBS)
        blobs, summary = self._computed(blobs)
        return InBlobs(blobs, 0, summary.size(0), table=summary.table(0, columns.kinds))

    # ── what it gave and what it cost ──

    def _take(self, group: Group, done: Done, started: float) -> None:
        found, stats, told = self._found, self._found.stats, done.tasks
        found.results.update(done.results)
        seconds = time.perf_counter() - started
        new = sum(source.rows for source in done.results.values())
        for name, source in done.results.items():
            stats.relations[name] = RelationStats(source.rows, done.rounds)
        moved = [task.read.get(name, (0, 0)) for task in told for name in done.moved]
        relations = _relations(group)
        stats.groups.append(
            GroupStats(
                number=group.number,
                strategy=group.strategy.value,
                relations=relations,
                why=group.why,
                seconds=seconds,
                tuples=new,
                broadcast_bytes=done.broadcast_bytes,
                shuffled_rows=sum(rows for rows, _ in moved),
                shuffled_bytes=sum(size for _, size in moved),
                sent_rows=sum(task.sent_rows for task in told),
                sent_bytes=sum(task.sent_bytes for task in told),
                output_bytes=done.output_bytes,
                rounds=done.rounds,
                tasks=tuple(told),
            )
        )
        stats.prepare_seconds += max((task.prepare_seconds for task in told), default=0.0)
        peaks = [task.peak_memory_bytes for task in told]
        stats.peak_memory_bytes = max([stats.peak_memory_bytes, *peaks])
        self._total += new
        observer = self._settings.observer
        if observer is not None:
            groups = len(found.plan.groups)
            observer.on_round(
                Round(group.number, groups, relations, done.rounds, new, self._total, seconds)
            )
        limit = self._settings.limits.max_tuples
        if limit is not None and self._total > limit:
            raise LimitError(
                Diagnostic(
                    "W0704",
                    f"more than {limit:,} tuples were derived",
                    hint="raise `--max-tuples`, or ask for less with `whence query`",
                    notes=("nothing was written",),
                )
            )


@contextlib.contextmanager
def _closing(found: SparkEvaluation) -> Iterator[None]:
    """Give back what an evaluation that fails has taken."""
    try:
        yield
    except BaseException:
        found.close()
        raise


def _relations(group: Group) -> tuple[str, ...]:
    return tuple(dict.fromkeys(copy.relation for copy in group.writes))


def _description(group: Group) -> str:
    named = ", ".join(_relations(group))
    return f"{named if len(named) <= 200 else f'{named[:200]}…'} ({group.strategy.value})"


def _distinct(reader: Reader, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from run_task(_distinct_share, reader, task_number(), batches)


def _distinct_share(_: int, tables: Tables) -> Iterator[tuple[int, Any]]:
    (table,) = tables.values()
    yield 0, distinct(table)
