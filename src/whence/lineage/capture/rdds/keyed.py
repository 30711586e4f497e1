"""Traced RDDs brought together by key: combining, grouping, joining, uniting.

Each task combines its elements of a key into a part, and writes what the part used; parts travel
with their numbers, and what they come to uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from whence.lineage.capture import faults
from whence.lineage.capture.executions import Place, Used, of_sets
from whence.lineage.capture.rdds.cell import Chain, nothing, used_of
from whence.lineage.capture.staging import Desk, Operator

if TYPE_CHECKING:
    from pyspark import RDD

    from whence.lineage.capture.rdds.rdd import TracedRDD
    from whence.lineage.capture.tracer import Tracer

HELD: Final = 1 << 21
"""Elements that a task combines before it gives the parts away."""

_Combiner = tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]


class Keyed:
    """The functions of a traced RDD that bring elements together."""

    _tracer: Tracer
    _base: RDD[Any]
    _chain: Chain
    _operators: tuple[Operator, ...]

    if TYPE_CHECKING:

        def map(self, f: Callable[[Any], Any]) -> TracedRDD: ...
        def _pairs(self) -> RDD[Any]: ...
        def _made(
            self, pairs: RDD[Any], spaces: tuple[str, ...], operators: Sequence[Operator]
        ) -> TracedRDD: ...

    def combineByKey(
        self,
        createCombiner: Callable[[Any], Any],
        mergeValue: Callable[[Any, Any], Any],
        mergeCombiners: Callable[[Any, Any], Any],
        numPartitions: int | None = None,
        *_: Any,
    ) -> TracedRDD:
        """Spark's `combineByKey`: what a key comes to comes from all its elements."""
        return self._combined(
            "combineByKey", createCombiner, mergeValue, mergeCombiners, numPartitions
        )

    def reduceByKey(
        self, func: Callable[[Any, Any], Any], numPartitions: int | None = None, *_: Any
    ) -> TracedRDD:
        """Spark's `reduceByKey`."""
        return self._combined("reduceByKey", None, func, func, numPartitions)

    def foldByKey(
        self, zeroValue: Any, func: Callable[[Any, Any], Any], numPartitions: int | None = None
    ) -> TracedRDD:
        """Spark's `foldByKey`."""
        return self.aggregateByKey(zeroValue, func, func, numPartitions)

    def aggregateByKey(
        self,
        zeroValue: Any,
        seqFunc: Callable[[Any, Any], Any],
        combFunc: Callable[[Any, Any], Any],
        numPartitions: int | None = None,
        *_: Any,
    ) -> TracedRDD:
        """Spark's `aggregateByKey`."""
        import copy

        return self._combined(
            "aggregateByKey",
            lambda value: seqFunc(copy.deepcopy(zeroValue), value),
            seqFunc,
            combFunc,
            numPartitions,
        )

    def groupByKey(self, numPartitions: int | None = None, *_: Any) -> TracedRDD:
        """Spark's `groupByKey`."""
        from pyspark.resultiterable import ResultIterable

        found = self._combined("groupByKey", lambda v: [v], _append, _extend, numPartitions)
        return found.map(lambda pair: (pair[0], ResultIterable(pair[1])))

    def distinct(self, numPartitions: int | None = None) -> TracedRDD:
        """Spark's `distinct`: an element comes from all that are equal to it."""
        keyed = self.map(lambda value: (value, None))
        first = keyed._combined("distinct", None, _first, _first, numPartitions)
        return first.map(lambda pair: pair[0])

    def cogroup(self, other: Any, numPartitions: int | None = None) -> TracedRDD:
        """Spark's `cogroup`: the values of a key come from all elements of the key."""
        from pyspark.resultiterable import ResultIterable

        mine = self.map(lambda pair: (pair[0], (0, pair[1])))
        its = self._same_tracer(other).map(lambda pair: (pair[0], (1, pair[1])))

        def create(tagged: tuple[int, Any]) -> tuple[list[Any], list[Any]]:
            return add(([], []), tagged)

        def add(found: tuple[list[Any], list[Any]], tagged: Any) -> tuple[list[Any], list[Any]]:
            found[tagged[0]].append(tagged[1])
            return found

        def merge(one: Any, two: Any) -> Any:
            return one[0] + two[0], one[1] + two[1]

        found = mine.union(its)._combined("cogroup", create, add, merge, numPartitions)
        return found.map(
            lambda pair: (pair[0], (ResultIterable(pair[1][0]), ResultIterable(pair[1][1])))
        )

    def groupWith(self, other: Any) -> TracedRDD:
        """Spark's `groupWith`, of two."""
        return self.cogroup(other)

    def join(self, other: Any, numPartitions: int | None = None) -> TracedRDD:
        """Spark's `join`: a pair comes from the two elements that it joins."""
        return self._joined(other, False, False, numPartitions)

    def leftOuterJoin(self, other: Any, numPartitions: int | None = None) -> TracedRDD:
        """Spark's `leftOuterJoin`."""
        return self._joined(other, True, False, numPartitions)

    def rightOuterJoin(self, other: Any, numPartitions: int | None = None) -> TracedRDD:
        """Spark's `rightOuterJoin`."""
        return self._joined(other, False, True, numPartitions)

    def fullOuterJoin(self, other: Any, numPartitions: int | None = None) -> TracedRDD:
        """Spark's `fullOuterJoin`."""
        return self._joined(other, True, True, numPartitions)

    def union(self, other: Any) -> TracedRDD:
        """Spark's `union`: each element comes from its own."""
        its = self._same_tracer(other)
        spaces = tuple(dict.fromkeys((*self._chain.spaces, *its._chain.spaces)))
        if max(map(len, (set(self._chain.spaces), set(its._chain.spaces)))) < max(
            len(self._chain.spaces), len(its._chain.spaces)
        ):  # a space twice, after a join of an RDD with itself: keep both
            spaces = (*self._chain.spaces, *its._chain.spaces)
            places = range(len(self._chain.spaces)), range(len(self._chain.spaces), len(spaces))
        else:
            places = tuple([spaces.index(s) for s in c._chain.spaces] for c in (self, its))  # type: ignore[assignment]
        mine, theirs = (
            _widened(side._pairs(), len(side._chain.spaces), tuple(place), len(spaces))
            for side, place in zip((self, its), places, strict=True)
        )
        return self._made(mine.union(theirs), spaces, its._operators)

    def _same_tracer(self, other: Any) -> TracedRDD:
        from whence.lineage.capture.rdds.rdd import TracedRDD

        if not isinstance(other, TracedRDD) or other._tracer is not self._tracer:
            raise faults.mixed("this")
        return other

    def _joined(self, other: Any, left: bool, right: bool, parts: int | None) -> TracedRDD:
        its = self._same_tracer(other)
        spaces = (*self._chain.spaces, *its._chain.spaces)
        missing = (nothing(self._chain.spaces), None), (nothing(its._chain.spaces), None)
        flat = len(self._chain.spaces) == 1, len(its._chain.spaces) == 1

        def match(found: Any) -> Iterator[Any]:
            key, (mine, theirs) = found
            ours = list(mine) or ([missing[0]] if right else [])
            others = list(theirs) or ([missing[1]] if left else [])
            for one, value in ours:
                for two, its_value in others:
                    reference = (
                        *((one,) if flat[0] else one),
                        *((two,) if flat[1] else two),
                    )
                    yield reference, (key, (value, its_value))

        pairs = _by_key(self._pairs()).cogroup(_by_key(its._pairs()), parts).flatMap(match)
        return self._made(pairs, spaces, its._operators)

    def _combined(
        self,
        name: str,
        create: Callable[[Any], Any] | None,
        merge: Callable[[Any, Any], Any],
        merge_parts: Callable[[Any, Any], Any],
        partitions: int | None,
    ) -> TracedRDD:
        whole = self._tracer.operator(name)
        operator = Operator(f"{whole.name}/part", part=whole.part)
        desk = self._tracer.publisher.desk
        chain = self._chain

        def combine(partition: int, elements: Iterable[Any]) -> Iterator[Any]:
            return _parts(partition, elements, chain, desk, operator, create, merge)

        def both(one: Any, two: Any) -> Any:
            one[0].extend(two[0])
            return one[0], merge_parts(one[1], two[1])

        def more(one: Any, part: Any) -> Any:
            one[0].append(part[0])
            return one[0], merge_parts(one[1], part[1])

        def results(partition: int, elements: Iterable[Any]) -> Iterator[Any]:
            return _results(elements, desk, whole, operator.inner)

        parts = self._base.mapPartitionsWithIndex(combine)
        shuffled = parts.combineByKey(lambda p: ([p[0]], p[1]), more, both, partitions)
        pairs = shuffled.mapPartitionsWithIndex(results)
        return self._made(pairs, (whole.inner,), [operator, whole])


def _parts(
    partition: int,
    elements: Iterable[Any],
    chain: Chain,
    desk: Desk,
    operator: Operator,
    create: Callable[[Any], Any] | None,
    merge: Callable[[Any, Any], Any],
) -> Iterator[Any]:
    """Combine the elements of a task by key; give keys with the number of their part and value."""
    cell: list[Any] = [None]
    written: list[Any] = []
    first = 0
    place = desk.place()
    values = chain.run(partition, elements, cell)
    more = True
    while more:
        index: dict[Any, int] = {}
        combined: list[Any] = []
        rows: list[int] = []
        seen: list[Any] = []
        more = False
        for key, value in values:
            at = index.get(key)
            if at is None:
                at = index[key] = len(combined)
                combined.append(value if create is None else create(value))
            else:
                combined[at] = merge(combined[at], value)
            rows.append(at)
            seen.append(cell[0])
            if len(rows) >= HELD:
                more = True
                break
        if not rows:
            break
        numbers, batch = _told(operator, chain, rows, seen, len(combined), first, place)
        written.append(batch)
        first += len(combined)
        for key, number, value in zip(index, numbers, combined, strict=True):
            yield key, (number, value)
    desk.stage(operator, written)


def _told(
    operator: Operator,
    chain: Chain,
    rows: list[int],
    seen: list[Any],
    count: int,
    first: int,
    place: Place,
) -> tuple[list[Any], Any]:
    """Return the numbers of parts, None for those that used nothing, and their edges.

    Parts are numbered by what they used, not by when they came: a task that runs again and is
    given its elements in another order gives the same numbers to the same lineage.
    """
    import numpy as np

    used = used_of(chain.spaces, seen, rows)
    mixed = np.zeros(count, np.uint64)
    some = np.zeros(count, bool)
    for place_of, each in enumerate(used):
        odd = np.uint64(0x9E3779B97F4A7C15 + 2 * place_of)
        numbers = each.numbers.astype(np.uint64) + np.uint64(1)
        value = (numbers ^ (numbers >> np.uint64(31))) * odd
        value = (value ^ (value >> np.uint64(29))) * odd
        np.add.at(mixed, each.rows, value)
        some[each.rows] = True
    rank = np.empty(count, np.int64)
    rank[np.argsort(mixed, kind="stable")] = np.arange(count)
    moved = [Used(u.space, rank[u.rows], u.numbers) for u in used]
    from whence.lineage.capture.executions import of_rows

    batch = of_rows(operator.name, operator.inner, moved, first, place)
    numbers = place.number(first + rank)
    told = [number if there else None for number, there in zip(numbers.tolist(), some, strict=True)]
    return told, batch


def _results(elements: Iterable[Any], desk: Desk, whole: Operator, source: str) -> Iterator[Any]:
    """Give what keys came to, each with the least number of its parts, which no other has."""
    import numpy as np

    made: list[int] = []
    lengths: list[int] = []
    parts: list[int] = []
    for key, (numbers, value) in elements:
        there = sorted(number for number in numbers if number is not None)
        if there:
            made.append(there[0])
            lengths.append(len(there))
            parts.extend(there)
        yield (there[0] if there else None), (key, value)
    used = Used(source, np.empty(0, np.int64), np.array(parts, np.int64))
    outputs = np.array(made, np.int64)
    batch = of_sets(
        whole.name, whole.inner, outputs, np.array(lengths, np.int64), used, desk.place()
    )
    desk.stage(whole, [batch])


def _by_key(pairs: RDD[Any]) -> RDD[Any]:
    return pairs.map(lambda pair: (pair[1][0], (pair[0], pair[1][1])))


def _widened(pairs: RDD[Any], old: int, places: tuple[int, ...], width: int) -> RDD[Any]:
    """Return the pairs with references of more spaces."""
    if width == 1:
        return pairs

    def widen(pair: Any) -> Any:
        reference: list[Any] = [None] * width
        for place, number in zip(places, pair[0] if old > 1 else (pair[0],), strict=True):
            reference[place] = number
        return tuple(reference), pair[1]

    return pairs.map(widen)


def _append(values: list[Any], value: Any) -> list[Any]:
    values.append(value)
    return values


def _extend(values: list[Any], more: list[Any]) -> list[Any]:
    values.extend(more)
    return values


def _first(one: Any, _: Any) -> Any:
    return one
