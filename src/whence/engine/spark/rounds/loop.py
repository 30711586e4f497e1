"""Semi-naive evaluation where every relation is a frame: one Spark job counts and keeps a round.

A round joins deltas, takes out what is known, and cuts the plan off by a checkpoint: plans that are
only cached grow with every round.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

from whence.diagnostics import Diagnostic, LimitError, WhenceError
from whence.engine.base import Round
from whence.engine.spark.jobs import described, too_late
from whence.engine.spark.model import Group
from whence.engine.spark.rounds import embedded
from whence.engine.spark.rounds.bodies import Bodies
from whence.engine.spark.rounds.cells import names_of
from whence.engine.spark.rounds.homes import Home, home_of
from whence.engine.spark.rounds.kept import Kept
from whence.engine.spark.rounds.relations import Options, Relations
from whence.engine.spark.rounds.terms import Terms
from whence.plan.build import build_plan, plan_stratum
from whence.plan.nodes import Plan, Stratum, StratumPlan
from whence.syntax.nodes import Atom, walk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Options", "Rounded", "evaluate_rounds", "run_rounds"]

HASHED_ROWS: Final = 2_000_000
"""Known rows of a partition up to this many are looked up in a table, more by merging."""

_LOST: Final = "Checkpoint block"
"""What Spark says when rows that were kept are nowhere any more."""
_AGAIN: Final = 3
"""How often an evaluation begins anew after that."""


@dataclass(frozen=True, slots=True)
class Rounded:
    """The relations that were derived, how many tuples they have, and after how many rounds."""

    frames: Mapping[str, DataFrame]
    sizes: Mapping[str, int]
    rounds: Mapping[str, int]
    kept: Kept
    """What the frames hold in Spark's memory, until it is given back."""


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
    if options.reliable is None:
        directory = spark.sparkContext.getCheckpointDir()
        options = replace(options, reliable=directory is not None)
    partitions = options.partitions or spark.sparkContext.defaultParallelism
    begun = time.perf_counter()
    with settings(spark, partitions), mistakes():
        for last in (False,) * _AGAIN + (True,):
            rounds = _Rounds(spark, plan, frames, options, partitions, begun)
            try:
                return rounds.run(wanted)
            except BaseException as error:
                rounds.give_back()
                # An executor is gone, and with it rows that no other has.
                if last or _LOST not in str(error):
                    raise
    raise AssertionError("unreachable")


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
        begun: float,
    ) -> None:
        self._spark = spark
        self._plan = plan
        self._options = options
        self._relations = Relations(spark, plan, frames, options, partitions)
        self._stored = self._relations.stored
        self._rounds: dict[str, int] = {}
        terms = Terms(self._relations.types, options.functors)
        self._bodies = Bodies(spark, terms, self._relations.read)
        self._started = begun

    def run(self, wanted: Sequence[str]) -> Rounded:
        """Evaluate all strata."""
        for stratum in self._plan.strata:
            with described(self._spark, f"{', '.join(stratum.relations)}: before the rounds"):
                self._stratum(stratum)
        with described(self._spark, f"{', '.join(wanted)}: counted"):
            self._relations.count(wanted)
        found = {name: self._relations.leaving(name) for name in wanted}
        sizes = {name: self._stored[name].rows or 0 for name in wanted}
        rounds = {name: self._rounds.get(name, 0) for name in wanted}
        kept = self._relations.kept
        kept.drop_others(found.values())
        return Rounded(found, sizes, rounds, kept)

    def give_back(self) -> None:
        """Keep nothing of an evaluation that failed."""
        with contextlib.suppress(Exception):  # Spark may be what failed
            self._relations.kept.unpersist()

    # ── strata ──

    def _stratum(self, stratum: Stratum) -> None:
        below = _reads(stratum) - set(stratum.relations)
        if stratum.recursive:
            self._relations.count([name for name in self._stored if name in below])
        known = {n: s.rows for n, s in self._stored.items() if s.rows is not None}
        plan = plan_stratum(stratum, known)
        keyed = dict(plan.keyed)
        self._relations.fit(sum(known.values()))
        small = self._relations.is_small
        homes = {n: home_of(n, plan, keyed.get(n), stratum, small) for n in stratum.relations}
        for name in stratum.relations:
            self._relations.begin(name, keyed.get(name))
        seeds = {name: self._seed(name, stratum, plan, homes[name]) for name in stratum.relations}
        if not stratum.recursive:
            for name, seed in seeds.items():
                self._stored[name].add(seed, 1)  # nobody has counted: there may be some
            self._bury(plan)
            for name in seeds:
                self._stored[name].settle()
                self._stored[name].rows = None
                self._rounds[name] = 0
            return
        self._recursion(plan, seeds, homes)

    def _seed(self, name: str, stratum: Stratum, plan: StratumPlan, home: Home) -> DataFrame:
        """Return what is there before any recursion, once each."""
        relations = self._relations
        facts = [fact for fact in stratum.facts if fact.relation == name]
        found = [relations.given(name), relations.stated(name, facts) if facts else None]
        found += [self._bodies.heads(p) for p in plan.once if p.head.relation == name]
        parts = [frame for frame in found if frame is not None] or [relations.none(name)]
        derived = reduce(lambda a, b: a.union(b), parts)
        if stratum.recursive:
            derived = home.of(derived, relations.partitions)
        return relations.keep_renamed(self._stored[name].fresh(derived, "shuffle_hash"))

    def _recursion(
        self, plan: StratumPlan, seeds: Mapping[str, DataFrame], homes: Mapping[str, Home]
    ) -> None:
        """Run the delta rules until nothing is new."""
        relations, names = self._relations, list(plan.relations)
        relations.moving = frozenset(names)
        for name, count in zip(names, relations.counts([seeds[n] for n in names]), strict=True):
            self._stored[name].add(seeds[name], count)
            if not count:
                self._stored[name].layers = [seeds[name]]
        self._bury(plan)
        number = 0
        self._report(plan, number)
        while any(self._stored[name].new for name in names):
            number += 1
            # Sending small relations to all tasks is a job of its own, before those are counted.
            with described(self._spark, f"{', '.join(names)}: round {number}"):
                derived = self._derived(plan, homes)
                counts = relations.counts(list(derived.values()))
            new = dict(zip(derived, counts, strict=True))
            for name in names:
                self._stored[name].add(derived.get(name, seeds[name]), new.get(name, 0))
            self._bury(plan)
            if relations.fit(sum(self._stored[name].rows or 0 for name in names)):
                relations.move(homes)
            self._report(plan, number)
            self._check()
        for name in names:
            self._rounds[name] = number
            self._stored[name].settle()
        relations.moving = frozenset()

    def _derived(self, plan: StratumPlan, homes: Mapping[str, Home]) -> dict[str, DataFrame]:
        """Return the new rows of a round, not computed yet."""
        found: dict[str, list[DataFrame]] = {}
        for rule in plan.repeated:
            assert rule.delta is not None
            if self._stored[rule.delta].new:
                found.setdefault(rule.head.relation, []).append(self._bodies.heads(rule))
        kept, partitions = {}, self._relations.partitions
        for name, parts in found.items():
            derived = homes[name].of(reduce(lambda a, b: a.union(b), parts), partitions)
            large = (self._stored[name].rows or 0) > HASHED_ROWS * partitions
            fresh = self._stored[name].fresh(derived, "merge" if large else "shuffle_hash")
            kept[name] = self._relations.keep_renamed(fresh)
        return kept

    def _bury(self, plan: StratumPlan) -> None:
        """Read no more what is dominated now that the last round's rows are there."""
        from pyspark.sql import functions as F

        for domination in plan.dominations:
            found = [
                self._bodies.heads(pair)
                for pair in domination.pairs
                if pair.delta is not None and self._stored[pair.delta].new
            ]
            if found:
                arity = len(self._relations.types.columns[domination.relation])
                worse, better = names_of(2 * arity)[:arity], names_of(2 * arity)[arity:]
                pairs = reduce(lambda a, b: a.union(b), found)
                differ = [F.col(a) != F.col(b) for a, b in zip(worse, better, strict=True)]
                dominated = pairs.filter(reduce(lambda a, b: a | b, differ)).select(*worse)
                self._stored[domination.relation].bury(dominated.distinct())

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
