"""Exact mode is exact: the pairs of the definition, whatever comes in whatever order."""

from __future__ import annotations

import os

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.reduce.streams import Stream, disturbed, execution_of, in_batches, pairs, streams
from whence.diagnostics import DataError
from whence.lineage.events import EDGES, Edge, Kind, batch_of, make_batch
from whence.lineage.reduce import definition, reduce
from whence.lineage.reduce.compiled import compile_kernels
from whence.lineage.reduce.exact import Exact
from whence.lineage.reduce.local_global import LocalGlobal, Settings
from whence.lineage.reduced import Link, flatten, pairs_of

EXAMPLES = int(os.environ.get("WHENCE_EXAMPLES", "60"))


def meant(stream: Stream) -> set[object]:
    return set(definition.pairs(stream.edges, **stream.asked))  # type: ignore[arg-type]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data(), streams() | streams(cycles=True))
def test_any_order_and_any_repetition_gives_the_pairs_of_the_definition(
    data: st.DataObject, stream: Stream
) -> None:
    reducer = Exact(**stream.asked)  # type: ignore[arg-type]
    for batch in in_batches(data.draw(disturbed(stream.edges)), 3):
        reducer.add(batch)
    assert pairs(list(reducer.finish())) == meant(stream)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data(), streams() | streams(cycles=True), st.integers(1, 8), st.integers(1, 5))
def test_partitions_and_flushes_lose_nothing(
    data: st.DataObject, stream: Stream, partitions: int, size: int
) -> None:
    reducer = LocalGlobal(partitions, Settings(local_batch=size, **stream.asked))  # type: ignore[arg-type]
    places: dict[object, int] = {}
    for edge in data.draw(disturbed(stream.edges)):
        place = places.setdefault(execution_of(edge), data.draw(st.integers(0, partitions - 1)))
        reducer.add(place, batch_of([edge]))
    assert pairs(list(reducer.finish())) == meant(stream)


def layered(seed: int, layers: int, width: int) -> tuple[pa.RecordBatch, nx.DiGraph]:
    """A stream of layers: every execution uses some entities of one and makes some of the next."""
    random = np.random.default_rng(seed)
    graph = nx.DiGraph()
    edges = []
    for layer in range(layers):
        for number in range(width):
            activity = (f"f{layer}", number)
            for one in random.integers(0, width, random.integers(1, 4)).tolist():
                edges.append(Edge(Kind.USED, activity, (f"d{layer}", one), 2 * number))
            for one in random.integers(0, width, random.integers(1, 4)).tolist():
                edges.append(Edge(Kind.GENERATED, (f"d{layer + 1}", one), activity, 2 * number + 1))
            edges.append(Edge(Kind.END, activity))
    for edge in edges:
        if edge.target is not None:
            graph.add_edge(
                ("a", *edge.source) if edge.kind is Kind.USED else edge.source,
                ("a", *edge.target) if edge.kind is Kind.GENERATED else edge.target,
            )
    order = random.permutation(len(edges))
    return batch_of([edges[i] for i in order]), graph


@pytest.mark.parametrize("partitions", [1, 2, 3, 8])
def test_larger_streams_give_the_pairs_that_networkx_gives(partitions: int) -> None:
    compile_kernels()
    batch, graph = layered(partitions, 4, 200)
    entities = [n for n in graph if n[0] != "a"]
    outputs = [n for n in entities if graph.in_degree(n) == 0]
    inputs = {n for n in entities if graph.out_degree(n) == 0}
    wanted = {(o, i) for o in outputs for i in nx.descendants(graph, o) & inputs}
    found = reduce([batch], partitions=partitions, attempts=True, local_batch=500)
    assert pairs_of(found.table) == wanted
    assert len(wanted) > 1000
    assert found.table.num_rows < len(wanted)
    assert found.flow.edges == len([k for k in batch.column(0).to_pylist() if k != Kind.END])


def all_to_all(rows: int) -> list[pa.RecordBatch]:
    numbers = np.arange(rows)
    one = np.zeros(rows, np.int64)
    return [
        make_batch(kind=0, source_space="sort", source=one, target_space="in", target=numbers),
        make_batch(kind=1, source_space="out", source=numbers, target_space="sort", target=one),
    ]


def test_a_sort_of_a_million_rows_is_one_group_and_no_pairs() -> None:
    found = reduce(all_to_all(1_000_000)).table
    kinds = np.bincount(found["kind"].to_numpy(), minlength=4)
    assert kinds.tolist() == [0, 1_000_000, 1_000_000, 0]
    assert set(found["source_space"].unique().to_pylist()) == {"out", "group/sort"}


def test_a_total_of_a_million_rows_is_as_many_pairs_as_rows() -> None:
    numbers, one = np.arange(1_000_000), np.zeros(1_000_000, np.int64)
    used = make_batch(kind=0, source_space="sum", source=one, target_space="in", target=numbers)
    made = batch_of([Edge(Kind.GENERATED, ("total", 0), ("sum", 0))])
    assert reduce([used, made]).table.num_rows == 1_000_000


def test_a_running_total_takes_linear_time_and_room() -> None:
    steps = 200_000
    numbers = np.arange(steps)
    step = make_batch(
        kind=2, source_space="sum", source=numbers + 1, target_space="sum", target=numbers
    )
    row = make_batch(
        kind=2, source_space="sum", source=numbers + 1, target_space="in", target=numbers
    )
    found = reduce([step, row]).table
    assert found.num_rows == steps + 1
    assert set(found["kind"].to_pylist()) == {Link.PAIR}


def test_two_by_two_are_pairs_and_two_by_three_a_group() -> None:
    for ins, outs, rows in ((2, 2, 4), (2, 3, 5), (3, 2, 5), (1, 5, 5), (5, 1, 5)):
        edges = [Edge(Kind.USED, ("f", 1), ("in", i)) for i in range(ins)]
        edges += [Edge(Kind.GENERATED, ("out", i), ("f", 1)) for i in range(outs)]
        found = reduce([batch_of(edges)]).table
        assert found.num_rows == rows
        assert (Link.IN in found["kind"].to_pylist()) == (ins * outs > ins + outs)
        assert flatten(found).num_rows == ins * outs


def test_groups_of_groups_are_nested() -> None:
    edges = [Edge(Kind.USED, ("f", 1), ("in", i)) for i in range(9)]
    edges += [Edge(Kind.GENERATED, ("mid", i), ("f", 1)) for i in range(9)]
    edges += [Edge(Kind.USED, ("g", 1), ("mid", i)) for i in range(5)]
    edges += [Edge(Kind.USED, ("g", 1), ("more", i)) for i in range(5)]
    edges += [Edge(Kind.GENERATED, ("out", i), ("g", 1)) for i in range(9)]
    found = reduce([batch_of(edges)]).table
    assert Link.NEST in found["kind"].to_pylist()
    assert pairs_of(found) == definition.pairs(edges)


def test_an_activity_and_an_entity_may_have_one_name() -> None:
    edges = [Edge(Kind.USED, ("x", 1), ("x", 1)), Edge(Kind.GENERATED, ("x", 2), ("x", 1))]
    assert pairs_of(reduce([batch_of(edges)]).table) == {(("x", 2), ("x", 1))}


def test_attempts_that_never_end_do_not_count() -> None:
    def execution(attempt: int, entity: int) -> list[Edge]:
        return [
            Edge(Kind.USED, ("f", 1), ("in", entity), attempt=attempt),
            Edge(Kind.GENERATED, ("out", entity), ("f", 1), attempt=attempt),
        ]

    edges = [*execution(0, 1), *execution(1, 2), Edge(Kind.END, ("f", 1), None, attempt=1)]
    found = reduce([batch_of(edges)], attempts=True)
    assert pairs_of(found.table) == {(("out", 2), ("in", 2))}
    assert found.flow.uncommitted == 2
    assert len(pairs_of(reduce([batch_of(edges)]).table)) == 4


def test_nothing_gives_nothing() -> None:
    assert reduce([]).table.num_rows == 0
    assert reduce([batch_of([])], partitions=3).table.num_rows == 0


def test_an_edge_without_a_target_is_refused() -> None:
    batch = make_batch(kind=[0], source_space="f", source=[1], target_space=None, target=None)
    assert batch.schema == EDGES
    with pytest.raises(DataError, match=r"W1122.*edge 0 of a batch has no target"):
        Exact().add(batch)


def test_a_kind_that_is_none_is_refused() -> None:
    batch = make_batch(kind=[9], source_space="f", source=[1], target_space="e", target=[1])
    with pytest.raises(DataError, match=r"W1122.*of kind 9"):
        Exact().add(batch)
