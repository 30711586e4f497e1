"""Lineage of each function of RDDs is what the function means, element by element."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from lineage.capture.captured import Name, expected, rows_of
from whence.lineage.capture.tracer import Tracer

pytestmark = pytest.mark.spark

LEFT = [("a", 0), ("b", 1), ("a", 2), ("c", 3), ("b", 4), ("a", 5)]
RIGHT = [("a", "x"), ("b", "y"), ("a", "z"), ("d", "w")]
SHIFT = 33


def place(space: str, rows: int, row: int) -> Name:
    """The name of a row in one of two partitions, which `parallelize` cuts in the middle."""
    half = rows // 2
    return (space, row) if row < half else (space, (1 << SHIFT) + row - half)


def of_left(*rows: int) -> list[Name]:
    return [place("left", len(LEFT), row) for row in rows]


def of_right(*rows: int) -> list[Name]:
    return [place("right", len(RIGHT), row) for row in rows]


def of_key(key: str) -> list[int]:
    return [v for k, v in LEFT if k == key]


def inner(keep_left: bool = False, keep_right: bool = False) -> list[tuple[Any, list[Name]]]:
    out: list[tuple[Any, list[Name]]] = []
    for i, (k, v) in enumerate(LEFT):
        there = [(j, w) for j, (key, w) in enumerate(RIGHT) if key == k]
        out += [((k, (v, w)), [*of_left(i), *of_right(j)]) for j, w in there]
        if keep_left and not there:
            out.append(((k, (v, None)), of_left(i)))
    if keep_right:
        out += [((k, (None, w)), of_right(j)) for j, (k, w) in enumerate(RIGHT) if k == "d"]
    return out


Made = Callable[[Any, Any], Any]
Meant = Callable[[], Iterable[tuple[Any, Iterable[Name]]]]

CASES: dict[str, tuple[Made, Meant]] = {
    "map": (
        lambda left, right: left.map(lambda pair: pair[1] + 1),
        lambda: [(v + 1, of_left(v)) for _, v in LEFT],
    ),
    "filter": (
        lambda left, right: left.filter(lambda pair: pair[0] == "b"),
        lambda: [((k, v), of_left(v)) for k, v in LEFT if k == "b"],
    ),
    "flatMap": (
        lambda left, right: left.flatMap(lambda pair: range(pair[1] % 3)).map(str),
        lambda: [(str(n), of_left(v)) for _, v in LEFT for n in range(v % 3)],
    ),
    "reduceByKey": (
        lambda left, right: left.reduceByKey(lambda one, two: one + two),
        lambda: [((k, sum(of_key(k))), of_left(*of_key(k))) for k in "abc"],
    ),
    "shared by keys": (
        lambda left, right: left.flatMap(lambda pair: [(pair[0], 1), ("all", 1)]).reduceByKey(
            lambda one, two: one + two
        ),
        lambda: [
            *(((k, len(of_key(k))), of_left(*of_key(k))) for k in "abc"),
            (("all", 6), of_left(*range(6))),
        ],
    ),
    "groupByKey": (
        lambda left, right: left.groupByKey().mapValues(sorted).map(lambda p: (p[0], tuple(p[1]))),
        lambda: [((k, tuple(of_key(k))), of_left(*of_key(k))) for k in "abc"],
    ),
    "aggregateByKey": (
        lambda left, right: left.aggregateByKey(0, lambda s, v: s + v, lambda s, t: s + t),
        lambda: [((k, sum(of_key(k))), of_left(*of_key(k))) for k in "abc"],
    ),
    "twice by key": (
        lambda left, right: (
            left.reduceByKey(max)
            .map(lambda pair: (pair[1] % 2, 1))
            .reduceByKey(lambda one, two: one + two)
        ),
        lambda: [((1, 2), of_left(0, 2, 5, 3)), ((0, 1), of_left(1, 4))],
    ),
    "distinct": (
        lambda left, right: left.keys().distinct(),
        lambda: [(k, of_left(*of_key(k))) for k in "abc"],
    ),
    "join": (lambda left, right: left.join(right), lambda: inner()),
    "leftOuterJoin": (lambda left, right: left.leftOuterJoin(right), lambda: inner(True)),
    "rightOuterJoin": (lambda left, right: left.rightOuterJoin(right), lambda: inner(False, True)),
    "fullOuterJoin": (lambda left, right: left.fullOuterJoin(right), lambda: inner(True, True)),
    "join and reduce": (
        lambda left, right: (
            left.join(right).map(lambda p: (p[1][1], 1)).reduceByKey(lambda one, two: one + two)
        ),
        lambda: [
            ((w, len(of_key(k))), [*of_left(*of_key(k)), *of_right(j)])
            for j, (k, w) in enumerate(RIGHT)
            if of_key(k)
        ],
    ),
    "cogroup": (
        lambda left, right: left.cogroup(right).map(
            lambda p: (p[0], tuple(sorted(p[1][0])), tuple(sorted(p[1][1])))
        ),
        lambda: [
            (
                (key, tuple(of_key(key)), tuple(sorted(w for k, w in RIGHT if k == key))),
                [
                    *of_left(*of_key(key)),
                    *of_right(*(j for j, r in enumerate(RIGHT) if r[0] == key)),
                ],
            )
            for key in "abcd"
        ],
    ),
    "union": (
        lambda left, right: left.union(right),
        lambda: [
            *((p, of_left(i)) for i, p in enumerate(LEFT)),
            *((p, of_right(i)) for i, p in enumerate(RIGHT)),
        ],
    ),
    "sortBy": (
        lambda left, right: left.sortBy(lambda pair: -pair[1]),
        lambda: [((k, v), of_left(v)) for k, v in LEFT],
    ),
    "mapPartitions": (
        lambda left, right: left.mapPartitions(lambda values: [sum(v for _, v in values)]),
        lambda: [(3, of_left(0, 1, 2)), (12, of_left(3, 4, 5))],
    ),
    "cache": (
        lambda left, right: left.map(lambda pair: pair[1]).cache().filter(lambda v: v > 3),
        lambda: [(v, of_left(v)) for _, v in LEFT if v > 3],
    ),
}


def sources(tracer: Tracer) -> tuple[Any, Any]:
    return (
        tracer.parallelize(LEFT, 2, name="left"),
        tracer.parallelize(RIGHT, 2, name="right"),
    )


@pytest.mark.parametrize("name", CASES)
def test_elements_come_from_what_the_function_took(
    tracing: Callable[..., Tracer], name: str
) -> None:
    made, meant = CASES[name]
    tracer = tracing()
    found = made(*sources(tracer)).collect()
    assert rows_of(tracer, found, {"left", "right"}) == expected(meant())


def test_totals_come_from_all_elements(tracing: Callable[..., Tracer]) -> None:
    tracer = tracing()
    left, _ = sources(tracer)
    some = left.filter(lambda pair: pair[0] == "a").map(lambda pair: pair[1])
    assert some.reduce(lambda one, two: one + two) == 7
    space = next(s for s in _spaces(tracer) if "reduce" in s)
    assert rows_of(tracer, [7], {"left"}, space) == expected([(7, of_left(0, 2, 5))])


def _spaces(tracer: Tracer) -> set[str]:
    from lineage.capture.captured import edges

    return {edge.source[0] for edge in edges(tracer)}


def test_those_taken_first_come_from_their_own(tracing: Callable[..., Tracer]) -> None:
    tracer = tracing()
    left, _ = sources(tracer)
    found = left.map(lambda pair: pair[1]).take(4)
    assert rows_of(tracer, found, {"left"}) == expected([(n, of_left(n)) for n in range(4)])
