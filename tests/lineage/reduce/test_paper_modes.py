"""The paper's modes give what the paper says: grouping exact on its assumptions, window inexact."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.reduce.streams import Stream, in_batches, pairs, streams
from lineage.reduce.test_exact import EXAMPLES
from whence.diagnostics import UsageError
from whence.lineage.events import Edge, Kind, batch_of
from whence.lineage.reduce import definition, reduce
from whence.lineage.reduce.disorder import accuracy, disordered
from whence.lineage.reduce.grouping import Grouping
from whence.lineage.reduce.local_global import LocalGlobal, Settings
from whence.lineage.reduced import Link, pairs_of, reduced_of


def groups_of(edges: tuple[Edge, ...]) -> list[list[Edge]]:
    found: dict[int, list[Edge]] = {}
    for edge in edges:
        if edge.kind is not Kind.END:
            found.setdefault(edge.group, []).append(edge)
    return list(found.values())


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data(), streams(declared=False, once=True))
def test_grouping_is_exact_if_groups_are_whole_and_entities_are_used_once(
    data: st.DataObject, stream: Stream
) -> None:
    edges = [e for group in data.draw(st.permutations(groups_of(stream.edges))) for e in group]
    reducer = Grouping()
    for batch in in_batches(edges, 3):
        reducer.add(batch)
    found = pairs(list(reducer.finish()))
    wanted = definition.pairs(edges)
    assert found >= wanted
    # What else is there ends in something that was made of nothing, or led nowhere.
    assert all(pair in wanted for pair in found if _complete(pair, edges))


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data(), streams(declared=False, once=True), st.integers(1, 4), st.integers(1, 6))
def test_grouping_is_as_exact_in_partitions_with_flushes(
    data: st.DataObject, stream: Stream, partitions: int, size: int
) -> None:
    edges = [e for group in data.draw(st.permutations(groups_of(stream.edges))) for e in group]
    asked = {"mode": "grouping", "partitions": partitions, "local_batch": size}
    found = pairs_of(reduce(in_batches(edges, 3), **asked).table)  # type: ignore[arg-type]
    wanted = definition.pairs(edges)
    assert found >= wanted
    assert all(pair in wanted for pair in found if _complete(pair, edges))


def execution(activity: str, used: str, made: str, group: int) -> list[Edge]:
    return [
        Edge(Kind.USED, (activity, 1), (used, 1), group),
        Edge(Kind.GENERATED, (made, 1), (activity, 1), group + 1),
    ]


def test_edges_of_a_flush_meet_an_edge_of_the_global_state_from_both_sides() -> None:
    reducer = LocalGlobal(2, Settings(mode="grouping"))
    reducer.add(0, batch_of(execution("combine", "pairs", "partials", 0)))
    reducer.flush(0)
    last = [*execution("reduce", "partials", "counts", 2), *execution("map", "tweets", "pairs", 4)]
    reducer.add(1, batch_of(last))
    assert pairs(list(reducer.finish())) == {(("counts", 1), ("tweets", 1))}


def test_executions_that_a_local_reducer_joined_stay_joined() -> None:
    reducer = LocalGlobal(1, Settings(mode="grouping"))
    first, second = execution("map", "tweets", "pairs", 0), execution("reduce", "pairs", "out", 2)
    for edges in (first[:1], [first[1], second[0]], second[1:]):
        reducer.add(0, batch_of(edges))
        reducer.flush(0, over=True)
    assert pairs(list(reducer.finish())) == {(("out", 1), ("tweets", 1))}


def _complete(pair: object, edges: list[Edge]) -> bool:
    output, input_ = pair  # type: ignore[misc]
    made = {e.source for e in edges if e.kind is Kind.GENERATED}
    used = {e.target for e in edges if e.kind is Kind.USED}
    return output not in used and input_ not in made


def test_grouping_loses_what_an_entity_used_twice_should_give() -> None:
    edges = [Edge(Kind.DERIVED, ("mid", 1), ("in", 1))]
    edges += [Edge(Kind.DERIVED, ("out", n), ("mid", 1)) for n in (1, 2)]
    found = reduce([batch_of(edges)], mode="grouping").table
    assert len(pairs_of(found) & definition.pairs(edges)) == 1
    assert pairs_of(reduce([batch_of(edges)]).table) == definition.pairs(edges)


def test_grouping_waits_for_the_rest_of_a_group_in_the_next_batch() -> None:
    edges = [Edge(Kind.USED, ("f", 1), ("in", 1), 0)]
    edges += [Edge(Kind.GENERATED, ("out", n), ("f", 1), 1) for n in range(5)]
    found = reduce(in_batches(edges, 2), mode="grouping").table
    assert pairs_of(found) == definition.pairs(edges)


def test_early_elimination_loses_what_is_not_grouped_and_has_left_the_window() -> None:
    edges = [Edge(Kind.USED, ("f", 1), ("in", 1))]
    edges += [Edge(Kind.GENERATED, ("out", n), ("f", 1)) for n in range(4)]
    wanted = definition.pairs(edges)
    assert pairs_of(reduce([batch_of(edges)], mode="window", window=10).table) == wanted
    lost = pairs_of(reduce([batch_of(edges)], mode="window", window=2).table)
    assert len(lost & wanted) == 2


def test_the_ordered_baseline_is_right_in_order_only() -> None:
    edges = [Edge(Kind.USED, ("f", 1), ("in", n)) for n in range(3)]
    edges += [Edge(Kind.GENERATED, ("out", 1), ("f", 1))]
    assert pairs_of(reduce([batch_of(edges)], mode="ordered").table) == definition.pairs(edges)
    assert pairs_of(reduce([batch_of(edges[::-1])], mode="ordered").table) == set()


def trace(tweets: int) -> pa.RecordBatch:
    """Hashtag counts, in order, each entity used once."""
    chance = random.Random(1)
    edges: list[Edge] = []
    pairs_: dict[int, list[int]] = {}
    for tweet in range(tweets):
        group = 2 * tweet
        edges.append(Edge(Kind.USED, ("map", tweet), ("tweets", tweet), group))
        for _ in range(chance.randint(1, 3)):
            number = sum(map(len, pairs_.values()))
            pairs_.setdefault(min(chance.randint(0, 30), chance.randint(0, 30)), []).append(number)
            edges.append(Edge(Kind.GENERATED, ("pairs", number), ("map", tweet), group + 1))
    for tag, numbers in pairs_.items():
        group = 2 * (tweets + tag)
        edges += [Edge(Kind.USED, ("count", tag), ("pairs", n), group) for n in numbers]
        edges.append(Edge(Kind.GENERATED, ("counts", tag), ("count", tag), group + 1))
    return batch_of(edges)


def test_disorder_costs_the_window_and_the_ordered_baseline_but_not_grouping_or_exact() -> None:
    batch = trace(300)
    truth = reduce([batch]).table
    moved = disordered(batch, 40, seed=3)
    right = {
        mode: [accuracy(reduce([b], mode=mode, window=50).table, truth) for b in (batch, moved)]
        for mode in ("exact", "grouping", "window", "ordered")
    }
    for mode in right:
        assert right[mode][0].recall == 1.0
    for mode in ("exact", "grouping"):
        assert right[mode][1].recall == right[mode][1].precision == 1.0
    assert right["ordered"][1].recall < right["window"][1].recall < 1.0


@given(st.integers(0, 100), st.integers(0, 5), st.sampled_from(["group", "edge"]))
def test_disorder_moves_elements_and_loses_none(percent: int, seed: int, unit: str) -> None:
    batch = trace(20)
    moved = disordered(batch, percent, seed=seed, unit=unit)  # type: ignore[arg-type]
    assert moved == disordered(batch, percent, seed=seed, unit=unit)  # type: ignore[arg-type]
    rows = lambda b: sorted(map(str, b.to_pylist()))  # noqa: E731
    assert rows(moved) == rows(batch)
    if not percent:
        assert moved == batch
    if unit == "group":
        group = moved.column("group").to_numpy()
        assert len(np.flatnonzero(np.diff(group))) + 1 == len(set(group.tolist()))


def test_accuracy_counts_pairs_behind_groups() -> None:
    o, i, g = ("o", 1), ("i", 1), ("g", 1)
    truth = reduced_of([(Link.PAIR, o, i), (Link.PAIR, o, ("i", 2))])
    found = reduced_of([(Link.OUT, o, g), (Link.IN, g, i), (Link.IN, g, ("i", 3))])
    right = accuracy(found, truth)
    assert (right.true, right.found, right.both) == (2, 2, 1)
    assert right.recall == right.precision == 0.5


@pytest.mark.parametrize("mode", ["grouping", "window", "exact"])
def test_local_reducers_pass_on_fewer_edges_than_they_get(mode: str) -> None:
    batch = trace(200)
    watermark = {"watermark": 0.0} if mode == "exact" else {}
    found = reduce([batch], mode=mode, partitions=2, local_batch=100, **watermark)
    assert found.flow.local_out <= found.flow.edges
    if mode != "exact":  # without end markers nothing is complete before the end
        assert found.flow.local_out < found.flow.edges
    assert found.flow.global_out == found.table.num_rows
    assert sum(found.flow.by_partition.values()) == found.flow.edges


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"mode": "eager"}, "W1126"),
        ({"mode": "window", "outputs": ("x",)}, "W1127"),
        ({"mode": "grouping", "memory": 10}, "W1127"),
        ({"local_batch": 0}, "W1128"),
        ({"watermark": -1.0}, "W1128"),
        ({"watermark": float("nan")}, "W1128"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked: dict[str, object], code: str) -> None:
    with pytest.raises(UsageError, match=code):
        reduce([], **asked)  # type: ignore[arg-type]
