"""Best paths with their vectors on cyclic graphs, under links that come, go and change their cost.

The relation of all paths is endless: only what is best for some aggregate is followed. When a link
goes the next best takes over, and when it disconnects, nothing counts to infinity.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property.agreement import quick
from property.test_aggregate_selection import CHEAPEST, QUERY, STEPS, expected
from view.judge import rows_of, table_of
from view.knobs import KNOBS, turned
from whence.session import compile, maintain, parse
from whence.view.base import STRATEGIES, Update

Costs = dict[tuple[str, str], int]
LINK = st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde"))
BATCH = st.dictionaries(LINK, st.one_of(st.none(), st.integers(1, 3)), max_size=4)
"""The new cost of some links; None takes a link away."""


def check_paths(
    query: str, first: Costs, batches: list[dict], knobs: dict[str, int], strategies=STRATEGIES
) -> None:
    program = parse(query)
    compiled = compile(program, keep_all=True)
    with turned(knobs):
        for strategy in strategies:
            costs = dict(first)

            def links(of: Costs) -> object:
                return table_of(program, "link", [(x, y, c) for (x, y), c in of.items()])

            view = maintain(compiled, {"link": links(costs)}, strategy=strategy)
            held: dict[str, set] = {}
            for batch in [{}, *batches]:
                gone = {link: costs[link] for link in batch if link in costs}
                come = {link: cost for link, cost in batch.items() if cost is not None}
                changes = view.apply({"link": Update(inserted=links(come), deleted=links(gone))})
                costs = {link: c for link, c in costs.items() if link not in gone} | come
                needed = expected([(x, y, c) for (x, y), c in costs.items()])
                for name, rows in needed.items():
                    found = rows_of(view.table(name))
                    where = f"{strategy}: {name} after {batch}, with {costs}"
                    assert set(found) == rows, where
                    assert len(found) == len(rows), where
                    if name in held:
                        change = changes.get(name)
                        came = set(rows_of(change.inserted)) if change else set()
                        went = set(rows_of(change.deleted)) if change else set()
                        assert (came, went) == (rows - held[name], held[name] - rows), where
                    held[name] = rows


knobs = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in KNOBS.items()})
paths = given(
    st.dictionaries(LINK, st.integers(1, 3), max_size=9),
    st.lists(BATCH, min_size=1, max_size=5),
    st.sampled_from(STEPS),
    st.sampled_from(CHEAPEST),
    knobs,
)


@settings(quick, max_examples=15)
@paths
def test_best_paths_follow_their_links(
    first: Costs, batches: list[dict], step: str, cheapest: str, knobs: dict[str, int]
) -> None:
    check_paths(QUERY.format(step=step, cheapest=cheapest, output=""), first, batches, knobs)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(quick, max_examples=int(os.environ.get("WHENCE_EXAMPLES", "300")))
@paths
def test_best_paths_follow_their_links_for_long(
    first: Costs, batches: list[dict], step: str, cheapest: str, knobs: dict[str, int]
) -> None:
    check_paths(QUERY.format(step=step, cheapest=cheapest, output=""), first, batches, knobs)


def test_a_delete_that_disconnects_ends() -> None:
    ring = {("b", "c"): 1, ("c", "d"): 1, ("d", "b"): 1}
    costs = {("a", "b"): 1, **ring, ("d", "e"): 2}
    cut = [{("a", "b"): None}, {("d", "e"): None}, {("a", "b"): 2}, {("c", "d"): None}]
    query = QUERY.format(step=STEPS[0], cheapest=CHEAPEST[0], output="")
    check_paths(query, costs, cut, {})


def test_ties_are_kept_and_the_next_best_takes_over() -> None:
    costs = {
        ("a", "b"): 1,
        ("b", "d"): 1,
        ("a", "c"): 1,
        ("c", "d"): 1,
        ("a", "d"): 3,
        ("d", "a"): 1,
    }
    changes = [
        {("b", "d"): None},
        {("c", "d"): 2},
        {("a", "c"): None},
        {("b", "d"): 1},
        {("a", "d"): 2},
    ]
    query = QUERY.format(step=STEPS[1], cheapest=CHEAPEST[2], output="")
    check_paths(query, costs, changes, {})


def test_a_selection_returns_with_what_it_assumes() -> None:
    query = """
    .decl gain(x: symbol, y: symbol, c: number)
    .decl path(x: symbol, y: symbol, c: number)
    path(x, y, c) :- gain(x, y, c).
    path(x, z, c * d) :- path(x, y, c), gain(y, z, d).
    .decl best(x: symbol, y: symbol, c: number)
    best(x, y, c) :- path(x, y, _), c = min d : { path(x, y, d) }.
    """
    compiled = compile(parse(query), keep_all=True)

    def gains(*rows: tuple[str, str, int]) -> object:
        return table_of(compiled.source, "gain", rows)

    for strategy in STRATEGIES:
        view = maintain(compiled, {"gain": gains(("a", "b", 2))}, strategy=strategy)
        assert "path" in view.selected
        view.apply({"gain": Update(inserted=gains(("b", "c", -1), ("b", "c", 3)))})
        assert "path" not in view.selected, strategy
        view.apply({"gain": Update(deleted=gains(("b", "c", 3)))})
        assert "path" not in view.selected, strategy
        view.apply({"gain": Update(inserted=gains(("b", "c", 3)), deleted=gains(("b", "c", -1)))})
        assert "path" in view.selected, strategy
        view.apply({"gain": Update(inserted=gains(("c", "a", 1)))})
        costs = {"a": 2, "b": 3, "c": 1}
        steps = ["ab", "bc", "ca"]
        pairs = {(x, y): costs[x] for x, y in steps}
        pairs |= {(x, steps[i - 2][1]): costs[x] * costs[y] for i, (x, y) in enumerate(steps)}
        pairs |= {(x, x): 6 for x in costs}
        assert set(rows_of(view.table("best"))) == {(*ends, c) for ends, c in pairs.items()}
