"""Annotated views follow updates as evaluation from nothing does, and tell exactly what changed."""

from __future__ import annotations

import networkx as nx
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence import session
from whence.diagnostics import WhenceError
from whence.syntax.souffle import parse
from whence.view.base import Update

PROGRAM = """
.decl e(x: number, y: number, @prov)
.decl p(x: number, y: number, @prov)
.decl hidden(x: number)
.decl top(x: number, @prov)
.decl size(n: number, @prov)
.decl any(@prov)
p(x, y) :- e(x, y).
p(x, z) :- p(x, y), e(y, z).
hidden(x) :- p(x, _).
top(x) :- hidden(x), !p(_, x).
size(n) :- n = count : { p(_, _) }.
any() :- e(_, _).
"""
NONLINEAR = PROGRAM.replace("p(x, y), e(y, z)", "p(x, y), p(y, z)")
ACYCLIC = """
.decl e(x: number, y: number, @prov)
.decl p(x: number, y: number, @prov)
.decl hidden(x: number)
p(x, z) :- e(x, y), e(y, z).
p(x, y) :- e(x, y), e(y, x).
hidden(x) :- p(x, _).
"""
NAMES = ("e", "p", "hidden", "top", "size", "any")
CELLS = {
    "tropical": [0.0, 0.5, 1.0, 3.0],
    "viterbi": [0.25, 0.5, 1.0],
    "fuzzy": [0.25, 0.5, 1.0],
    "lukasiewicz": [0.25, 0.5, 0.75, 1.0],
    "boolean": [1],
    "access": ["public", "secret", "top-secret"],
    "why": ["p1", "p2", "p3"],
    "top-2": ["1", "2", "5"],
    "absorption": ["p1", "p2", "p3"],
    "probability": [0.25, 0.5, 1.0],
}
KINDS = {
    "boolean": pa.int64(),
    **dict.fromkeys(("access", "why", "top-2", "absorption"), pa.string()),
}

Pair = tuple[int, int, object]


def table(rows: list[Pair], semiring: str) -> pa.Table:
    x, y, a = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        [
            pa.array(x, pa.int64()),
            pa.array(y, pa.int64()),
            pa.array(a, KINDS.get(semiring, pa.float64())),
        ],
        names=["x", "y", "@prov"],
    )


def rows(found: pa.Table) -> set[tuple[object, ...]]:
    listed = list(zip(*(c.to_pylist() for c in found.columns), strict=True))
    assert len(set(listed)) == len(listed)
    return set(listed)


@st.composite
def histories(draw: st.DrawFn, semirings: list[str]) -> tuple[str, list[tuple[list, list]]]:
    semiring = draw(st.sampled_from(semirings))
    node = st.integers(0, 3)
    pair = st.tuples(node, node, st.sampled_from(CELLS[semiring]))
    batch = st.tuples(st.lists(pair, max_size=5), st.lists(pair, max_size=4))
    return semiring, draw(st.lists(batch, min_size=2, max_size=4))


def follow(text: str, semiring: str, batches: list[tuple[list[Pair], list[Pair]]]) -> None:
    program = parse(text)
    names = [name for name in NAMES if f".decl {name}(" in text]
    base: set[Pair] = set(batches[0][0])
    view = session.maintain(program, {"e": table(list(base), semiring)}, semiring=semiring)
    before = {name: rows(view.table(name)) for name in names}
    for came, went in batches[1:]:
        base = (base - set(went)) | set(came)
        changes = view.apply({"e": Update(table(came, semiring), table(went, semiring))})
        fresh = session.evaluate(program, {"e": table(list(base), semiring)}, semiring=semiring)
        assert rows(view.base("e")) == base
        for name in names:
            now = rows(view.table(name))
            assert now == rows(fresh.table(name)), name
            assert len(now) == view.size(name) == fresh.size(name)
            inserted = rows(changes[name].inserted) if name in changes else set()
            deleted = rows(changes[name].deleted) if name in changes else set()
            assert (inserted, deleted) == (now - before[name], before[name] - now), name
            if name in changes:
                assert changes[name].insertions == len(inserted)
                assert changes[name].deletions == len(deleted)
                assert inserted or deleted
            before[name] = now
        if base:
            some = sorted(base, key=str)[0]
            found = view.matching("e", (0, 1, 2), table([some], semiring))
            assert rows(found) == {some}
            keys = pa.table({"y": [some[1]]})
            assert rows(view.matching("e", (1,), keys)) == {r for r in base if r[1] == some[1]}


@pytest.mark.parametrize("text", [PROGRAM, NONLINEAR], ids=["linear", "nonlinear"])
@given(
    histories(["tropical", "viterbi", "fuzzy", "lukasiewicz", "boolean", "access"]),
)
def test_a_chain_is_maintained(text, history):
    follow(text, *history)


@given(histories(["why", "top-2", "absorption", "probability"]))
def test_other_semirings_are_evaluated_again(history):
    follow(PROGRAM, *history)


@given(histories(["tropical", "access", "why"]))
def test_without_recursion_as_well(history):
    follow(ACYCLIC, *history)


def test_a_change_of_annotation_alone_is_not_told_where_it_is_not_seen():
    for semiring, one, two in (("tropical", 1.0, 2.0), ("why", "a", "b")):
        view = session.maintain(
            parse(PROGRAM), {"e": table([(0, 1, one)], semiring)}, semiring=semiring
        )
        changes = view.apply(
            {"e": Update(table([(0, 1, two)], semiring), table([(0, 1, one)], semiring))}
        )
        assert set(changes) == {"e", "p", "top", "any"}


def test_a_batch_that_fails_changes_nothing():
    view = session.maintain(
        parse(ACYCLIC.replace("p(x, z) :- e(x, y), e(y, z).", "p(x, z) :- p(x, y), p(y, z).")),
        {"e": pa.table({"x": [0], "y": [1], "@prov": [1]})},
        semiring="counting",
    )
    before = rows(view.table("p"))
    with pytest.raises(WhenceError):
        view.apply({"e": Update(pa.table({"x": [1], "y": [0], "@prov": [1]}))})
    assert rows(view.base("e")) == {(0, 1, 1)}
    assert rows(view.table("p")) == before


def test_facts_of_the_text_are_base_facts_and_can_go():
    text = PROGRAM + " e(0, 1, 1). e(1, 2)."
    for semiring, one in (("tropical", 1.0), ("top-2", "1")):
        view = session.maintain(parse(text), semiring=semiring)
        assert {(0, 1, one)} <= rows(view.base("e"))
        view.apply({"e": Update(None, table([(0, 1, one)], semiring))})
        assert {r[:2] for r in rows(view.table("p"))} == {(1, 2)}


# ── against other judges ──

weighted = st.dictionaries(
    st.tuples(st.integers(0, 6), st.integers(0, 6)), st.integers(0, 9), max_size=16
)


@given(weighted)
def test_tropical_runs_are_dijkstra_and_a_subsumption_by_hand(weights):
    facts = [(x, y, float(w)) for (x, y), w in weights.items()]
    found = rows(
        session.evaluate(parse(PROGRAM), {"e": table(facts, "")}, semiring="tropical").table("p")
    )
    by_hand = session.evaluate(
        parse(
            """
            .decl e(x: number, y: number, c: float)
            .decl p(x: number, y: number, c: float)
            p(x, y, c) :- e(x, y, c).
            p(x, z, c + d) :- p(x, y, c), e(y, z, d).
            p(x, y, c) <= p(x, y, d) :- d < c.
            """
        ),
        {"e": table(facts, "").rename_columns(["x", "y", "c"])},
    )
    assert found == rows(by_hand.table("p"))
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(facts)
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph))
    assert {r for r in found if r[0] != r[1]} == {
        (x, y, d) for x, reached in lengths.items() for y, d in reached.items() if x != y
    }


@given(weighted, st.sampled_from(["tropical", "viterbi", "access", "why", "top-2", "boolean"]))
def test_the_support_is_that_of_the_plain_run(weights, semiring):
    cells = CELLS[semiring]
    facts = [(x, y, cells[w % len(cells)]) for (x, y), w in weights.items()]
    inputs = {"e": table(facts, semiring)}
    plain = session.evaluate(parse(PROGRAM), inputs, semiring="plain")
    annotated = session.evaluate(parse(PROGRAM), inputs, semiring=semiring)
    for name in NAMES:
        arity = plain.table(name).num_columns
        found = annotated.table(name, ordered=True)
        if arity:
            kept = found.select(range(arity))
            assert kept.to_pylist() == plain.table(name, ordered=True).to_pylist()
        else:
            assert found.num_rows == plain.size(name)
