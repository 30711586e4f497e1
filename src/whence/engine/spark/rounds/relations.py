"""The relations of an evaluation by rounds: given ones entering, all of them read and counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Final

from whence.engine.base import Limits, Observer
from whence.engine.local.records import ExactRecordText, RecordText
from whence.engine.spark.rounds import embedded
from whence.engine.spark.rounds.cells import (
    TYPES,
    UNIT,
    Types,
    entering,
    fact_table,
    filled,
    leaving,
    names_of,
    types_of,
)
from whence.engine.spark.rounds.homes import Home
from whence.engine.spark.rounds.kept import Kept
from whence.engine.spark.rounds.stored import AsBest, AsSet, Merging, Stored
from whence.functor.user import UserFunctors
from whence.plan.nodes import Keyed, Plan, Version
from whence.syntax.nodes import Atom, Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BROADCAST_BYTES: Final = 10 << 20
"""What is smaller than this is sent to every task rather than joined where it lies."""

ROWS_PER_PARTITION: Final = 1_000_000
"""With more rows than this per partition, there are more partitions."""

MAX_PARTITIONS: Final = 2_000

LATEST: Final = 32
"""How many plans are held after they were cut off: until they have run, most likely."""


@dataclass(frozen=True, slots=True)
class Options:
    """How rounds are run."""

    partitions: int | None = None
    """How many partitions frames have at least; None for as many as tasks run at once."""
    reliable: bool | None = None
    """Keep each round in the session's checkpoint directory, so that it outlives executors; None
    for where there is one. Otherwise what an executor takes with it is computed from the start."""
    exact_records: bool = False
    """Whether records come and go in the notation that keeps any symbol."""
    functors: UserFunctors = field(default_factory=UserFunctors)
    limits: Limits = Limits()
    observer: Observer | None = None


class Relations:
    """Relations by name, as frames that are kept."""

    def __init__(
        self,
        spark: SparkSession,
        plan: Plan,
        frames: Mapping[str, DataFrame],
        options: Options,
        partitions: int,
    ) -> None:
        self.spark = spark
        self.types: Types = types_of(plan.program)
        self.stored: dict[str, Stored] = {}
        self.partitions = partitions
        self.moving: frozenset[str] = frozenset()
        """The relations of the recursion that is running."""
        self._program = plan.program
        self._frames = frames
        self._options = options
        self._laid: dict[tuple[str, tuple[int, ...], int], DataFrame] = {}
        self._renamed = 0
        # What counts the rows of a plan goes with it, and Spark complains when tasks look for it.
        self._latest: deque[DataFrame] = deque(maxlen=LATEST)
        self.kept = Kept()

    # ── reading ──

    def read(self, name: str, version: Version, key: Sequence[int] | None) -> DataFrame:
        """Return rows of a relation, marked or laid out where they are joined on some columns."""
        from pyspark.sql import functions as F

        frame = self.stored[name].read(version)
        if key is None or version is Version.DELTA:
            return frame
        if self.is_small(name):
            return F.broadcast(frame)
        if not key or name in self.moving or self.stored[name].rows is None:
            return frame
        return self._laid_out(name, tuple(key), frame).hint("merge")

    def _laid_out(self, name: str, key: tuple[int, ...], frame: DataFrame) -> DataFrame:
        """Return a complete relation partitioned and sorted by a key, once for all rounds."""
        at = name, key, self.partitions
        if at not in self._laid:
            columns = [f"c{i}" for i in key]
            moved = frame.repartition(self.partitions, *columns).sortWithinPartitions(*columns)
            self._laid[at] = self.keep_renamed(moved)
        return self._laid[at]

    def is_small(self, name: str) -> bool:
        """Say whether a relation is known to be small enough for every task to have it."""
        rows = self.stored[name].rows if name in self.stored else None
        if rows is None:
            return False
        texts = (Kind.SYMBOL, Kind.RECORD)
        widths = (24 if cell.kind in texts else 8 for cell in self.types.columns[name])
        return rows * (8 + sum(widths)) <= BROADCAST_BYTES

    # ── keeping ──

    def keep(self, frame: DataFrame) -> DataFrame:
        """Cut the plan off; the next job that needs the rows computes and keeps them."""
        if self._options.reliable:
            return frame.checkpoint(eager=True)
        self._latest.append(frame)
        return self.kept.add(frame.localCheckpoint(eager=False))

    def keep_renamed(self, frame: DataFrame) -> DataFrame:
        """Keep a frame whose columns may be those of another one.

        Spark would find that out and forget how the rows are partitioned, since it remembers that
        by columns; metadata that no other column has make them new.
        """
        from pyspark.sql import functions as F

        self._renamed += 1
        mark = {"whence": self._renamed}
        return self.keep(frame.select(*(F.col(c).alias(c, metadata=mark) for c in frame.columns)))

    def begin(self, name: str, keyed: Keyed | None) -> Stored:
        """Return a relation without rows."""
        arity = len(self.types.columns[name])
        merging: Merging = AsSet(arity) if keyed is None else AsBest(arity, keyed)
        self.stored[name] = Stored(name, merging, self.keep)
        return self.stored[name]

    def fit(self, rows: int) -> bool:
        """Have as many partitions as the rows ask for, and say whether these are more now."""
        asked = min(MAX_PARTITIONS, -(-rows // ROWS_PER_PARTITION))
        if asked <= self.partitions:
            return False
        self.partitions = asked
        self.spark.conf.set("spark.sql.shuffle.partitions", str(asked))
        return True

    def move(self, homes: Mapping[str, Home]) -> None:
        """Bring relations home again, now that there are more partitions."""
        for name, home in homes.items():
            stored = self.stored[name]
            there = Home(home.columns or stored.merging.columns)
            stored.layers = [
                self.keep_renamed(there.of(layer, self.partitions)) for layer in stored.layers
            ]

    # ── counting ──

    def count(self, names: Sequence[str]) -> None:
        """Count the relations of which nobody knows how many rows they have, in one job."""
        unknown = [n for n in dict.fromkeys(names) if self.stored[n].rows is None]
        frames = [self.stored[n].read(Version.ALL) for n in unknown]
        for name, rows in zip(unknown, self.counts(frames), strict=True):
            self.stored[name].rows = rows

    def counts(self, frames: Sequence[DataFrame]) -> list[int]:
        """Return how many rows frames have; computing them keeps them."""
        from pyspark.sql import functions as F

        if not frames:
            return []
        each = [
            frame.agg(F.count(F.lit(1)).alias("rows")).select(F.lit(i).alias("at"), "rows")
            for i, frame in enumerate(frames)
        ]
        found = dict(tuple(row) for row in reduce(lambda a, b: a.union(b), each).collect())
        return [found[i] for i in range(len(frames))]

    # ── in and out ──

    def given(self, name: str) -> DataFrame | None:
        """Return the frame that was given for a relation."""
        frame = self._frames.get(name)
        if frame is None:
            return None
        found = entering(frame, self.types.columns[name])
        if self._options.exact_records:
            return found
        return self._rewritten(found, name, RecordText, ExactRecordText)

    def stated(self, name: str, facts: Sequence[Atom]) -> DataFrame:
        """Return facts of constants."""
        cells = self.types.columns[name]
        return filled(self.spark.createDataFrame(fact_table(facts, cells)), cells)

    def none(self, name: str) -> DataFrame:
        """Return no rows of a relation."""
        cells = self.types.columns[name]
        pairs = [(n, TYPES[c.kind]) for n, c in zip(names_of(len(cells)), cells, strict=False)]
        schema = ", ".join(f"{n} {t}" for n, t in pairs) or f"{UNIT} int"
        return filled(self.spark.createDataFrame([], schema), cells)

    def leaving(self, name: str) -> DataFrame:
        """Return a relation as people have it."""
        frame = self.stored[name].read(Version.ALL)
        if not self._options.exact_records:
            frame = self._rewritten(frame, name, ExactRecordText, RecordText)
        names = [a.name for a in self._program.relation(name).attributes] or ["()"]
        return leaving(frame, self.types.columns[name], names)

    def _rewritten(
        self, frame: DataFrame, name: str, old: type[RecordText], new: type[RecordText]
    ) -> DataFrame:
        from pyspark.sql import functions as F

        for i, cell in enumerate(self.types.columns[name]):
            if cell.kind is Kind.RECORD:
                work = embedded.rewriting(cell, old, new, self.types)
                written = embedded.column_function(work)(F.col(f"c{i}"))
                frame = frame.withColumn(f"c{i}", F.coalesce(written, F.lit("nil")))
        return frame
