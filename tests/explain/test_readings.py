"""Witnesses, polynomials and annotations of single facts, beside graphs and whole relations."""

from __future__ import annotations

from itertools import islice

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from property.agreement import resolved
from property.cases import Case, cases
from property.programs import Features
from whence import Database, Limits
from whence.diagnostics import DataError, LimitError, UsageError
from whence.engine import naive
from whence.explain.model import Fact
from whence.syntax.nodes import Negation, walk

PATHS = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
"""
NODES = st.integers(0, 4)
GRAPHS = st.sets(st.tuples(NODES, NODES).filter(lambda e: e[0] != e[1]), min_size=1, max_size=9)
ACYCLIC = st.sets(st.tuples(NODES, NODES).filter(lambda e: e[0] < e[1]), min_size=1, max_size=9)
SIMPLE = Features(aggregates=False, nested_aggregates=False, subsumption=False, rules=3)

Edges = set[tuple[int, int]]


def database(edges: Edges, **more: object) -> Database:
    db = Database(**more)  # type: ignore[arg-type]
    db.load(PATHS)
    db.insert("edge", sorted(edges))
    return db


def paths(edges: Edges, source: int, target: int) -> set[frozenset[tuple[int, int]]]:
    found = nx.all_simple_edge_paths(nx.DiGraph(list(edges)), source, target)
    return {frozenset(path) for path in found}


@given(GRAPHS)
@settings(max_examples=30, deadline=None)
def test_minimal_witnesses_of_a_path_are_the_simple_paths(edges: Edges) -> None:
    db = database(edges)
    for source, target in db["path"].rows():
        if source == target:
            continue
        found = list(db.witnesses(Fact("path", (source, target))))
        sets = [frozenset(base.row for base in witness) for witness in found]
        assert len(set(sets)) == len(sets)
        assert set(sets) == paths(edges, source, target)  # type: ignore[comparison-overlap]


@given(ACYCLIC)
@settings(max_examples=20, deadline=None)
def test_the_polynomial_has_a_monomial_for_each_path(edges: Edges) -> None:
    db = database(edges)
    for source, target in db["path"].rows():
        fact = f"path({source}, {target})"
        monomials = {frozenset(m.split("·")) for m in db.polynomial(fact).split(" + ")}
        assert monomials == {
            frozenset(f"edge({x}, {y})" for x, y in path) for path in paths(edges, source, target)
        }
        counted = db.annotations(fact, "counting")
        assert next(iter(counted.values())) == len(monomials)
        assert str(next(iter(counted))) == fact


def is_positive(case: Case) -> bool:
    literals = [literal for rule in case.program.rules for literal in rule.body]
    return not any(isinstance(n, Negation) for literal in literals for n in walk(literal))


@given(cases(SIMPLE).filter(is_positive))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_fact_follows_from_each_witness_and_not_without_any_of_it(case: Case) -> None:
    db = Database()
    db.load(case.program)
    for name, rows in case.facts.items():
        db.insert(name, sorted(rows, key=repr))
    program = resolved(case.program)
    whole = naive.evaluate(program, case.facts)
    derived = [Fact(n, row) for n in sorted(whole) if n not in case.facts for row in whole[n]]
    for fact in sorted(derived, key=str)[:4]:
        for witness in islice(db.witnesses(fact), 3):
            assert holds(program, fact, witness)
            for left_out in witness:
                rest = [base for base in witness if base != left_out]
                assert not holds(program, fact, rest)


def holds(program: object, fact: Fact, base: object) -> bool:
    facts: dict[str, set[tuple[object, ...]]] = {}
    for each in base:  # type: ignore[attr-defined]
        facts.setdefault(each.relation, set()).add(each.row)
    return fact.row in naive.evaluate(program, facts)[fact.relation]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "semiring", ["boolean", "tropical", "viterbi", "counting-inf", "why", "absorption", "top-2"]
)
def test_annotations_of_single_facts_are_those_of_the_relation(semiring: str) -> None:
    db = Database(semiring=semiring)
    db.load(PATHS)
    db.insert("edge", [(1, 2), (2, 3), (3, 1), (1, 3), (3, 4)])
    assert db.semiring is not None
    for *row, cell in db["path"].rows():
        values = db.annotations(Fact("path", tuple(row)))
        assert str(db.semiring.show(next(iter(values.values())))) == str(
            db.semiring.show(db.semiring.read(cell))
        )


def test_annotations_begin_with_those_of_the_facts() -> None:
    db = Database(semiring="tropical")
    db.load(PATHS.replace("y: number)", "y: number, @prov)"))
    db.insert("edge", [(1, 2, 4), (2, 3, 1), (1, 3, 9)])
    found = {str(fact): value for fact, value in db.annotations("path(1, 3)").items()}
    assert found["path(1, 3)"] == 5
    assert (found["edge(1, 3)"], found["edge(1, 2)"]) == (9, 4)
    db.insert("edge", [(1, 3, 2)])
    assert next(iter(db.annotations("path(1, 3)").values())) == 2
    assert next(iter(db.annotations("path(1, 3)", "counting").values())) == 2


def test_witnesses_follow_changes() -> None:
    db = database({(1, 2), (2, 3), (1, 3)})
    assert len(list(db.witnesses("path(1, 3)"))) == 2
    db.delete("edge", [(1, 3)])
    (only,) = db.witnesses("path(1, 3)")
    assert [str(base) for base in only] == ["edge(1, 2)", "edge(2, 3)"]
    with pytest.raises(UsageError, match="W0951"):
        db.witnesses("path(3, 1)")


def test_a_fact_that_needs_nothing_has_the_empty_witness() -> None:
    db = Database()
    db.load(".decl a(x: number)\n.decl b(x: number)\nb(x) :- x = 1.\na(x) :- b(x).")
    assert list(db.witnesses("a(1)")) == [()]
    assert db.polynomial("a(1)") == "1"


def test_a_polynomial_without_end_shows_the_cycle() -> None:
    db = database({(1, 2), (2, 1)})
    with pytest.raises(DataError, match=r"W0931.*\n") as error:
        db.polynomial("path(1, 1)")
    assert "path(2, 1)" in str(error.value)


def test_facts_without_annotations_have_none_to_tell() -> None:
    with pytest.raises(UsageError, match="W0824"):
        database({(1, 2)}).annotations("path(1, 2)")


def test_the_search_for_witnesses_ends_with_the_time() -> None:
    wide = {
        (layer * 10 + a, layer * 10 + 10 + b)
        for layer in range(9)
        for a in range(4)
        for b in range(4)
    }
    db = database(wide, limits=Limits(timeout=1.0))
    with pytest.raises(LimitError, match="W0702"):
        for _ in db.witnesses("path(0, 90)"):
            pass
