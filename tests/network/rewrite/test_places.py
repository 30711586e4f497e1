"""Places of atoms that are less common: constants, none at all, alternatives in alternatives."""

from __future__ import annotations

import pytest

from whence.network.definition import central
from whence.network.rewrite.localize import localize
from whence.network.rewrite.places import alternatives
from whence.network.rewrite.selection import parse_selection
from whence.network.rewrite.seminaive import strands
from whence.syntax.ndlog import parse_ndlog

TABLES = "".join(f"materialize({name}, infinity, infinity, keys(1,2)).\n" for name in "pqh")


def test_a_tuple_can_be_sent_to_a_node_with_a_name() -> None:
    program = parse_ndlog(f'fullyConnected.\n{TABLES}r h(@X,Y) :- p(@X,Y), q(@"hub",Y).')
    after = localize(program)
    assert [str(s).split(" :- ")[0] for s in strands(after)] == [
        "ra@X h_r(X, Y, @hub)",
        "rb-1@hub h(@X, Y)",
        "rb-2@hub h(@X, Y)",
    ]
    facts = {"p": {("a", "b"), ("a", "c")}, "q": {("hub", "c"), ("b", "b")}}
    assert central(after, facts)["h"] == {("a", "c")}


def test_a_column_that_is_sent_must_not_be_a_constant_of_the_rule() -> None:
    program = parse_ndlog(f"fullyConnected.\n{TABLES}r h(@Y,X) :- p(@X,Y), q(@Y,7), p(@Y,Y).")
    facts = {"p": {("a", "b"), ("b", "b"), ("c", "c")}, "q": {("b", 7), ("c", 8)}}
    assert central(localize(program), facts)["h"] == {("b", "a"), ("b", "b")}


def test_alternatives_in_alternatives_are_all_found() -> None:
    text = f"fullyConnected.\n{TABLES}r h(@X,Y) :- p(@X,Y), (q(@X,Y) || (q(@Y,X), (p(@Y,X) || X = Y)))."
    program = parse_ndlog(text)
    (rule,) = program.rules
    assert len(alternatives(rule)) == 3
    facts = {
        "p": {("a", "b"), ("b", "a"), ("c", "c"), ("a", "d")},
        "q": {("b", "a"), ("c", "c"), ("d", "a")},
    }
    assert central(localize(program), facts)["h"] == central(program, facts)["h"]


def test_two_places_that_are_computed_from_each_other_are_found() -> None:
    program = parse_ndlog(f"fullyConnected.\n{TABLES}r h(@X,Z) :- p(@X,Y), W = Y, q(@W,Z).")
    facts = {"p": {("a", "b")}, "q": {("b", "c"), ("a", "d")}}
    assert central(localize(program), facts)["h"] == {("a", "c")}


def test_what_is_no_selection_is_not_read_as_one() -> None:
    with pytest.raises(ValueError, match="not an aggregate selection"):
        parse_selection("path min")
