"""Every edge goes to one partition, and a function execution is never split."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.edges import edges
from whence.diagnostics import UsageError
from whence.lineage.events import Edge, Kind, batch_of, concatenate, edges_of, make_batch
from whence.lineage.partitioning import STRATEGIES, Strategy, assign, split

SMALL = st.tuples(st.sampled_from(["f", "g", "tweets"]), st.integers(0, 3))


@st.composite
def small_edges(draw: st.DrawFn) -> Edge:
    """An edge of few executions, so that several share one."""
    kind = draw(st.sampled_from(Kind))
    target = None if kind is Kind.END else draw(SMALL)
    return Edge(kind, draw(SMALL), target, 0, draw(st.integers(0, 1)), draw(st.integers(0, 9)))


STREAMS = st.lists(small_edges(), max_size=30) | st.lists(edges(), max_size=10)


def execution(edge: Edge) -> tuple[object, int] | None:
    """The activity and the attempt of an edge that has one."""
    if edge.kind in (Kind.USED, Kind.END):
        return edge.source, edge.attempt
    return (edge.target, edge.attempt) if edge.kind is Kind.GENERATED else None


@given(STREAMS, st.sampled_from(STRATEGIES), st.integers(1, 8), st.integers(0, 2**64))
def test_an_execution_is_never_split(
    some: list[Edge], strategy: Strategy, partitions: int, seed: int
) -> None:
    homes = assign(batch_of(some), strategy, partitions, seed=seed)
    assert len(homes) == len(some)
    found = defaultdict(set)
    for edge, home in zip(some, homes.tolist(), strict=True):
        assert 0 <= home < partitions
        found[execution(edge)].add(home)
    found.pop(None, None)
    assert all(len(homes) == 1 for homes in found.values())


@given(STREAMS, st.sampled_from(STRATEGIES), st.integers(1, 8))
def test_every_edge_is_in_one_partition_in_its_order(
    some: list[Edge], strategy: Strategy, partitions: int
) -> None:
    homes = assign(batch_of(some), strategy, partitions).tolist()
    parts = dict(split(batch_of(some), strategy, partitions))
    for partition in range(partitions):
        expected = [edge for edge, home in zip(some, homes, strict=True) if home == partition]
        found = list(edges_of(parts[partition])) if partition in parts else []
        assert found == expected


@given(st.lists(STREAMS, max_size=3), st.sampled_from(["horizontal", "random"]), st.integers(1, 8))
def test_partitions_do_not_depend_on_the_batch(
    some: list[list[Edge]], strategy: Strategy, partitions: int
) -> None:
    batches = [batch_of(part) for part in some]
    apart = [home for batch in batches for home in assign(batch, strategy, partitions).tolist()]
    assert assign(concatenate(batches), strategy, partitions).tolist() == apart


def of_functions(names: list[str]) -> list[Edge]:
    return [Edge(Kind.USED, (name, n), ("t", n)) for n in range(50) for name in names]


def test_horizontal_keeps_the_executions_of_a_function_together() -> None:
    some = of_functions(["map", "reduce", "sort"])
    homes = assign(batch_of(some), "horizontal", 3, functions=["sort", "map", "reduce"])
    assert homes.tolist() == [1, 2, 0] * 50
    others = assign(batch_of(some), "horizontal", 5)
    assert len(set(others[::3].tolist())) == 1


def test_vertical_goes_by_worker() -> None:
    some = [Edge(Kind.USED, ("f", n), ("t", n), worker=n % 7) for n in range(70)]
    assert assign(batch_of(some), "vertical", 3).tolist() == [n % 7 % 3 for n in range(70)]


def test_random_spreads_executions_evenly_and_by_its_seed() -> None:
    batch = make_batch(
        kind=Kind.USED,
        source_space="f",
        source=np.arange(80_000),
        target_space="t",
        target=[0] * 80_000,
    )
    first, second = (assign(batch, "random", 8, seed=seed) for seed in (1, 2))
    assert np.abs(np.bincount(first) - 10_000).max() < 500
    assert (first == second).mean() < 0.2
    assert (first == assign(batch, "random", 8, seed=1)).all()


def test_what_is_no_strategy_is_told() -> None:
    with pytest.raises(UsageError, match="did you mean `vertical`"):
        assign(batch_of([]), "vertcal", 2)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="W1115"):
        assign(batch_of([]), "random", 0)
