"""A chain's annotations as columns: what the rules become, and that they mean sums of products."""

from __future__ import annotations

from itertools import pairwise, product

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.diagnostics import ProgramError
from whence.engine.naive import evaluate
from whence.plan.build import build_plan, plan_stratum
from whence.rewrite.annotate import Annotation, annotate, carrying
from whence.rewrite.normalise import normalise
from whence.rewrite.pipeline import run_passes
from whence.rewrite.resolve_types import resolve_types
from whence.semiring.base import Chain, Times
from whence.syntax.nodes import Program
from whence.syntax.souffle import parse

INF = float("inf")
TROPICAL = Chain(Times.ADD, True, 0.0, INF)
VITERBI = Chain(Times.MULTIPLY, False, 1.0, 0.0)
FUZZY = Chain(Times.LEAST, False, 1.0, 0.0)
LUKASIEWICZ = Chain(Times.BOUNDED, False, 1.0, 0.0)
LEVELS = Chain(Times.GREATEST, True, 0.0, 9.0)

DECLS = """
.decl e(x: number, y: number, @prov)  .input e
.decl v(x: number)  .input v
.decl p(x: number, y: number)  .decl q(x: number)  .decl n(x: number, c: number)  .decl t()
"""


def program(text: str) -> Program:
    return normalise(resolve_types(parse(DECLS + text)))


def rules(text: str, chain: Chain = TROPICAL) -> list[str]:
    found = annotate(program(text), chain, {"e"})
    return str(Program(rules=found.rules)).splitlines()


def answers(text: str, chain: Chain, facts: dict[str, set[tuple[object, ...]]]):
    return evaluate(annotate(program(text), chain, {"e"}), facts)


@pytest.mark.parametrize(
    ("chain", "head"),
    [
        (TROPICAL, "_1 + _2 + _3"),
        (VITERBI, "_1 * _2 * _3"),
        (FUZZY, "min(_1, _2, _3)"),
        (LEVELS, "max(_1, _2, _3)"),
    ],
)
def test_a_head_carries_the_product_of_its_premises(chain, head):
    (rule,) = rules("p(x, x) :- e(x, y), e(y, z), e(z, x).", chain)
    assert rule == f"p(x, x, {head}) :- e(x, y, _1), e(y, z, _2), e(z, x, _3)."


def test_a_bounded_product_that_is_zero_is_no_fact():
    (rule,) = rules("p(x, z) :- e(x, y), e(y, z).", LUKASIEWICZ)
    assert rule.endswith("_3 = @bounded(_1, _2), _3 != 0.0.")
    found = answers(
        "p(x, z) :- e(x, y), e(y, z).",
        LUKASIEWICZ,
        {"e": {(1, 2, 0.5), (2, 3, 0.5), (2, 4, 0.75)}},
    )
    assert found["p"] == {(1, 4, 0.25)}


def test_a_repeated_premise_counts_each_time():
    found = answers("q(x) :- e(x, y), e(x, y).", TROPICAL, {"e": {(1, 2, 3.0)}})
    assert found["q"] == {(1, 6.0)}


def test_negation_and_aggregates_read_only_what_is_there():
    assert rules("q(x) :- v(x), !e(x, _).  n(x, c) :- v(x), c = count : { e(x, _) }.") == [
        "q(x) :- v(x), !e(x, _, _).",
        "n(x, c) :- v(x), c = count : { e(x, _1, _) }.",
    ]
    assert rules("q(x) :- e(x, y), x = sum z : { e(y, z), !e(z, x) }.") == [
        "q(x, _1) :- e(x, y, _1), x = sum z : { e(y, z, _), !e(z, x, _) }."
    ]


def test_only_what_derives_from_annotated_facts_carries_a_column():
    found = carrying(program("p(x, y) :- e(x, y). q(x) :- v(x). t() :- v(_), !p(_, _)."), {"e"})
    assert found == {"e", "p"}


def test_without_annotated_facts_the_program_stays_as_it_is():
    before = program("q(x) :- v(x). p(x, y) :- q(x), q(y).")
    assert annotate(before, TROPICAL, ()) is before


def test_a_fact_in_the_text_is_annotated_one():
    assert rules("e(1, 2). p(x, y) :- e(x, y).")[0] == "e(1, 2, 0.0)."
    assert rules("p(1, 2). p(x, y) :- e(x, y).", VITERBI)[0] == "p(1, 2, 1.0)."


def test_a_rule_over_unannotated_facts_derives_one():
    assert rules("q(x) :- e(x, _).  q(x) :- v(x).")[1] == "q(x, 0.0) :- v(x)."


def test_the_better_of_two_annotations_of_a_fact_counts():
    facts = {"e": {(1, 2, 3.0), (1, 2, 2.0)}}
    assert answers("p(x, y) :- e(x, y).", TROPICAL, facts)["p"] == {(1, 2, 2.0)}
    assert answers("p(x, y) :- e(x, y).", LEVELS, facts)["e"] == {(1, 2, 2.0)}
    best = {"e": {(1, 2, 0.5), (1, 2, 0.25)}}
    assert answers("p(x, y) :- e(x, y).", FUZZY, best)["e"] == {(1, 2, 0.5)}


def test_every_wildcard_binding_is_a_derivation():
    facts = {"e": {(1, 2, 3.0), (1, 3, 2.0)}}
    assert answers("q(x) :- e(x, _).  t() :- e(_, _).", TROPICAL, facts)["t"] == {(2.0,)}


def test_subsumption_of_annotated_facts_is_refused():
    text = "p(x, y) :- e(x, y).  p(x, y) <= p(x, z) :- z < y."
    with pytest.raises(ProgramError) as caught:
        rules(text)
    assert caught.value.diagnostics[0].code == "W0940"


def test_subsumption_of_facts_that_are_all_annotated_one_stays():
    text = "n(x, y) :- v(x), v(y). n(x, y) <= n(x, z) :- z < y, !e(z, y).  p(x, y) :- e(x, y)."
    found = annotate(program(text), TROPICAL, {"e"})
    assert "n(x, y) <= n(x, z) :- z < y, !e(z, y, _)." in str(found)


def test_every_annotated_relation_is_kept_by_key():
    text = (
        "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z). q(x) :- p(x, _), !p(_, x). t() :- q(_)."
    )
    steps = run_passes(
        resolve_types(parse(DECLS + text)),
        keep_all=True,
        annotation=Annotation(VITERBI, frozenset({"e"})),
    )
    assert "annotate" in dict(steps)
    assert not {"linearise", "magic_sets", "unfold", "factor_goal"} & dict(steps).keys()
    plans = [plan_stratum(stratum, {}) for stratum in build_plan(steps[-1][1]).strata]
    kept = {name: keyed.greatest for plan in plans for name, keyed in plan.keyed}
    assert {"p": True, "q": True, "t": True}.items() <= kept.items()


# ── against other judges ──

edges = st.dictionaries(
    st.tuples(st.integers(0, 4), st.integers(0, 4)), st.integers(0, 8), max_size=9
)


@given(edges)
def test_tropical_closure_is_dijkstra(weights):
    """Zero weights and non-linear recursion included."""
    text = "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z)."
    facts = {(x, y, float(w)) for (x, y), w in weights.items()}
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(facts)
    expected = set()
    for source, target in product(graph.nodes, repeat=2):
        # A path has one edge at least: to the source itself it goes round.
        ways = [
            graph[source][y]["weight"] + nx.dijkstra_path_length(graph, y, target)
            for y in graph.successors(source)
            if nx.has_path(graph, y, target)
        ]
        if ways:
            expected.add((source, target, min(ways)))
    assert answers(text, TROPICAL, {"e": facts})["p"] == expected


@given(edges, st.sampled_from((VITERBI, FUZZY, LUKASIEWICZ, LEVELS)))
def test_annotations_are_sums_over_simple_paths(weights, chain):
    """In an absorptive semiring no walk is better than the simple path within it."""
    scale = 1.0 if chain is LEVELS else 8.0
    facts = {(x, y): w / scale for (x, y), w in weights.items() if w / scale != chain.zero}
    graph = nx.DiGraph(facts.keys())
    combine = {
        Times.MULTIPLY: lambda a, b: a * b,
        Times.LEAST: min,
        Times.GREATEST: max,
        Times.BOUNDED: lambda a, b: max(0.0, a + b - 1),
    }[chain.times]
    best = min if chain.least else max
    expected = {}
    for x, y in product(graph.nodes, repeat=2):
        if x == y:
            continue
        for path in nx.all_simple_paths(graph, x, y):
            found = chain.one
            for edge in pairwise(path):
                found = combine(found, facts[edge])
            expected[x, y] = best(found, expected.get((x, y), chain.zero))
    text = "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z)."
    found = answers(text, chain, {"e": {(x, y, w) for (x, y), w in facts.items()}})["p"]
    assert {(x, y): w for x, y, w in found if x != y} == {
        pair: w for pair, w in expected.items() if w != chain.zero
    }
