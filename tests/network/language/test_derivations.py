"""Where tuples cannot support themselves, no instance of a rule ever closes a circle."""

from __future__ import annotations

from itertools import product

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.analysis.ndlog.derivations import acyclic
from whence.analysis.ndlog.state import relations
from whence.functor.ndlog import FUNCTIONS, OPERATORS
from whence.network.definition import central
from whence.network.protocols.library import protocol
from whence.syntax.ndlog import parse_ndlog
from whence.syntax.nodes import Atom, Call, Constant, Constraint, Record, Variable

TABLES = "".join(f"materialize({name}, infinity, infinity, keys()). " for name in ("l", "p", "q"))


def doubtful(text):
    program = parse_ndlog(TABLES + text)
    return set(relations(program)) - acyclic(program)


@pytest.mark.parametrize(
    "text",
    [
        "q(@X) :- p(@X).",
        "p(@S, P) :- #l(@S, Z), p(@Z, Q), P = f_concatPath(S, Q).",
        "p(@D, f_concatPath(P, D)) :- #l(@S, D), p(@S, P).",
        "p(@S, P) :- #l(@S, Z), p(@Z, Q), P = [S, Q].",
        "p(@S, P) :- #l(@S, Z), p(@Z, Q), P = f_tail(Q).",
        "p(@S, P) :- #l(@S, Z), p(@Z, Q), R = f_tail(Q), P = f_removeLast(R).",
        "p(@S, 0) :- #l(@S, D). p(@S, N) :- #l(@S, Z), p(@Z, M), N = M + 1.",
        "p(@S, 9) :- #l(@S, D). p(@S, N) :- #l(@S, Z), p(@Z, M), N = M - 1.",
        "p(@S, 0) :- #l(@S, D). p(@S, N) :- q(@S, M), N = f_sum(2, M). q(@S, M) :- p(@S, M).",
    ],
)
def test_a_column_that_only_grows_or_shrinks_is_a_proof(text):
    assert doubtful(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "p(@S, D) :- #l(@S, Z), p(@Z, D).",
        "p(@S, C) :- #l(@S, Z, D), p(@Z, E), C = D + E.",
        "p(@S, N) :- #l(@S, Z), p(@Z, M), N = M + 0.",
        "p(@S, N) :- #l(@S, Z), p(@Z, M), N = M + 0.5.",
        "p(@S, N) :- #l(@S, N), p(@S, M). p(@S, N) :- #l(@S, Z), p(@Z, M), N = M + 1.",
        "p(@S, N) :- p(@S, M), N = M + 1. p(@S, N) :- p(@S, M), N = M - 1. p(@S, 0) :- #l(@S, D).",
        "p(@S, P) :- p(@S, Q), P = f_concatPath(S, Q). p(@S, P) :- p(@S, Q), P = f_tail(Q).",
        "p(@S, P) :- #l(@S, Z), p(@Z, Q), P = f_reverse(Q).",
        "p(@S, P) :- #l(@S, P), p(@S, Q).",
        "p(@S, P, Q) :- p(@S, Q, R), P = [R].",
        "p(@S, M) :- q(@S, M). q(@S, M) :- p(@S, M).",
    ],
)
def test_anything_else_is_doubtful(text):
    assert "p" in doubtful(text)


def test_what_an_archival_rule_keeps_is_no_support():
    assert doubtful("p(@S, D) :- event(@S, D). event(@S, D) :- p(@S, D), #l(@S, D).") == set()


def test_paths_with_their_vectors_are_acyclic_and_reachability_is_not():
    assert "path" in acyclic(protocol("best_path"))
    assert "reachable" not in acyclic(protocol("reachable"))


# ── against all instances of the rules, by brute force

STEPS = [
    "f_concatPath(S, V)",
    "f_tail(V)",
    "f_reverse(V)",
    "f_append(V, Z)",
    "[V]",
    "V",
    "V + 1",
    "V - 1",
    "V + 0",
    "f_init(S, Z)",
    "3",
]
BEGIN = ["f_init(S, Z)", "0", "[S]", "2"]


@st.composite
def recursive_programs(draw):
    step, begin = st.sampled_from(STEPS), st.sampled_from(BEGIN)
    rules = [f"p(@S, W) :- #l(@S, Z), W = {draw(begin)}."]
    for _ in range(draw(st.integers(1, 2))):
        head, premise = draw(st.sampled_from(["pp", "pq", "qp"]))
        rules.append(f"{head}(@S, W) :- #l(@S, Z), {premise}(@Z, V), W = {draw(step)}.")
    return " ".join(rules)


ROWS = {("a", "b"), ("b", "a"), ("b", "c"), ("a", "a")}


@settings(max_examples=60, deadline=None)
@given(recursive_programs())
def test_no_derivation_of_an_acyclic_relation_goes_round(text):
    # Values are kept small, so that what would not end does.
    program = parse_ndlog(TABLES + text)
    limited = parse_ndlog(TABLES + _bounded(text))
    facts = central(limited, {"l": ROWS})
    proved = acyclic(program) & {"p", "q"}
    graph = nx.DiGraph(
        (head, premise)
        for rule in limited.rules
        for head, premises in _instances(rule, facts)
        for premise in premises
        if premise[0] in proved and head[0] in proved
    )
    assert nx.is_directed_acyclic_graph(graph)


def _bounded(text):
    return text.replace(".", ", f_size(f_str(W)) < 24, W != 6, W != -6.")


def _instances(rule, facts):
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    for rows in product(*(facts[atom.relation] for atom in atoms)):
        bindings = {}
        for atom, row in zip(atoms, rows, strict=True):
            for arg, value in zip(atom.args, row, strict=True):
                if bindings.setdefault(arg.name, value) != value:
                    break
            else:
                continue
            break
        else:
            computed = next(lit for lit in rule.body if isinstance(lit, Constraint))
            try:
                bindings["W"] = _value(computed.right, bindings)
            except (TypeError, LookupError, ValueError):
                continue
            row = tuple(bindings[arg.name] for arg in rule.head.args)
            if row in facts[rule.head.relation]:
                yield (
                    (rule.head.relation, row),
                    [(atom.relation, found) for atom, found in zip(atoms, rows, strict=True)],
                )


def _value(term, bindings):
    match term:
        case Variable(name=name):
            return bindings[name]
        case Constant(value=value):
            return value
        case Record(items=items):
            return tuple(_value(item, bindings) for item in items)
        case Call(functor=functor, args=args):
            call = OPERATORS.get(functor) or FUNCTIONS[functor].call
            return call(*(_value(arg, bindings) for arg in args))
    raise AssertionError(term)
