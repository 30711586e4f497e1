"""A traced RDD: `map`, `filter` and `flatMap` become steps of one chain, run with the next shuffle.

Elements that were shuffled travel as pairs with their references; see `keyed.py` for functions
that bring elements together.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from whence.lineage.capture import faults
from whence.lineage.capture.datasets import Mark, output_name, write_mark
from whence.lineage.capture.executions import Place, of_one, of_rows
from whence.lineage.capture.rdds.cell import Chain, Step, used_of
from whence.lineage.capture.rdds.keyed import Keyed
from whence.lineage.capture.staging import Numbers, Operator

if TYPE_CHECKING:
    from pyspark import RDD

    from whence.lineage.capture.tracer import Tracer


class TracedRDD(Keyed):
    """An RDD whose lineage is captured; made by a tracer."""

    def __init__(
        self, tracer: Tracer, base: RDD[Any], chain: Chain, operators: Sequence[Operator] = ()
    ) -> None:
        self._tracer = tracer
        self._base = base
        self._chain = chain
        self._operators = tuple(dict.fromkeys(operators))

    # ── elements that stay apart ──

    def map(self, f: Callable[[Any], Any], preservesPartitioning: bool = False) -> TracedRDD:
        """Spark's `map`."""
        from pyspark.util import fail_on_stopiteration

        checked = fail_on_stopiteration(f)
        return self._then(lambda values: map(checked, values))

    def filter(self, f: Callable[[Any], bool]) -> TracedRDD:
        """Spark's `filter`."""
        from pyspark.util import fail_on_stopiteration

        checked = fail_on_stopiteration(f)
        return self._then(lambda values: filter(checked, values))

    def flatMap(
        self, f: Callable[[Any], Iterable[Any]], preservesPartitioning: bool = False
    ) -> TracedRDD:
        """Spark's `flatMap`."""
        from pyspark.util import fail_on_stopiteration

        checked = fail_on_stopiteration(f)
        return self._then(lambda values: itertools.chain.from_iterable(map(checked, values)))

    def mapValues(self, f: Callable[[Any], Any]) -> TracedRDD:
        """Spark's `mapValues`."""
        return self.map(lambda pair: (pair[0], f(pair[1])))

    def flatMapValues(self, f: Callable[[Any], Iterable[Any]]) -> TracedRDD:
        """Spark's `flatMapValues`."""
        return self.flatMap(lambda pair: ((pair[0], value) for value in f(pair[1])))

    def keyBy(self, f: Callable[[Any], Any]) -> TracedRDD:
        """Spark's `keyBy`."""
        return self.map(lambda value: (f(value), value))

    def keys(self) -> TracedRDD:
        """Spark's `keys`."""
        return self.map(lambda pair: pair[0])

    def values(self) -> TracedRDD:
        """Spark's `values`."""
        return self.map(lambda pair: pair[1])

    def sortBy(
        self,
        keyfunc: Callable[[Any], Any],
        ascending: bool = True,
        numPartitions: int | None = None,
    ) -> TracedRDD:
        """Spark's `sortBy`: each element comes from its own."""
        pairs = self._pairs().sortBy(lambda pair: keyfunc(pair[1]), ascending, numPartitions)
        return self._paired(pairs)

    def sortByKey(
        self,
        ascending: bool = True,
        numPartitions: int | None = None,
        keyfunc: Callable[[Any], Any] = lambda key: key,
    ) -> TracedRDD:
        """Spark's `sortByKey`."""
        return self.sortBy(lambda pair: keyfunc(pair[0]), ascending, numPartitions)

    def repartition(self, numPartitions: int) -> TracedRDD:
        """Spark's `repartition`."""
        return self._paired(self._pairs().repartition(numPartitions))

    def coalesce(self, numPartitions: int, shuffle: bool = False) -> TracedRDD:
        """Spark's `coalesce`."""
        return self._paired(self._pairs().coalesce(numPartitions, shuffle))

    def cache(self) -> TracedRDD:
        """Spark's `cache`: elements are kept with where they come from."""
        return self._paired(self._pairs().cache())

    def persist(self, *level: Any) -> TracedRDD:
        """Spark's `persist`."""
        return self._paired(self._pairs().persist(*level))

    def unpersist(self, blocking: bool = False) -> TracedRDD:
        """Spark's `unpersist`."""
        self._base.unpersist(blocking)
        return self

    def getNumPartitions(self) -> int:
        """Spark's `getNumPartitions`."""
        return self._base.getNumPartitions()

    @property
    def untraced(self) -> RDD[Any]:
        """The RDD as Spark's own; what is made of it has no lineage."""
        chain = self._chain
        return self._base.mapPartitionsWithIndex(lambda i, values: chain.run(i, values, [None]))

    # ── functions over partitions ──

    def mapPartitions(
        self, f: Callable[[Iterator[Any]], Iterable[Any]], preservesPartitioning: bool = False
    ) -> TracedRDD:
        """Spark's `mapPartitions`: what a partition gives comes from all its elements."""
        return self.mapPartitionsWithIndex(lambda _, values: f(values))

    def mapPartitionsWithIndex(
        self, f: Callable[[int, Iterator[Any]], Iterable[Any]], preservesPartitioning: bool = False
    ) -> TracedRDD:
        """Spark's `mapPartitionsWithIndex`."""
        operator = self._tracer.operator("mapPartitions", Numbers.OWN)
        chain, desk = self._chain, self._tracer.publisher.desk

        def run(partition: int, elements: Iterable[Any]) -> Iterator[Any]:
            from whence.lineage.capture.frames.mapped import attempt_number, stage_whole

            cell: list[Any] = [None]
            seen: list[Any] = []
            own = attempt_number()

            def watched() -> Iterator[Any]:
                for value in chain.run(partition, elements, cell):
                    seen.append(cell[0])
                    yield value

            for out in f(partition, watched()):
                yield own, out
            import numpy as np

            used = used_of(chain.spaces, seen, np.zeros(len(seen), np.int64))
            stage_whole(desk, operator, used, own)

        found = self._base.mapPartitionsWithIndex(run)
        return self._made(found, (operator.inner,), [operator])

    # ── ways out ──

    def _sunk(self, operator: Operator, made: str) -> RDD[Any]:
        """Return Spark's own RDD; when its elements are computed, their edges are written."""
        chain, desk = self._chain, self._tracer.publisher.desk

        def run(partition: int, elements: Iterable[Any]) -> Iterator[Any]:
            cell: list[Any] = [None]
            seen: list[Any] = []
            for value in chain.run(partition, elements, cell):
                seen.append(cell[0])
                yield value
            if seen:
                used = used_of(chain.spaces, seen)
                desk.stage(operator, [of_rows(operator.name, made, used, 0, desk.place())])

        return self._base.mapPartitionsWithIndex(run)

    def collect(self) -> list[Any]:
        """Spark's `collect`; elements are the entities `JOB/collect-N/row/…`."""
        operator = self._tracer.operator("collect", Numbers.OWN)
        rdd = self._sunk(operator, f"{operator.name}/row")
        return list(self._tracer.act((*self._operators, operator), rdd.collect))

    def collectAsMap(self) -> dict[Any, Any]:
        """Spark's `collectAsMap`."""
        return dict(self.collect())

    def take(self, num: int) -> list[Any]:
        """Spark's `take`."""
        operator = self._tracer.operator("take", Numbers.OWN)
        pairs = self._settled()._pairs()
        found = self._tracer.act(self._operators, lambda: pairs.take(num))
        if found:
            used = used_of(self._chain.spaces, [pair[0] for pair in found])
            rows = of_rows(operator.name, f"{operator.name}/row", used, 0, _here())
            self._tracer.publisher.append(rows)
        return [pair[1] for pair in found]

    def first(self) -> Any:
        """Spark's `first`."""
        found = self.take(1)
        if not found:
            raise ValueError("RDD is empty")
        return found[0]

    def count(self) -> int:
        """Spark's `count`; the number, `JOB/count-N/0`, comes from all elements."""
        return sum(self._total("count", lambda values: sum(1 for _ in values)))

    def reduce(self, f: Callable[[Any, Any], Any]) -> Any:
        """Spark's `reduce`; the value, `JOB/reduce-N/0`, comes from all elements."""
        import functools

        nothing = object()

        def fold(values: Iterator[Any]) -> list[Any]:
            first = next(values, nothing)
            return [] if first is nothing else [functools.reduce(f, values, first)]

        found = [value for part in self._total("reduce", fold) for value in part]
        if not found:
            raise ValueError("Can not reduce() empty RDD")
        return functools.reduce(f, found)

    def _total(self, name: str, fold: Callable[[Iterator[Any]], Any]) -> list[Any]:
        """Return what each partition folds into, and tell that the total comes from all of them."""
        operator = self._tracer.operator(name, Numbers.OWN)
        parts = self.mapPartitions(lambda values: [fold(values)])
        pairs = parts._pairs()
        found = self._tracer.act(parts._operators, pairs.collect)
        used = used_of(parts._chain.spaces, [pair[0] for pair in found], [0] * len(found))
        whole = of_one(operator.name, operator.name, 0, used, _here())
        self._tracer.publisher.append(whole)
        return [pair[1] for pair in found]

    def saveAsTextFile(self, path: str, *codec: Any) -> None:
        """Spark's `saveAsTextFile`; a line is known by its part file and its position."""
        tracer = self._tracer
        name = output_name(tracer, path)
        operator = tracer.operator("saveAsTextFile", Numbers.OWN)
        # A value may hold line breaks, and then be several lines when it is read again.
        rdd = self.map(_one_line)._sunk(operator, name)

        def write() -> None:
            rdd.saveAsTextFile(path, *codec)
            write_mark(tracer.spark, path, Mark(name, tracer.workflow, tracer.job))

        with _several_lines_told():
            tracer.act((*self._operators, operator), write)

    def __getattr__(self, name: str) -> Any:
        from pyspark import RDD

        if not name.startswith("_") and hasattr(RDD, name):
            raise faults.not_traced(f"RDD.{name}")
        raise AttributeError(name)

    # ── for the functions that bring elements together ──

    def _then(self, step: Step) -> TracedRDD:
        old = self._chain
        chain = Chain(old.spaces, old.paired, (*old.steps, step), old.sample)
        return TracedRDD(self._tracer, self._base, chain, self._operators)

    def _pairs(self) -> RDD[Any]:
        """Return pairs of a reference and a value."""
        chain = self._chain
        if chain.paired and not chain.steps:
            return self._base

        def run(partition: int, elements: Iterable[Any]) -> Iterator[Any]:
            cell: list[Any] = [None]
            for value in chain.run(partition, elements, cell):
                yield cell[0], value

        return self._base.mapPartitionsWithIndex(run)

    def _paired(self, pairs: RDD[Any]) -> TracedRDD:
        return self._made(pairs, self._chain.spaces, ())

    def _made(
        self, pairs: RDD[Any], spaces: tuple[str, ...], operators: Sequence[Operator]
    ) -> TracedRDD:
        chain = Chain(spaces, paired=True)
        return TracedRDD(self._tracer, pairs, chain, (*self._operators, *operators))

    def _settled(self) -> TracedRDD:
        """Return the RDD so that a task which stops early has still told all it used."""
        own = any(operator.numbers is Numbers.OWN for operator in self._operators)
        return self.cache() if own else self


_SEVERAL: Final = "whence: several lines: "


def _one_line(value: Any) -> Any:
    text = value if isinstance(value, str) else str(value)
    return text if "\n" not in text and "\r" not in text else _refuse(text)


def _refuse(text: str) -> Any:
    raise ValueError(f"{_SEVERAL}{text[:60]!r}{_SEVERAL}")


@contextlib.contextmanager
def _several_lines_told() -> Iterator[None]:
    """Tell of an element of several lines what a task has found, without the ways it went."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        _, found, rest = str(error).partition(_SEVERAL)
        if not found:
            raise
        raise faults.several_lines(rest.partition(_SEVERAL)[0]) from None


def _here() -> Place:
    from datetime import UTC, datetime

    return Place(0, 0, datetime.now(UTC))
