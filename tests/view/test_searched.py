"""Recursions that are searches stay what the definition says while steps and seeds come and go."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property.agreement import long, quick
from property.searches import HEAD, SHAPES, Facts, searches
from view.judge import Judge, rows_of, table_of
from view.knobs import turned
from whence.engine.base import Limits
from whence.engine.local import searches as engine
from whence.session import compile, maintain, parse
from whence.view.base import Update
from whence.view.program import maintained

READERS = (
    "",
    ".decl far(x: number) far(x) :- p(x, _, c), c > 0.",
    ".decl many(n: number) many(n) :- n = count : { p(_, _, _) }. "
    ".decl lone(x: number) lone(x) :- s(x, _, _), !p(x, x, _).",
)
SHORTEST = HEAD.format(kind="number", order="<=") + SHAPES[0].format(step="a + w")


def play(
    case: tuple[str, Facts, st.SearchStrategy[tuple[object, ...]]],
    readers: str,
    data: st.DataObject,
    threads: int,
) -> None:
    text, facts, row = case
    program = parse(text + readers)
    assert maintained(compile(program, keep_all=True).passes[-1][1], ()).searches
    with turned({"thread": threads}):
        judge = Judge(program, facts)
        for _ in range(data.draw(st.integers(1, 5))):
            step = {}
            for name in ("e", "s"):
                held = sorted(judge.base[name], key=repr)
                goes = data.draw(st.lists(st.sampled_from(held), max_size=4)) if held else []
                step[name] = (data.draw(st.lists(row, max_size=3)), goes)
            judge.apply(step)
        judge.check_again()


@settings(quick, max_examples=25)
@given(searches(), st.sampled_from(READERS), st.data(), st.sampled_from([1, 1 << 20]))
def test_searches_follow_changes(
    case: tuple[str, Facts, st.SearchStrategy[tuple[object, ...]]],
    readers: str,
    data: st.DataObject,
    threads: int,
) -> None:
    play(case, readers, data, threads)


@pytest.mark.slow
@long
@given(searches(), st.sampled_from(READERS), st.data(), st.sampled_from([1, 1 << 20]))
def test_searches_follow_many_changes(
    case: tuple[str, Facts, st.SearchStrategy[tuple[object, ...]]],
    readers: str,
    data: st.DataObject,
    threads: int,
) -> None:
    play(case, readers, data, threads)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1 << 30))
def test_shortest_ways_of_a_larger_graph_follow_changes(seed: int) -> None:
    random = np.random.default_rng(seed)
    program = parse(SHORTEST)
    n = 60
    edges = {
        (int(u), int(v)): int(w)
        for u, v, w in zip(
            *random.integers(0, n, (2, 200)), random.integers(0, 4, 200), strict=True
        )
    }

    def table(some: dict[tuple[int, int], int]) -> object:
        return table_of(program, "e", [(u, v, w) for (u, v), w in some.items()])

    starts = table_of(program, "s", [(x, x, 0) for x in range(n)])
    view = maintain(program, {"e": table(edges), "s": starts})
    for _ in range(12):
        chosen = [list(edges)[i] for i in random.choice(len(edges), 5, replace=False)]
        gone = {edge: edges[edge] for edge in chosen}
        new = {edge: int(random.integers(0, 4)) for edge in chosen[:3]}
        view.apply({"e": Update(inserted=table(new), deleted=table(gone))})
        edges = {edge: w for edge, w in edges.items() if edge not in gone} | new
        graph = nx.DiGraph()
        graph.add_nodes_from(range(n))
        graph.add_weighted_edges_from((u, v, w) for (u, v), w in edges.items())
        expected = {
            (x, y, c)
            for x, ways in nx.all_pairs_dijkstra_path_length(graph)
            for y, c in ways.items()
        }
        found = rows_of(view.table("p"))
        assert set(found) == expected
        assert len(found) == len(expected)


def test_ways_that_cost_nothing_do_not_hold_each_other_up() -> None:
    judge = Judge(
        parse(SHORTEST), {"s": {(0, 0, 0)}, "e": {(0, 1, 5), (1, 2, 0), (2, 1, 0), (2, 3, 1)}}
    )
    judge.apply({"e": ([], [(0, 1, 5)])})
    assert judge.rows("p") == {(0, 0, 0)}


@pytest.mark.parametrize("cells", [0, 5])
def test_searches_with_too_many_states_are_maintained_as_other_recursions(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MOST_CELLS", cells)
    judge = Judge(parse(SHORTEST), {"s": {(0, 0, 0)}, "e": {(0, 1, 5)}})
    judge.apply({"e": ([(1, 2, 1), (2, 3, 1), (7, 8, 1)], []), "s": ([(7, 7, 0)], [])})
    judge.apply({"e": ([], [(0, 1, 5)])})


def test_numbers_for_which_going_round_pays_are_left_to_other_ways() -> None:
    judge = Judge(parse(SHORTEST), {"s": {(0, 0, 0)}, "e": {(0, 1, 5), (0, 2, 3)}})
    judge.apply({"e": ([(1, 2, -4)], [])})
    assert (0, 2, 1) in judge.rows("p")
    judge.apply({"e": ([(2, 3, 1)], [(0, 1, 5)])})
    assert (0, 3, 4) in judge.rows("p")


def test_sums_that_wrap_round_do_not_hold_each_other_up() -> None:
    large = 1 << 62
    edges = {(0, 1, large), (1, 2, large), (2, 1, 5), (2, 0, large)}
    view = maintain(parse(SHORTEST + " s(0, 0, 0)."), {"e": table_of(parse(SHORTEST), "e", edges)})
    view.apply({"s": Update(deleted=table_of(parse(SHORTEST), "s", [(0, 0, 0)]))})
    assert rows_of(view.table("p")) == []


def test_sums_that_are_rounded_do_not_hold_each_other_up() -> None:
    text = HEAD.format(kind="float", order=">=") + SHAPES[0].format(step="max(0, a + w - 1)")
    judge = Judge(
        parse(text + "p(x, y, a) :- p(y, x, a)."),
        {"s": {(0, 0, 0.1)}, "e": {(0, 1, 1.0), (1, 0, 1.0)}},
    )
    judge.apply({"s": ([], [(0, 0, 0.1)])})
    judge = Judge(parse(text), {"s": {(0, 0, 0.1)}, "e": {(0, 1, 1.0), (1, 0, 1.0)}})
    judge.apply({"s": ([], [(0, 0, 0.1)])})
    assert judge.rows("p") == set()


def test_a_value_that_stays_is_not_rounded() -> None:
    text = HEAD.format(kind="float", order=">=") + SHAPES[0].format(step="max(0, a + w - 1)")
    judge = Judge(
        parse(text + "p(x, z, a) :- p(x, y, a), e(z, y, _)."),
        {"s": {(0, 0, 0.1)}, "e": {(1, 0, 0.5)}},
    )
    assert (0, 1, 0.1) in judge.rows("p")


def test_searches_that_have_become_sparse_are_given_up_when_values_are_reclaimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judge = Judge(parse(SHORTEST), {"s": {(0, 0, 0)}, "e": {(0, 1, 5)}})
    monkeypatch.setattr(engine, "FEW_CELLS", 0)
    monkeypatch.setattr(engine, "_SAMPLE", 1)
    monkeypatch.setattr(engine, "SPARSE", 1)
    judge.apply({"s": ([(x, x, 0) for x in range(2, 40)], [])})
    for view in judge.views.values():
        monkeypatch.setattr(view, "_reclaim_at", -1)
    judge.apply({"s": ([], [(3, 3, 0)])})


def test_searching_again_does_not_count_what_is_there_twice() -> None:
    program = parse(SHORTEST)
    facts = {
        "e": table_of(program, "e", [(x, x + 1, 1) for x in range(20)]),
        "s": table_of(program, "s", [(x, x, 0) for x in range(20)]),
    }
    view = maintain(program, facts, strategy="recompute", limits=Limits(max_tuples=300))
    view.apply({"e": Update(deleted=table_of(program, "e", [(19, 20, 1)]))})
    assert view.size("p") == 210


def test_a_plan_says_that_it_repairs_searches() -> None:
    from whence.session import explain_maintenance

    assert "search: what hung on" in explain_maintenance(parse(SHORTEST))
