"""Proofs of single facts: through negation, aggregates, records, subsumption; deep and shared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explain.checker import State, check_proof
from property.agreement import quick
from whence import Database, session
from whence.diagnostics import DataError, LimitError, UsageError, WhenceError
from whence.explain.model import Absence, Cut, Derived, Fact, Folded, Given, Holds, Premise, Proof
from whence.session import explainer, parse

CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
COSTS = """
.decl edge(x: number, y: number, @prov:tropical)
.decl path(x: number, y: number, @prov:tropical)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
few = settings(quick, max_examples=25)


def loaded(text: str, **edges: list[tuple[object, ...]]) -> Database:
    db = Database()
    db.load(text)
    for name, rows in edges.items():
        db.insert(name, rows)
    return db


def proved(db: Database, fact: str, **options: object) -> Derived:
    proof = db.why(fact, **options)  # type: ignore[arg-type]
    assert isinstance(proof, Derived)
    return proof


def steps(proof: Proof) -> Iterator[Premise]:
    """Every part of a proof once."""
    seen: set[int] = set()
    pending: list[Premise] = [proof]
    while pending:
        step = pending.pop()
        if id(step) in seen:
            continue
        seen.add(id(step))
        yield step
        pending += getattr(step, "premises", ()) or getattr(step, "over", ())


def refusal(db: Database, fact: str, **options: object) -> WhenceError:
    with pytest.raises(WhenceError) as caught:
        db.why(fact, **options)  # type: ignore[arg-type]
    return caught.value


# ── what a proof holds ──


def test_a_base_fact_was_given() -> None:
    assert loaded(CLOSURE, edge=[(1, 2)]).why("edge(1, 2)") == Given(Fact("edge", (1, 2)))


def test_a_derived_fact_names_its_rule_its_values_and_its_premises() -> None:
    proof = proved(loaded(CLOSURE, edge=[(1, 2), (2, 3)]), "path(1, 3)")
    assert (proof.number, proof.height) == (2, 2)
    assert dict(proof.bindings) == {"x": 1, "y": 2, "z": 3}
    assert [p.fact for p in proof.premises] == [Fact("path", (1, 2)), Fact("edge", (2, 3))]  # type: ignore[union-attr]


def test_negations_and_constraints_are_premises_in_the_order_of_the_body() -> None:
    db = loaded(
        ".decl a(x: number)  .decl b(x: number, y: number)  .decl c(x: number)"
        "c(x + 1) :- a(x), !b(x, _), x * 2 < 9.",
        a=[(4,)],
    )
    assert proved(db, "c(5)").premises == (
        Given(Fact("a", (4,))),
        Absence("b", (4, None), "!b(4, _)"),
        Holds("4 * 2 < 9"),
    )


def test_an_aggregate_tells_its_value_its_size_and_some_of_its_facts() -> None:
    db = loaded(
        ".decl a(x: number, y: number)  .decl s(x: number, n: number)"
        "s(x, n) :- a(x, _), n = sum y : { a(x, y) }.",
        a=[(1, y) for y in range(1, 6)],
    )
    (folded,) = [p for p in proved(db, "s(1, 15)").premises if isinstance(p, Folded)]
    assert (folded.text, folded.value, folded.size) == ("sum y : { a(1, y) }", 15, 5)
    assert len(folded.over) == 3
    assert (
        len(next(p for p in steps(db.why("s(1, 15)", over=9)) if isinstance(p, Folded)).over) == 5
    )


@pytest.mark.parametrize("function", ["min", "max"])
def test_a_minimum_is_over_the_facts_that_reach_it_first(function: str) -> None:
    db = loaded(
        f".decl a(x: number)  .decl b(n: number)  b(n) :- n = {function} x : {{ a(x) }}.",
        a=[(x,) for x in range(10)],
    )
    best = 0 if function == "min" else 9
    (folded,) = proved(db, f"b({best})", over=1).premises
    assert isinstance(folded, Folded)
    assert folded.over == (Given(Fact("a", (best,))),)


def test_what_an_aggregate_is_over_is_proved_in_turn() -> None:
    db = loaded(
        CLOSURE
        + ".decl n(x: number, c: number)  n(x, c) :- edge(x, _), c = count : { path(x, _) }.",
        edge=[(1, 2), (2, 3)],
    )
    over = [p for step in steps(db.why("n(1, 2)")) if isinstance(step, Folded) for p in step.over]
    assert {p.fact for p in over} == {Fact("path", (1, 2)), Fact("path", (1, 3))}
    assert all(isinstance(p, Derived) for p in over)


def test_a_witness_of_a_minimum_is_a_premise() -> None:
    db = loaded(
        ".decl cost(x: symbol, c: number)  .decl best(x: symbol, c: number)"
        "best(x, c) :- c = min k : { cost(x, k) }.",
        cost=[("a", 3), ("b", 1)],
    )
    assert Given(Fact("cost", ("b", 1))) in proved(db, 'best("b", 1)').premises


def test_records_are_values() -> None:
    db = loaded(
        ".type L = [h: number, t: L]  .decl l(x: L)  .decl n(x: L, n: number)"
        "l(t) :- l([_, t]), t != nil.  n(nil, 0).  n([h, t], c + 1) :- l([h, t]), n(t, c).",
        l=[((1, (2, None)),)],
    )
    proof = proved(db, "n([1, [2, nil]], 2)")
    assert proof.fact.row == ((1, (2, None)), 2)
    assert {s.fact for s in steps(proof) if isinstance(s, Given)} == {
        Fact("l", ((1, (2, None)),)),
        Fact("n", (None, 0)),
    }


def test_an_inline_relation_is_explained_by_its_own_rules() -> None:
    db = loaded(
        ".decl e(x: number, y: number)  .decl near(a: number, b: number) inline  "
        "near(a, b) :- a = b.  near(a, b) :- e(a, b).",
        e=[(1, 2)],
    )
    assert proved(db, "near(1, 2)").number == 2
    assert proved(db, "near(7, 7)").number == 1
    assert refusal(db, "near(2, 1)").diagnostics[0].code == "W0951"


def test_a_rule_keeps_its_number_through_its_alternatives_and_heads() -> None:
    db = loaded(
        ".decl a(x: number)  .decl b(x: number)  .decl c(x: number)  .decl d(x: number)"
        "a(1).  c(x), d(x) :- (a(x) ; b(x), x > 3), !(a(x), b(x)).",
        b=[(4,)],
    )
    for fact in ("c(1)", "d(1)", "c(4)", "d(4)"):
        proof = proved(db, fact)
        assert proof.number == 2
        assert proof.rule == db.program.rules[1]


def test_facts_of_the_text_were_given_however_they_are_written() -> None:
    db = loaded(".decl a(x: number)  a(1 + 1).  a(x + 1) :- a(x), x < 4.")
    assert isinstance(db.why("a(2)"), Given)
    assert proved(db, "a(4)").height == 2


def test_a_fact_that_is_given_and_derived_is_given() -> None:
    db = loaded(CLOSURE, edge=[(1, 2), (2, 3)], path=[(1, 3)])
    assert isinstance(db.why("path(1, 3)"), Given)


def test_a_functor_without_value_derives_nothing() -> None:
    db = loaded(
        ".decl a(x: number, y: number)  .decl q(x: number, z: number)"
        "q(x, z) :- a(x, y), z = x / y, y != 0.",
        a=[(4, 0), (4, 2)],
    )
    assert dict(proved(db, "q(4, 2)").bindings)["y"] == 2


# ── height, depth, size ──


def test_the_proof_of_a_cycle_does_not_go_round() -> None:
    proof = proved(loaded(CLOSURE, edge=[(1, 2), (2, 1)]), "path(1, 1)")
    assert proof.height == 2


def test_a_proof_is_as_low_as_the_shortest_path() -> None:
    db = loaded(CLOSURE, edge=[(i, i + 1) for i in range(30)] + [(0, 28)])
    assert proved(db, "path(0, 30)").height == 3


def test_doubling_rules_give_proofs_of_logarithmic_height() -> None:
    text = CLOSURE.replace("path(x, y), edge(y, z)", "path(x, y), path(y, z)")
    db = loaded(text, edge=[(i, i + 1) for i in range(64)])
    assert proved(db, "path(0, 64)").height == 7


def test_rules_that_take_too_long_as_written_are_explained_by_the_rounds_of_quicker_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "_PATIENCE", (0.0, 0.0))
    text = CLOSURE.replace("path(x, y), edge(y, z)", "path(x, y), path(y, z)")
    edges = [(i, (i + 1) % 12) for i in range(12)]
    db = loaded(text, edge=edges)
    state = State(db.program, {n: set(db[n].rows()) for n in ("edge", "path")}, {"edge": {*edges}})
    for fact in state.facts():
        check_proof(db.why(fact), state)
    assert proved(db, "path(0, 8)", minimal=True).height == 4


def test_heights_are_least_over_several_strata() -> None:
    """The first rule is quicker within its own stratum and slower in all."""
    db = loaded(
        CLOSURE
        + ".decl top(x: number)"
        + "top(x) :- path(0, x), path(x, 9).  top(x) :- edge(x, y), edge(y, x).",
        edge=[(i, i + 1) for i in range(9)] + [(8, 7)],
    )
    proof = proved(db, "top(8)")
    assert (proof.number, proof.height) == (4, 1)


def test_the_same_fact_is_proved_once() -> None:
    text = CLOSURE.replace("path(x, y), edge(y, z)", "path(x, y), path(y, z)")
    db = loaded(text, edge=[(i, i + 1) for i in range(40)])
    found = [s.fact for s in steps(db.why("path(0, 40)")) if isinstance(s, Derived)]
    assert len(found) == len(set(found))


def test_a_proof_may_be_ten_thousand_steps_deep() -> None:
    length = 10_000
    db = loaded(
        ".decl next(x: number, y: number)  .decl on(x: number)on(0).  on(y) :- on(x), next(x, y).",
        next=[(i, i + 1) for i in range(length)],
    )
    proof = proved(db, f"on({length})")
    assert proof.height == length
    assert proved(db, f"on({length})", minimal=True).height == length
    assert proved(db, f"on({length})", depth=2).height == length


def test_a_depth_cuts_proofs_and_keeps_heights() -> None:
    db = loaded(CLOSURE, edge=[(i, i + 1) for i in range(6)])
    proof = proved(db, "path(0, 6)", depth=2)
    assert proof.height == 6
    cut = [s for s in steps(proof) if isinstance(s, Cut)]
    assert cut == [Cut(Fact("path", (0, 4)), 4)]


def test_a_proof_beyond_the_limit_is_refused_unless_it_is_cut() -> None:
    db = loaded(CLOSURE, edge=[(i, i + 1) for i in range(50)])
    assert refusal(db, "path(0, 50)", limit=20).diagnostics[0].code == "W0953"
    assert isinstance(db.why("path(0, 50)", limit=20, depth=3), Derived)


# ── after changes, under subsumption, in a semiring ──


def test_a_proof_follows_the_facts() -> None:
    db = loaded(CLOSURE, edge=[(1, 2), (2, 3), (1, 9), (9, 8), (8, 3)])
    assert proved(db, "path(1, 3)").height == 2
    db.delete("edge", [(1, 2)])
    assert proved(db, "path(1, 3)").height == 3
    db.insert("edge", [(1, 3)])
    assert proved(db, "path(1, 3)", minimal=True).height == 1
    db.delete("edge", [(1, 3), (8, 3)])
    assert isinstance(refusal(db, "path(1, 3)"), UsageError)


def test_asking_what_if_leaves_proofs_alone() -> None:
    db = loaded(CLOSURE, edge=[(1, 2), (2, 3)])
    before = db.why("path(1, 3)")
    db.what_if(delete="edge(1, 2)")
    assert db.why("path(1, 3)") == before


def test_a_best_fact_is_proved_from_best_facts() -> None:
    db = loaded(
        ".decl e(x: number, y: number, c: number)  .decl p(x: number, y: number, c: number)"
        "p(x, y, c) :- e(x, y, c).  p(x, z, a + b) :- p(x, y, a), e(y, z, b)."
        "p(x, y, c) <= p(x, y, d) :- d < c.",
        e=[(1, 2, 1), (2, 3, 1), (1, 3, 5), (3, 1, 0)],
    )
    assert proved(db, "p(1, 3, 2)").number == 2
    assert proved(db, "p(1, 1, 2)").height == 3
    db.delete("e", [(2, 3, 1)])
    assert proved(db, "p(1, 3, 5)").number == 1


def test_a_best_fact_may_have_been_given() -> None:
    db = loaded(
        ".decl e(x: number, c: number)  .decl p(x: number, c: number)"
        "p(x, c) :- e(x, c).  p(y, c + 1) :- p(x, c), y = x + 1, x < 5."
        "p(x, c) <= p(x, d) :- d < c.",
        e=[(1, 4)],
        p=[(2, 0), (1, 9)],
    )
    assert proved(db, "p(1, 4)").number == 1
    assert isinstance(db.why("p(2, 0)"), Given)
    assert proved(db, "p(4, 2)").height == 2
    db.delete("p", [(2, 0)])
    assert proved(db, "p(2, 5)").height == 2


@pytest.mark.parametrize("semiring", ["counting", "probability", "why"])
def test_any_annotated_database_proves_its_facts(semiring: str) -> None:
    db = Database(semiring=semiring)
    db.load(CLOSURE)
    db.insert("edge", [(1, 2), (2, 3), (1, 3)])
    assert proved(db, "path(1, 3)").height == 1
    db.delete("edge", [(1, 3)])
    assert proved(db, "path(1, 3)").height == 2
    assert isinstance(db.why("edge(1, 2)"), Given)


def test_a_reader_of_a_folder_proves_what_was_committed(tmp_path: Path) -> None:
    with Database(tmp_path / "db") as db:
        db.load(CLOSURE)
        db.insert("edge", [(1, 2), (2, 3)])
        reader = Database(tmp_path / "db", read_only=True)
        assert proved(reader, "path(1, 3)").height == 2


def test_a_fact_that_was_not_followed_is_not_said_to_be_false() -> None:
    db = loaded(
        ".decl e(x: number, y: number, c: number)  .decl p(x: number, y: number, c: number)"
        ".decl s(x: number, y: number, c: number)"
        "p(x, y, c) :- e(x, y, c).  p(x, z, a + b) :- p(x, y, a), e(y, z, b)."
        "s(x, y, c) :- p(x, y, _), c = min k : { p(x, y, k) }.",
        e=[(1, 2, 1), (2, 1, 1)],
    )
    assert proved(db, "s(1, 1, 2)").number == 3
    (note,) = refusal(db, "p(1, 1, 1000)").diagnostics[0].notes
    assert "only the best tuples of `p` are followed" in note
    assert any("only the best" in reason for reason in db.why_not("p(1, 1, 1000)").reasons)


def test_a_premise_that_subsumption_dropped_is_told() -> None:
    db = loaded(
        ".decl a(x: number)  .decl b(x: number)  b(x) :- a(x).  b(x + 10) :- b(x), x < 5."
        "b(x) <= b(y) :- y > x.",
        a=[(1,)],
    )
    assert db["b"].rows() == [(11,)]
    error = refusal(db, "b(11)")
    assert isinstance(error, DataError)
    assert error.diagnostics[0].code == "W0954"


def cost_of(proof: Proof) -> float:
    match proof:
        case Given(annotation=annotation):
            return float(annotation)  # type: ignore[arg-type]
        case Derived(premises=premises):
            return sum(cost_of(p) for p in premises if isinstance(p, Given | Derived))
    raise AssertionError(proof)


def test_a_proof_is_of_least_cost_in_a_tropical_database() -> None:
    db = loaded(COSTS, edge=[(1, 2, 1.0), (2, 3, 1.0), (1, 3, 5.0)])
    proof = proved(db, "path(1, 3)")
    assert (proof.annotation, cost_of(proof), proof.height) == (2, 2, 2)
    plain = proved(db, "path(1, 3)", semiring="plain")
    assert (plain.height, plain.annotation) == (1, None)
    db.delete("edge", [(2, 3, 1.0)])
    assert proved(db, "path(1, 3)").annotation == 5


@few
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 5), st.integers(0, 5)), st.integers(0, 3), min_size=1, max_size=14
    )
)
def test_least_cost_is_dijkstra_on_plateaus_too(costs: dict[tuple[int, int], int]) -> None:
    db = loaded(COSTS, edge=[(x, y, float(c)) for (x, y), c in costs.items()])
    graph = nx.DiGraph()
    graph.add_weighted_edges_from((x, y, c) for (x, y), c in costs.items())
    length = dict(nx.all_pairs_dijkstra_path_length(graph))
    for x, y, _ in db["path"].rows():
        proof = proved(db, f"path({x}, {y})")
        assert cost_of(proof) == proof.annotation
        if x != y:
            assert proof.annotation == length[x][y]


def test_a_semiring_without_order_has_no_best_proof() -> None:
    db = loaded(CLOSURE, edge=[(1, 2)])
    assert refusal(db, "path(1, 2)", semiring="counting").diagnostics[0].code == "W0955"


# ── what is asked ──


@pytest.mark.parametrize(
    ("fact", "code"),
    [
        ("path(1, x)", "W0950"),
        ("path(1, _)", "W0950"),
        ("pth(1, 2)", "W0804"),
        ("path(1)", "W0805"),
        ('path("a", 2)', "W0806"),
        ("path(1.5, 2)", "W0806"),
        ("path(9223372036854775808, 2)", "W0806"),
        ("path(99999999999999999999, 2)", "W0108"),
        ("path(1,", "W0101"),
        ("path(2, 1)", "W0951"),
    ],
)
def test_a_question_that_has_no_answer_says_why(fact: str, code: str) -> None:
    error = refusal(loaded(CLOSURE, edge=[(1, 2)]), fact)
    assert isinstance(error, UsageError)
    assert error.diagnostics[0].code == code


def test_an_annotation_in_a_question_is_told_to_be_none_of_its_columns() -> None:
    text = CLOSURE.replace("path(x: number, y: number)", "path(x: number, y: number, @prov)")
    assert text != CLOSURE
    error = refusal(loaded(text, edge=[(1, 2)]), "path(1, 2, 0.5)")
    assert error.diagnostics[0].code == "W0805"
    assert "annotation" in error.diagnostics[0].hint


def test_facts_that_match_a_pattern_are_offered() -> None:
    error = refusal(loaded(CLOSURE, edge=[(1, 2), (2, 3)]), "path(1, x)")
    assert "`path(1, 2)`" in error.diagnostics[0].hint


def test_a_fact_may_be_given_as_a_value() -> None:
    db = loaded(".decl a(x: float)  .decl b(x: float)  b(x) :- a(x).", a=[(1.0,)])
    assert db.why(Fact("b", (1,))) == db.why("b(1.0)")
    with pytest.raises(UsageError):
        db.why(Fact("b", ("one",)))
    with pytest.raises(UsageError):
        db.why(Fact("b", ((1, 2),)))


def test_a_program_is_explained_without_a_database() -> None:
    text = CLOSURE + "edge(1, 2). edge(2, 3)."
    assert repr(explainer(parse(text)).why("path(1, 3)")) == (
        "<Derived path(1, 3) by rule 2, height 2>"
    )


# ── all derivations ──


def test_a_cone_holds_cycles() -> None:
    cone = loaded(CLOSURE, edge=[(1, 2), (2, 1)]).derivations("path(1, 1)")
    assert set(cone.facts) == {
        Fact("path", (1, 1)),
        Fact("path", (1, 2)),
        Fact("edge", (1, 2)),
        Fact("edge", (2, 1)),
    }
    assert cone.graph.instances == 3
    assert [cone.base[i] for i, fact in enumerate(cone.facts) if fact.relation == "edge"] == [
        True
    ] * 2


def test_a_cone_beyond_the_limit_is_refused() -> None:
    db = loaded(CLOSURE, edge=[(i, j) for i in range(8) for j in range(8)])
    with pytest.raises(LimitError) as caught:
        db.derivations("path(0, 1)", limit=50)
    assert caught.value.diagnostics[0].code == "W0953"


def test_a_cone_tells_what_instances_rest_on_beside_facts() -> None:
    db = loaded(
        ".decl a(x: number)  .decl b(x: number)  .decl c(x: number)  c(x) :- a(x), !b(x), x < 3.",
        a=[(1,)],
    )
    assert db.derivations("c(1)").beside == ((Absence("b", (1,), "!b(1)"), Holds("1 < 3")),)
