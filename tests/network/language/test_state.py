"""Kinds of state and classes of rules, as in Loo 2006, definitions 2.6 to 2.15."""

from __future__ import annotations

from whence.analysis.ndlog.links import is_local, one_way_links, reverse_links
from whence.analysis.ndlog.state import RuleClass, State, classes, hard_part, states
from whence.network.protocols.library import protocol
from whence.syntax.ndlog import parse_ndlog

PROGRAM = parse_ndlog("""
materialize(hard, infinity, infinity, keys()).
materialize(soft, 10, infinity, keys()).
materialize(zero, 0, infinity, keys()).
a hard(@X) :- hard(@X, Y).
b soft(@X) :- soft(@X), hard(@X).
c soft(@X) :- hard(@X).
d hard(@X) :- soft(@X).
e soft(@X) :- event(@X), hard(@X).
f zero(@X) :- hard(@X).
g hard(@X) :- hard(@X), !soft(@X).
h delete hard(@X) :- hard(@X).
hard(@x).
""")


def test_lifetimes_decide_what_is_hard_soft_and_an_event():
    assert states(PROGRAM) == {
        "hard": State.HARD,
        "soft": State.SOFT,
        "zero": State.EVENT,
        "event": State.EVENT,
    }


def test_rules_are_classified_by_what_they_read_and_derive():
    found = {c.rule.name: (c.kind, c.event is not None) for c in classes(PROGRAM)}
    assert found == {
        "a": (RuleClass.HARD, False),
        "b": (RuleClass.PURE, False),
        "c": (RuleClass.DERIVED, False),
        "d": (RuleClass.ARCHIVAL, False),
        "e": (RuleClass.PURE, True),
        "f": (RuleClass.DERIVED, False),
        "g": (RuleClass.ARCHIVAL, False),
        "h": (RuleClass.HARD, False),
    }


def test_the_hard_part_is_facts_and_hard_rules_that_derive():
    assert [rule.name for rule in hard_part(PROGRAM)] == ["a", ""]


def test_all_rules_of_ping_pong_are_pure_soft_state_and_five_have_an_event():
    found = classes(protocol("ping_pong"))
    assert {c.kind for c in found} == {RuleClass.PURE}
    assert [c.event is not None for c in found] == [True] * 5 + [False]


def test_sp2_alone_of_the_shortest_path_program_is_distributed_and_answers_back():
    program = protocol("path_vector")
    assert [is_local(rule) for rule in program.rules] == [True, False, True, True]
    assert [rule for rule, _ in reverse_links(program)] == [program.rules[1]]


def test_links_that_answers_cannot_go_back_along_are_found():
    program = protocol("path_vector")
    links = {"link": [("a", "b", 1), ("b", "a", 2), ("b", "c", 1)]}
    assert [(name, row) for name, row, _ in one_way_links(program, links)] == [
        ("link", ("b", "c", 1))
    ]
    assert list(one_way_links(protocol("reachable"), links)) == []
