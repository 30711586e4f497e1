"""Semi-naive evaluation where every relation is a frame: one Spark job counts and keeps a round.

A round joins deltas, takes out what is known, and cuts the plan off by a checkpoint: plans that are
only cached grow with every round.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Final

from whence.diagnostics import Diagnostic, LimitError, WhenceError
from whence.engine.base import Limits, Observer, Round
from whence.engine.local.records import ExactRecordText, RecordText
from whence.engine.spark.jobs import described, too_late
from whence.engine.spark.model import Group
from whence.engine.spark.rounds import embedded
from whence.engine.spark.rounds.bodies import Bodies
from whence.engine.spark.rounds.cells import (
    UNIT,
    Types,
    entering,
    leaving,
    literal,
    names_of,
    types_of,
)
from whence.engine.spark.rounds.homes import Home, home_of
from whence.engine.spark.rounds.stored import AsBest, AsSet, Merging, Stored
from whence.engine.spark.rounds.terms import Terms
from whence.functor.user import UserFunctors
from whence.plan.build import build_plan, plan_stratum
from whence.plan.nodes import Plan, Stratum, StratumPlan, Version
from whence.syntax.nodes import Atom, Constant, Kind, Nil, walk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BROADCAST_BYTES: Final = 10 << 20
"""What is smaller than this is sent to every task rather than joined where it lies."""

ROWS_PER_PARTITION: Final = 1_000_000
"""With more rows than this per partition, there are more partitions."""

HASHED_ROWS: Final = 2_000_000
"""Known rows of a partition up to this many are looked up in a table, more by merging."""

MAX_PARTITIONS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Options:
    """How rounds are run."""

    partitions: int | None = None
    """How many partitions frames have at least; None for as many as tasks run at once."""
    reliable: bool = False
    """Keep each round in the session's checkpoint directory, so that it outlives executors."""
    exact_records: bool = False
    """Whether records come and go in the notation that keeps any symbol."""
    functors: UserFunctors = field(default_factory=UserFunctors)
    limits: Limits = Limits()
    observer: Observer | None = None


@dataclass(frozen=True, slots=True)
class Rounded:
    """The relations that were derived, how many tuples they have, and after how many rounds."""

    frames: Mapping[str, DataFrame]
    sizes: Mapping[str, int]
    rounds: Mapping[str, int]


def run_rounds(
    spark: SparkSession,
    group: Group,
    frames: Mapping[str, DataFrame],
    options: Options | None = None,
) -> Rounded:
    """Return the relations that a group writes, given frames of those that it reads, by name."""
    given = {copy.name: frames[copy.name] for copy in group.reads if copy.name in frames}
    wanted = [copy.name for copy in group.writes]
    plan = build_plan(group.program, asked=None, inputs=list(given))
    return evaluate_rounds(spark, plan, {**frames, **given}, wanted, options)


def evaluate_rounds(
    spark: SparkSession,
    plan: Plan,
    frames: Mapping[str, DataFrame],
    wanted: Sequence[str],
    options: Options | None = None,
) -> Rounded:
    """Return relations of a plan, given frames of its inputs."""
    options = options or Options()
    partitions = options.partitions or spark.sparkContext.defaultParallelism
    with settings(spark, partitions), mistakes():
        return _Rounds(spark, plan, frames, options, partitions).run(wanted)


_SETTINGS: Final = {
    # The number of partitions is ours to choose, and frames must keep theirs.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.unionOutputPartitioning": "true",
    # Sizes are known, not guessed: what is small is marked.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


@contextmanager
def settings(spark: SparkSession, partitions: int) -> Iterator[None]:
    """Plan frames as rounds need them, and as before afterwards."""
    chosen = {**_SETTINGS, "spark.sql.shuffle.partitions": str(partitions)}
    before = {key: spark.conf.get(key, None) for key in chosen}
    for key, value in chosen.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, was in before.items():
            if was is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, was)


@contextmanager
def mistakes() -> Iterator[None]:
    """Raise a mistake of the user's that a task found as what it is."""
    try:
        yield
    except WhenceError:
        raise
    except Exception as error:
        found = embedded.mistake_in(str(error))
        if found is None:
            raise
        raise found from None


class _Rounds:
    """One evaluation: the relations so far, and the loop."""

    def __init__(
        self,
        spark: SparkSession,
        plan: Plan,
        frames: Mapping[str, DataFrame],
        options: Options,
        partitions: int,
    ) -> None:
        self._spark = spark
        self._plan = plan
        self._frames = frames
        self._options = options
        self._partitions = partitions
        self._types: Types = types_of(plan.program)
        self._stored: dict[str, Stored] = {}
        self._laid: dict[tuple[str, tuple[int, ...], int], DataFrame] = {}
        self._moving: frozenset[str] = frozenset()
        self._rounds: dict[str, int] = {}
        self._terms = Terms(self._types, options.functors)
        self._bodies = Bodies(spark, self._terms, self._read)
        self._started = time.perf_counter()

    def run(self, wanted: Sequence[str]) -> Rounded:
        """Evaluate all strata."""
        for stratum in self._plan.strata:
            with described(self._spark, f"{', '.join(stratum.relations)}: before the rounds"):
                self._stratum(stratum)
        with described(self._spark, f"{', '.join(wanted)}: counted"):
            self._count(wanted)
        found = {name: self._leaving(name) for name in wanted}
        sizes = {name: self._stored[name].rows or 0 for name in wanted}
        return Rounded(found, sizes, {name: self._rounds.get(name, 0) for name in wanted})

    # ── relations ──

    def _read(self, name: str, version: Version, key: Sequence[int]) -> DataFrame:
        """Return rows of a relation, marked or laid out for a join on some columns."""
        from pyspark.sql import functions as F

        stored = self._stored[name]
        frame = stored.read(version)
        if not key or version is Version.DELTA:
            return frame
        if stored.rows is not None and self._bytes(name, stored.rows) <= BROADCAST_BYTES:
            return F.broadcast(frame)
        if name in self._moving or stored.rows is None:
            return frame
        return self._laid_out(name, tuple(key), frame).hint("merge")

    def _laid_out(self, name: str, key: tuple[int, ...], frame: DataFrame) -> DataFrame:
        """Return a complete relation partitioned and sorted by a key, once for all rounds."""
        at = name, key, self._partitions
        if at not in self._laid:
            columns = [f"c{i}" for i in key]
            moved = frame.repartition(self._partitions, *columns).sortWithinPartitions(*columns)
            self._laid[at] = self._keep(moved)
        return self._laid[at]

    def _bytes(self, name: str, rows: int) -> int:
        widths = (
            24 if c.kind in (Kind.SYMBOL, Kind.RECORD) else 8 for c in self._types.columns[name]
        )
        return rows * (8 + sum(widths))

    def _keep(self, frame: DataFrame) -> DataFrame:
        """Cut the plan off; the next job that needs the rows computes and keeps them."""
        if self._options.reliable:
            return frame.checkpoint(eager=True)
        return frame.localCheckpoint(eager=False)

    def _count(self, names: Sequence[str]) -> None:
        """Count the relations of which nobody knows how many rows they have, in one job."""
        unknown = [n for n in dict.fromkeys(names) if self._stored[n].rows is None]
        frames = [self._stored[n].read(Version.ALL) for n in unknown]
        for name, rows in zip(unknown, self._counts(frames), strict=True):
            self._stored[name].rows = rows

    def _counts(self, frames: Sequence[DataFrame]) -> list[int]:
        from pyspark.sql import functions as F

        if not frames:
            return []
        each = [
            frame.agg(F.count(F.lit(1)).alias("rows")).select(F.lit(i).alias("at"), "rows")
            for i, frame in enumerate(frames)
        ]
        found = dict(tuple(row) for row in reduce(lambda a, b: a.union(b), each).collect())
        return [found[i] for i in range(len(frames))]

    def _given(self, name: str) -> DataFrame | None:
        frame = self._frames.get(name)
        if frame is None:
            return None
        cells = self._types.columns[name]
        found = entering(frame, cells)
        if self._options.exact_records:
            return found
        return self._rewritten(found, name, RecordText, ExactRecordText)

    def _leaving(self, name: str) -> DataFrame:
        decl = self._plan.program.relation(name)
        frame = self._stored[name].read(Version.ALL)
        if not self._options.exact_records:
            frame = self._rewritten(frame, name, ExactRecordText, RecordText)
        names = [a.name for a in decl.attributes] or ["()"]
        return leaving(frame, self._types.columns[name], names)

    def _rewritten(
        self, frame: DataFrame, name: str, old: type[RecordText], new: type[RecordText]
    ) -> DataFrame:
        from pyspark.sql import functions as F

        for i, cell in enumerate(self._types.columns[name]):
            if cell.kind is Kind.RECORD:
                work = embedded.rewriting(cell, old, new, self._types)
                written = embedded.column_function(work)(F.col(f"c{i}"))
                frame = frame.withColumn(f"c{i}", F.coalesce(written, F.lit("nil")))
        return frame

    def _facts(self, name: str, stratum: Stratum) -> DataFrame | None:
        """Return the facts of the text."""
        from pyspark.sql import functions as F

        facts = [fact for fact in stratum.facts if fact.relation == name]
        if not facts:
            return None
        unit = self._spark.range(1, numPartitions=1)
        names = names_of(len(facts[0].args))
        rows = []
        for fact in facts:
            terms = [literal(t) for t in fact.args if isinstance(t, Constant | Nil)]
            columns = terms or [F.lit(0)]
            rows.append(F.struct(*(c.alias(n) for c, n in zip(columns, names, strict=True))))
        listed = unit.select(F.explode(F.array(*rows)).alias("row"))
        return listed.select(*(F.col(f"row.{n}").alias(n) for n in names))

    # ── strata ──

    def _stratum(self, stratum: Stratum) -> None:
        below = _reads(stratum) - set(stratum.relations)
        if stratum.recursive:
            self._count([name for name in self._stored if name in below])
        known = {n: s.rows for n, s in self._stored.items() if s.rows is not None}
        plan = plan_stratum(stratum, known)
        keyed = dict(plan.keyed)
        self._fit(sum(known.values()))
        homes = {
            name: home_of(name, plan, keyed.get(name), stratum, self._is_small)
            for name in stratum.relations
        }
        for name in stratum.relations:
            arity = len(self._types.columns[name])
            merging: Merging = AsBest(arity, keyed[name]) if name in keyed else AsSet(arity)
            self._stored[name] = Stored(name, merging, self._keep)
        seeds = {name: self._seed(name, stratum, plan, homes[name]) for name in stratum.relations}
        if not stratum.recursive:
            for name, seed in seeds.items():
                self._stored[name].layers = [seed]
                self._stored[name].rows = None
                self._rounds[name] = 0
            return
        self._recursion(plan, seeds, homes)

    def _is_small(self, name: str) -> bool:
        rows = self._stored[name].rows if name in self._stored else None
        return rows is not None and self._bytes(name, rows) <= BROADCAST_BYTES

    def _fit(self, rows: int) -> None:
        """Have as many partitions as the rows ask for; never fewer than before."""
        asked = min(MAX_PARTITIONS, -(-rows // ROWS_PER_PARTITION))
        if asked > self._partitions:
            self._partitions = asked
            self._spark.conf.set("spark.sql.shuffle.partitions", str(asked))

    def _seed(self, name: str, stratum: Stratum, plan: StratumPlan, home: Home) -> DataFrame:
        """Return what is there before any recursion, once each."""
        from pyspark.sql import functions as F

        found = [self._given(name), self._facts(name, stratum)]
        found += [self._bodies.heads(p) for p in plan.once if p.head.relation == name]
        parts = [frame for frame in found if frame is not None]
        if not parts:
            cells = self._types.columns[name]
            unit = self._spark.range(0).select(F.lit(0).alias(UNIT))
            parts = [entering(self._frames_none(name), cells) if cells else unit]
        derived = reduce(lambda a, b: a.union(b), parts)
        if stratum.recursive:
            derived = home.of(derived, self._partitions)
        return self._keep(self._stored[name].fresh(derived, "shuffle_hash"))

    def _frames_none(self, name: str) -> DataFrame:
        from whence.engine.spark.rounds.cells import TYPES

        cells = self._types.columns[name]
        schema = ", ".join(f"c{i} {TYPES[c.kind]}" for i, c in enumerate(cells))
        return self._spark.createDataFrame([], schema)

    def _recursion(
        self, plan: StratumPlan, seeds: Mapping[str, DataFrame], homes: Mapping[str, Home]
    ) -> None:
        """Run the delta rules until nothing is new."""
        self._moving = frozenset(plan.relations)
        names = list(plan.relations)
        for name, count in zip(names, self._counts([seeds[n] for n in names]), strict=True):
            self._stored[name].add(seeds[name], count)
            if not count:
                self._stored[name].layers = [seeds[name]]
        number = 0
        self._report(plan, number)
        while any(self._stored[name].new for name in names):
            number += 1
            # Sending small relations to all tasks is a job of its own, before those are counted.
            with described(self._spark, f"{', '.join(names)}: round {number}"):
                derived = self._derived(plan, homes)
                counts = self._counts(list(derived.values()))
            new = dict(zip(derived, counts, strict=True))
            for name in names:
                self._stored[name].add(derived.get(name, seeds[name]), new.get(name, 0))
            self._report(plan, number)
            self._check()
        for name in names:
            self._rounds[name] = number
            self._stored[name].settle()
        self._moving = frozenset()

    def _derived(self, plan: StratumPlan, homes: Mapping[str, Home]) -> dict[str, DataFrame]:
        """Return the new rows of a round, not computed yet."""
        found: dict[str, list[DataFrame]] = {}
        for rule in plan.repeated:
            assert rule.delta is not None
            if self._stored[rule.delta].new:
                found.setdefault(rule.head.relation, []).append(self._bodies.heads(rule))
        kept = {}
        for name, parts in found.items():
            derived = homes[name].of(reduce(lambda a, b: a.union(b), parts), self._partitions)
            rows = self._stored[name].rows or 0
            large = rows > HASHED_ROWS * self._partitions
            fresh = self._stored[name].fresh(derived, "merge" if large else "shuffle_hash")
            kept[name] = self._keep(fresh)
        return kept

    # ── watching ──

    def _report(self, plan: StratumPlan, number: int) -> None:
        observer = self._options.observer
        if observer is not None:
            stored = [self._stored[name] for name in plan.relations]
            observer.on_round(
                Round(
                    plan.number,
                    len(self._plan.strata),
                    plan.relations,
                    number,
                    sum(s.new for s in stored),
                    sum(s.rows or 0 for s in stored),
                    time.perf_counter() - self._started,
                )
            )

    def _check(self) -> None:
        limits = self._options.limits
        tuples = sum(s.rows or 0 for s in self._stored.values())
        if limits.max_tuples is not None and tuples > limits.max_tuples:
            raise LimitError(
                Diagnostic(
                    "W0704",
                    f"more than {limits.max_tuples:,} tuples were derived",
                    hint="raise `--max-tuples`, or ask for less with `whence query`",
                )
            )
        spent = time.perf_counter() - self._started
        if limits.timeout is not None and spent > limits.timeout:
            raise too_late(limits.timeout)


def _reads(stratum: Stratum) -> set[str]:
    return {
        node.relation
        for rule in stratum.rules
        for literal_ in rule.body
        for node in walk(literal_)
        if isinstance(node, Atom)
    }
