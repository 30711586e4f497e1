"""A relation while rounds run: layers of rows that never change, each kept by a checkpoint.

A round adds a layer. Old, delta and all are layers, not copies; when there are many, all but the
newest become one. Rows of a *home* are together in one partition, so that looking for what is known
moves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Final, Protocol

from whence.engine.spark.rounds.cells import names_of, zero
from whence.engine.spark.rounds.terms import in_order
from whence.plan.nodes import Keyed, Version
from whence.syntax.nodes import Kind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LAYERS: Final = 8
"""With more layers than this, the old ones become one: a plan with many takes long to make."""

Keep = Callable[["DataFrame"], "DataFrame"]
"""Cuts the plan of a frame off, and keeps its rows."""


class Merging(Protocol):
    """What makes rows one: equality, or having the same key."""

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns that rows that become one agree in."""
        ...

    def new(self, derived: DataFrame, known: DataFrame | None, hint: str) -> DataFrame:
        """Return what is new, once each."""
        ...

    def whole(self, layers: Sequence[DataFrame]) -> DataFrame:
        """Return the rows of all layers that count."""
        ...


@dataclass(frozen=True, slots=True)
class AsSet:
    """Rows that are all kept, once each."""

    arity: int

    @property
    def columns(self) -> tuple[int, ...]:
        """All columns."""
        return tuple(range(self.arity))

    def new(self, derived: DataFrame, known: DataFrame | None, hint: str) -> DataFrame:
        """Return what is not known, once each."""
        found = derived.distinct()
        if known is None:
            return found
        return found.join(known.hint(hint), names_of(self.arity), "left_anti")

    def whole(self, layers: Sequence[DataFrame]) -> DataFrame:
        """Return all rows."""
        return reduce(lambda a, b: a.union(b), layers)


@dataclass(frozen=True, slots=True)
class AsBest:
    """Rows of which the best of each key is kept.

    A NaN is neither better nor worse than anything, so it is a key of its own.
    """

    arity: int
    keyed: Keyed

    @property
    def columns(self) -> tuple[int, ...]:
        """The key."""
        return self.keyed.key

    def _value(self) -> Column:
        from pyspark.sql import functions as F

        return in_order(F.col(f"c{self.keyed.value}"), self.keyed.kind)

    def _best(self, rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        keyed, names = self.keyed, names_of(self.arity)
        keys: list[Column] = [F.col(f"c{i}") for i in keyed.key]
        if keyed.kind is Kind.FLOAT:
            keys.append(F.isnan(F.col(f"c{keyed.value}")).alias("nan"))
        others = [i for i in range(self.arity) if i != keyed.value and i not in keyed.key]
        ranked = F.struct(self._value().alias("value"), *(F.col(f"c{i}") for i in others))
        chosen = F.max(ranked) if keyed.greatest else F.min(ranked)
        if not others:
            chosen = F.max(self._value()) if keyed.greatest else F.min(self._value())
        found = rows.groupBy(*keys).agg(chosen.alias("best"))
        best = F.col("best.value") if others else F.col("best")
        columns: dict[int, Column] = {i: F.col(f"c{i}") for i in keyed.key}
        columns |= {i: F.col(f"best.c{i}") for i in others}
        columns[keyed.value] = F.coalesce(in_order(best, keyed.kind), zero(keyed.kind))
        return found.select(*(columns[i].alias(names[i]) for i in range(self.arity)))

    def new(self, derived: DataFrame, known: DataFrame | None, hint: str) -> DataFrame:
        """Return what is better than all that is known of its key."""
        from pyspark.sql import functions as F

        found = self._best(derived)
        if known is None:
            return found
        keyed = self.keyed
        there = known.select(
            *(F.col(f"c{i}").alias(f"k{i}") for i in keyed.key),
            self._value().alias("there"),
        )
        test = (
            F.col("there") >= self._value() if keyed.greatest else F.col("there") <= self._value()
        )
        if keyed.kind is Kind.FLOAT:
            test = test & (F.isnan("there") == F.isnan(F.col(f"c{keyed.value}")))
        for i in keyed.key:
            test = test & (F.col(f"c{i}") == F.col(f"k{i}"))
        return found.join(there.hint(hint), test, "left_anti")

    def whole(self, layers: Sequence[DataFrame]) -> DataFrame:
        """Return the best row of each key."""
        if len(layers) == 1:
            return layers[0]
        return self._best(reduce(lambda a, b: a.union(b), layers))


@dataclass(slots=True)
class Stored:
    """The layers of one relation; the newest is the delta while there is one."""

    name: str
    merging: Merging
    keep: Keep
    layers: list[DataFrame] = field(default_factory=list)
    rows: int | None = 0
    """How many rows the layers have, None while nobody has counted."""
    new: int = 0
    """How many rows the newest layer has, if it is a delta."""

    dead: list[DataFrame] = field(default_factory=list)
    """Rows that others dominate: they are known, so that they do not come again, and not read."""

    def read(self, version: Version) -> DataFrame:
        """Return the rows of a version."""
        match version:
            case Version.DELTA:
                return self._living(self.layers[-1])
            case Version.OLD:
                older = self.layers[:-1] if self.new else self.layers
                none = self.layers[-1].limit(0)
                return self._living(self.merging.whole(older)) if older else none
            case _:
                return self._living(self.merging.whole(self.layers))

    def _living(self, rows: DataFrame) -> DataFrame:
        if not self.dead:
            return rows
        dead = reduce(lambda a, b: a.union(b), self.dead)
        return rows.join(dead.hint("shuffle_hash"), rows.columns, "left_anti")

    def bury(self, rows: DataFrame) -> None:
        """Read these rows no more."""
        if len(self.dead) > LAYERS:
            self.dead = [self.keep(reduce(lambda a, b: a.union(b), self.dead))]
        self.dead.append(self.keep(rows))

    def settle(self) -> None:
        """Say that no more rows come."""
        self.new = 0
        if self.dead or (isinstance(self.merging, AsBest) and len(self.layers) > 1):
            self.layers = [self.keep(self.read(Version.ALL))]
            self.dead = []
            self.rows = None  # the layers had rows that count no more

    def fresh(self, derived: DataFrame, hint: str) -> DataFrame:
        """Return what is new among what was derived."""
        known = reduce(lambda a, b: a.union(b), self.layers) if self.layers else None
        return self.merging.new(derived, known, hint)

    def add(self, layer: DataFrame, count: int) -> None:
        """Take in the new rows of a round."""
        self.new = count
        if not count:
            return
        if self.rows is not None:
            self.rows += count
        if len(self.layers) > LAYERS:
            self.layers = [self.keep(self.merging.whole(self.layers))]
        self.layers.append(layer)
