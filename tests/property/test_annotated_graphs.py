"""Annotated closures of graphs: paths are counted, worlds added up, distances are Dijkstra's."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import networkx as nx
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from property.agreement import quick, resolved
from property.cases import Case
from property.test_annotations import Judge
from whence.diagnostics import DataError
from whence.engine.annotated import evaluate_annotated
from whence.engine.derivations import Fact
from whence.plan.build import build_plan
from whence.rewrite.pipeline import run_passes
from whence.semiring.base import Semiring
from whence.semiring.counting import Counting
from whence.semiring.probability import Probability
from whence.semiring.tropical import Tropical
from whence.syntax.souffle import parse

NODE = st.integers(0, 5)
EDGES = st.sets(st.tuples(NODE, NODE), max_size=9)
CLOSURES = (
    "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).",
    "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).",
    "p(x, y) :- q(x, y). q(x, y) :- e(x, y). q(x, z) :- e(x, y), p(y, z).",
)
DECLARED = (
    ".decl e(x: number, y: number) .decl p(x: number, y: number) .decl q(x: number, y: number) "
)


def closure(rules: str, edges: set[tuple[int, int]]) -> Case:
    return Case(parse(DECLARED + rules), {"e": edges})


@quick
@given(EDGES, st.sampled_from([CLOSURES[0], CLOSURES[2]]))
def test_counting_counts_paths_or_refuses_cycles(edges: set[tuple[int, int]], rules: str) -> None:
    graph = nx.DiGraph(edges)
    if not nx.is_directed_acyclic_graph(graph):
        with pytest.raises(DataError, match="W0931"):
            Judge(closure(rules, edges), 0).evaluated(Counting())
        return
    found = Judge(closure(rules, edges), 0).evaluated(Counting())["p"]
    for source, target in product(graph, graph):
        expected = len(list(nx.all_simple_paths(graph, source, target))) if source != target else 0
        assert found.get((source, target), 0) == expected


@quick
@given(
    st.dictionaries(st.tuples(NODE, NODE), st.sampled_from([0.25, 0.5, 0.75, 1.0]), max_size=7),
    st.sampled_from(CLOSURES),
)
def test_probability_is_the_sum_over_worlds(
    edges: dict[tuple[int, int], float], rules: str
) -> None:
    program = resolved(parse(DECLARED + rules))
    plan = build_plan(run_passes(program, keep_all=True, derivations=True)[-1][1])
    rows = sorted(edges)
    inputs = {
        "e": pa.table(
            {
                "x": pa.array([x for x, _ in rows], pa.int64()),
                "y": pa.array([y for _, y in rows], pa.int64()),
                "@prov": pa.array([edges[row] for row in rows], pa.float64()),
            }
        )
    }
    found = evaluate_annotated(plan, inputs, Probability()).table("p").to_pydict()
    shown = dict(zip(zip(found["x"], found["y"], strict=True), found["@prov"], strict=True))
    expected: dict[tuple[int, int], float] = {}
    for world in product([True, False], repeat=len(rows)):
        kept = [row for row, there in zip(rows, world, strict=True) if there]
        weight = math.prod(
            edges[row] if there else 1 - edges[row] for row, there in zip(rows, world, strict=True)
        )
        for pair in nx.transitive_closure(nx.DiGraph(kept), reflexive=False).edges:
            if weight:
                expected[pair] = expected.get(pair, 0.0) + weight
    assert shown == pytest.approx(expected)


@quick
@given(st.dictionaries(st.tuples(NODE, NODE), st.integers(0, 9)), st.sampled_from(CLOSURES))
def test_costs_are_the_distances_of_dijkstra(edges: dict[tuple[int, int], int], rules: str) -> None:
    class Weighted(Judge):
        def cell(self, fact: Fact, semiring: Semiring[Any]) -> Any:
            return edges[fact[1]]

    found = Weighted(closure(rules, set(edges)), 0).evaluated(Tropical())["p"]
    graph = nx.DiGraph()
    graph.add_weighted_edges_from((x, y, cost) for (x, y), cost in edges.items())
    expected: dict[tuple[object, ...], Any] = {}
    for source in graph:
        # From a node to itself the way is round a cycle, so its first edge is taken here.
        for _, first, cost in graph.out_edges(source, data="weight"):
            for target, rest in nx.single_source_dijkstra_path_length(graph, first).items():
                pair = (source, target)
                expected[pair] = min(cost + rest, expected.get(pair, math.inf))
    assert found == expected
