"""Annotated relations stay the sums over their derivations while annotated facts come and go."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from property.agreement import long, quick
from view.judge import Judge
from view.knobs import turned
from whence.rewrite.annotate import annotate
from whence.semiring.base import Chain, Times
from whence.session import explain_maintenance, parse
from whence.syntax.nodes import Program

INF = float("inf")
CHAINS = {
    "tropical": (Chain(Times.ADD, True, 0.0, INF), [0.0, 0.1, 0.2, 0.3, 1e17]),
    "viterbi": (Chain(Times.MULTIPLY, False, 1.0, 0.0), [0.1, 0.7, 1.0]),
    "fuzzy": (Chain(Times.LEAST, False, 1.0, 0.0), [0.25, 0.5, 1.0]),
    "access": (Chain(Times.GREATEST, True, 0.0, INF), [0.0, 1.0, 2.0]),
    "lukasiewicz": (Chain(Times.BOUNDED, False, 1.0, 0.0), [0.1, 0.5, 0.7, 0.9, 1.0]),
}
DECLS = """
.decl e(x: number, y: number, @prov)
.decl f(x: number, y: number, @prov)
.decl n(x: number)
.decl p(x: number, y: number, @prov)
.decl q(x: number, y: number, @prov)
.decl r(x: number, @prov)
.decl c(x: number, k: number)
"""
PROGRAMS = (
    "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).",
    "p(x, y) :- e(x, y). p(x, z) :- p(x, y), q(y, z). q(x, y) :- f(x, y). q(x, z) :- q(x, y), p(y, z).",
    "p(x, y) :- e(x, y), !n(x). p(y, x) :- q(x, y), f(x, y). q(x, z) :- p(x, y), p(y, z), e(z, x).",
    "p(x, x) :- n(x). p(x, z) :- p(x, y), e(y, z), f(z, y). q(x, y) :- p(x, y), p(y, x).",
    "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z). q(x, y) :- p(x, y), f(x, y).",
)
READERS = "r(x) :- p(x, _), !n(x). c(x, k) :- n(x), k = count : { p(x, _) }. r(y) :- q(_, y)."


def program_of(rules: str, chain: Chain) -> Program:
    return annotate(parse(DECLS + rules + READERS), chain, {"e", "f"})


def play(name: str, rules: str, data: st.DataObject, threads: int) -> None:
    chain, annotations = CHAINS[name]
    node = st.integers(0, data.draw(st.sampled_from([3, 5])))
    row = st.tuples(node, node, st.sampled_from(annotations))
    rows = {"e": row, "f": row, "n": st.tuples(node)}
    facts = {k: data.draw(st.sets(v, max_size=7)) for k, v in rows.items()}
    with turned({"thread": threads}):
        judge = Judge(program_of(rules, chain), facts, ["auto", "recompute"])
        for _ in range(data.draw(st.integers(1, 5))):
            step = {}
            for relation in data.draw(st.sets(st.sampled_from(sorted(rows)), min_size=1)):
                held = sorted(judge.base[relation], key=repr)
                goes = data.draw(st.lists(st.sampled_from(held), max_size=4)) if held else []
                step[relation] = (data.draw(st.lists(rows[relation], max_size=3)), goes)
            judge.apply(step)
        judge.check_again()


@settings(quick, max_examples=20)
@given(
    st.sampled_from(sorted(CHAINS)),
    st.sampled_from(PROGRAMS),
    st.data(),
    st.sampled_from([1, 1 << 20]),
)
def test_annotations_follow_changes(
    name: str, rules: str, data: st.DataObject, threads: int
) -> None:
    play(name, rules, data, threads)


@pytest.mark.slow
@long
@given(
    st.sampled_from(sorted(CHAINS)),
    st.sampled_from(PROGRAMS),
    st.data(),
    st.sampled_from([1, 1 << 20]),
)
def test_annotations_follow_many_changes(
    name: str, rules: str, data: st.DataObject, threads: int
) -> None:
    play(name, rules, data, threads)


@pytest.mark.parametrize("rules", PROGRAMS)
def test_no_annotated_relation_is_computed_anew(rules: str) -> None:
    shown = explain_maintenance(program_of(rules, CHAINS["tropical"][0]))
    assert "annotations: a value stays" in shown
    assert "recompute:" not in shown


def test_annotations_of_a_larger_graph_follow_changes() -> None:
    luck = random.Random(3)
    nodes = range(14)
    edges = {(luck.choice(nodes), luck.choice(nodes), float(luck.randrange(4))) for _ in range(60)}
    judge = Judge(program_of(PROGRAMS[0], CHAINS["tropical"][0]), {"e": edges}, ["auto"])
    for _ in range(6):
        goes = luck.sample(sorted(judge.base["e"]), 4)
        comes = [(x, y, float(luck.randrange(4))) for x, y, _ in goes[:3]]
        judge.apply({"e": (comes, goes)})


@pytest.mark.parametrize("name", ["fuzzy", "access"])
def test_equal_values_round_a_cycle_do_not_hold_each_other_up(name: str) -> None:
    chain, (_, low, *_) = CHAINS[name]
    edges = {(0, 1, low), (1, 2, low), (2, 1, low), (2, 3, low)}
    judge = Judge(program_of(PROGRAMS[0], chain), {"e": edges}, ["auto"])
    judge.apply({"e": ([], [(0, 1, low)])})
    assert {row[:2] for row in judge.rows("p")} == {(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)}


def test_a_value_that_improves_leaves_what_it_derives_equally_well_supported() -> None:
    """The cycle 1 → 2 → 1 must not keep what came from 0 once a better way has been and gone."""
    chain, _ = CHAINS["access"]
    edges = {(0, 1, 2.0), (1, 2, 2.0), (2, 1, 0.0)}
    judge = Judge(program_of(PROGRAMS[0], chain), {"e": edges}, ["auto"])
    judge.apply({"e": ([(0, 1, 1.0)], [])})
    judge.apply({"e": ([], [(0, 1, 2.0)])})
    judge.apply({"e": ([], [(0, 1, 1.0)])})
    assert not [row for row in judge.rows("p") if row[0] == 0]


@pytest.mark.parametrize("rules", [PROGRAMS[0], PROGRAMS[4]])
def test_doubts_that_are_rounded_do_not_hold_each_other_up(rules: str) -> None:
    chain, _ = CHAINS["lukasiewicz"]
    facts = {"e": {(1, 2, 0.1), (2, 3, 1.0), (3, 2, 1.0), (3, 4, 0.3)}}
    judge = Judge(program_of(rules, chain), facts, ["auto", "recompute"])
    assert (1, 3, 0.1) in judge.rows("p")
    judge.apply({"e": ([], [(1, 2, 0.1)])})
    assert (2, 4, 0.3) in judge.rows("p")


@pytest.mark.parametrize(("name", "far"), [("tropical", 1e308), ("viterbi", 1e-200)])
def test_products_beyond_what_a_float_holds_are_kept_as_a_fresh_run_has_them(
    name: str, far: float
) -> None:
    chain, _ = CHAINS[name]
    edges = {(0, 1, far), (1, 2, far), (2, 3, far)}
    judge = Judge(program_of(PROGRAMS[0], chain), {"e": edges}, ["auto"])
    assert (0, 2, chain.zero) in judge.rows("p")
    judge.apply({"e": ([(3, 0, far)], [(0, 1, far)])})
    judge.apply({"e": ([(0, 1, far)], [(1, 2, far)])})
