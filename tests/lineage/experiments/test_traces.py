"""Traces of experiments are what they say: their true pairs are those of the definition."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest

from experiments.lineage.trace import SPARSE, Job, recorded, trace, truth
from whence.lineage.events import Kind, concatenate, edges_of
from whence.lineage.partitioning import STRATEGIES, assign
from whence.lineage.reduced import Pair, pairs_of

JOBS = {
    "plain": Job(120),
    "sparse": Job(300, SPARSE),
    "combined": Job(120, combine=7),
    "twice": Job(120, twice=True, seed=3),
    "both": Job(90, combine=10, twice=True),
}


def reached(batch: pa.RecordBatch) -> set[Pair]:
    """Return outputs and the tweets they reach, by networkx."""
    graph = nx.DiGraph()
    for edge in edges_of(batch):
        if edge.target is not None:
            graph.add_edge(edge.source, edge.target)
    outputs = [node for node in graph if node[0] in ("counts", "categories")]
    return {(o, n) for o in outputs for n in nx.descendants(graph, o) if n[0] == "tweets"}


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_the_true_pairs_are_those_that_a_graph_reaches(job: Job) -> None:
    assert pairs_of(truth(job)) == reached(recorded(job))


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_rows_of_an_execution_stand_together_and_end_with_its_marker(job: Job) -> None:
    batch = concatenate(trace(job))
    kind = batch.column("kind").to_numpy()
    generated = kind == Kind.GENERATED
    whose = [
        edge.target if edge.kind is Kind.GENERATED else edge.source for edge in edges_of(batch)
    ]
    borders = [i for i in range(1, len(whose)) if whose[i] != whose[i - 1]]
    assert len(borders) + 1 == len(set(whose)) == int((kind == Kind.END).sum())
    assert all(kind[i - 1] == Kind.END for i in borders)
    assert generated.any()
    for strategy in STRATEGIES:
        homes = assign(batch, strategy, 3, functions=("count/map", "count/reduce"))
        assert all(
            homes[i] == homes[i - 1] for i in range(1, len(whose)) if whose[i] == whose[i - 1]
        )


def test_maps_come_before_reduces_and_each_worker_combines_what_it_has_mapped() -> None:
    batch = concatenate(trace(Job(120, combine=7)))
    spaces = np.array(batch.column("source_space").to_pylist())
    worker = batch.column("worker").to_numpy()
    reduces = np.flatnonzero(spaces == "count/reduce")
    assert reduces.min() > np.flatnonzero(spaces == "count/map").max()
    home = {}
    for edge, node in zip(edges_of(batch), worker.tolist(), strict=True):
        if edge.source[0] == "count/pairs":
            home[edge.source] = node
        if edge.source[0] == "count/combine" and edge.target is not None:
            assert home[edge.target] == node


def test_a_trace_is_the_same_every_time_and_another_with_another_seed() -> None:
    assert recorded(Job(200)).equals(recorded(Job(200)))
    assert not recorded(Job(200)).equals(recorded(Job(200, seed=2)))
