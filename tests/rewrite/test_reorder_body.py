"""The order of a body: where it starts, what decides, and what a `.plan` fixes."""

from __future__ import annotations

from whence.rewrite.reorder_body import order_body
from whence.syntax.nodes import Atom, Literal, Negation, Rule
from whence.syntax.souffle import parse


def rule(text: str) -> Rule:
    (only,) = parse(text).rules
    return only


def relations(literals: tuple[Literal, ...]) -> str:
    found = []
    for literal in literals:
        match literal:
            case Atom(relation=name):
                found.append(name)
            case Negation(literal=Atom(relation=name)):
                found.append(f"!{name}")
            case _:
                found.append("?")
    return " ".join(found)


def test_smaller_relations_come_first() -> None:
    body = rule("h(x) :- a(x, y), b(y, z), c(z, x).")
    assert relations(order_body(body, None, {"a": 10**6, "b": 10, "c": 10**3})) == "b c a"


def test_a_delta_atom_comes_first_whatever_it_costs() -> None:
    body = rule("h(x) :- x != 3, b(x, y), a(x, y), c(y).")
    assert relations(order_body(body, 2, {"a": 10**9, "b": 1})) == "a ? b c"


def test_literals_stay_the_same_objects() -> None:
    body = rule("h(x) :- b(x, y), a(x, y), x < y.")
    assert {id(o) for o in order_body(body, 1)} == {id(o) for o in body.body}


def test_a_plan_orders_the_atoms_of_its_version() -> None:
    body = rule("h(x) :- a(x, y), b(y, z), c(z), x < y.\n.plan 0:(3,2,1), 1:(2,1,3)")
    assert relations(order_body(body)) == "c b a ?"
    assert relations(order_body(body, 1)) == "b a ? c"
    assert relations(order_body(body, 0, version=0)) == "c b a ?"


def test_variables_bound_beforehand_count_as_joined() -> None:
    body = rule("h(x) :- a(x, y), b(z, w), c(y, z).")
    assert relations(order_body(body, bound=["w"])) == "b c a"


def test_an_aggregate_waits_for_what_it_shares() -> None:
    body = rule("h(x, n) :- n = count : { a(x, y) }, b(z), c(z, x).")
    assert relations(order_body(body)) == "b c ?"


def test_a_body_that_cannot_be_ordered_keeps_all_literals() -> None:
    body = rule("h(x) :- a(y), x < z.")
    assert relations(order_body(body)) == "a ?"


def test_long_bodies_are_ordered_quickly() -> None:
    atoms = ", ".join(f"a(x{i}, x{i + 1}), x{i} != x{i + 1}" for i in range(400))
    ordered = order_body(rule(f"h(x0) :- {atoms}."), 400)
    assert len(ordered) == 800
