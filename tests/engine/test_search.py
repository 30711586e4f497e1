"""Recursions run as a search give what the definition gives."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from property.agreement import answers, quick, resolved
from property.searches import HEAD, SHAPES, Facts, searches
from whence import session
from whence.diagnostics import LimitError
from whence.engine.base import Limits
from whence.engine.local import search
from whence.plan.build import plan_stratum


def tables(facts: Facts) -> dict[str, pa.Table]:
    return {
        name: pa.table({str(i): list(column) for i, column in enumerate(zip(*rows, strict=True))})
        for name, rows in facts.items()
        if rows
    }


@quick
@given(searches(), st.integers(1, 2))
def test_a_search_gives_what_the_definition_gives(
    case: tuple[str, Facts, object], threads: int
) -> None:
    text, facts, _ = case
    program = session.parse(text)
    compiled = session.compile(program, keep_all=True)
    assert any(s.recursive and plan_stratum(s, {}).search for s in compiled.plan.strata)
    result = session.evaluate(compiled, tables(facts), threads=threads).table("p")
    rows = set(zip(*(c.to_pylist() for c in result.columns), strict=True))
    assert len(rows) == result.num_rows
    assert rows == answers(resolved(program), facts)["p"]


SHORTEST = HEAD.format(kind="number", order="<=") + SHAPES[0].format(step="a + w")


@pytest.mark.parametrize("threads", [1, 2])
def test_shortest_ways_are_those_of_dijkstra(threads: int) -> None:
    random = np.random.default_rng(7)
    graph = nx.gnm_random_graph(300, 1500, seed=7, directed=True)
    weights = random.integers(0, 20, graph.number_of_edges())
    edges = [(u, v, int(w)) for (u, v), w in zip(graph.edges, weights, strict=True)]
    weighted = nx.DiGraph()
    weighted.add_weighted_edges_from(edges)
    facts = tables({"e": set(edges), "s": {(x, x, 0) for x in range(300)}})
    result = session.evaluate(session.parse(SHORTEST), facts, threads=threads).table("p")
    found = {(x, y): c for x, y, c in zip(*(c.to_pylist() for c in result.columns), strict=True)}
    expected = dict(nx.all_pairs_dijkstra_path_length(weighted))
    alone = {x: {x: 0} for x in range(300)}
    assert found == {(x, y): c for x, ways in (alone | expected).items() for y, c in ways.items()}


def test_ways_that_get_better_for_ever_are_left_to_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "_PATIENCE", (1, 100))
    facts = tables({"e": {(0, 1, -1), (1, 0, 0)}, "s": {(0, 0, 0)}})
    with pytest.raises(LimitError):
        session.evaluate(session.parse(SHORTEST), facts, limits=Limits(timeout=0.3))


def test_searches_that_are_broken_off_are_done_in_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_PATIENCE", (0, 0))
    facts = tables({"e": {(0, 1, 2), (1, 2, 2), (0, 2, 9)}, "s": {(0, 0, 0)}})
    result = session.evaluate(session.parse(SHORTEST), facts)
    assert set(zip(*(c.to_pylist() for c in result.table("p").columns), strict=True)) == {
        (0, 0, 0),
        (0, 1, 2),
        (0, 2, 4),
    }
    assert result.size("p") == 3


def test_numbers_that_turn_the_order_round_are_left_to_rounds() -> None:
    head = HEAD.format(kind="float", order="<=") + SHAPES[0].format(step="a * w")
    facts = tables({"e": {(0, 1, -1.0)}, "s": {(0, 0, 1.0), (0, 1, 5.0)}})
    result = session.evaluate(session.parse(head), facts).table("p")
    assert set(zip(*(c.to_pylist() for c in result.columns), strict=True)) == {
        (0, 0, 1.0),
        (0, 1, -1.0),
    }


def test_searches_keep_to_limits() -> None:
    ring = {(x, (x + 1) % 400, 1) for x in range(400)}
    facts = tables({"e": ring, "s": {(x, x, 0) for x in range(400)}})
    with pytest.raises(LimitError):
        session.evaluate(session.parse(SHORTEST), facts, limits=Limits(max_tuples=50_000))
