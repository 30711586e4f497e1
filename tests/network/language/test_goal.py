"""Goals, and texts with more mistakes than anybody would read."""

from __future__ import annotations

import pytest

from whence.diagnostics import ProgramError
from whence.syntax.driver import MAX_ERRORS
from whence.syntax.ndlog import parse_ndlog, parse_ndlog_goal
from whence.syntax.nodes import Atom, Constant, Kind, Variable


@pytest.mark.parametrize("end", ["", ".", "?"])
def test_a_goal_is_one_predicate_that_may_end_in_a_mark(end):
    goal = parse_ndlog_goal(f"path(@S, a){end}")
    assert goal == Atom("path", (Variable("S"), Constant("a", Kind.SYMBOL)), location=0)


@pytest.mark.parametrize("text", ["", "p(@X) :- q(@X).", "X", "p(@X), q(@X)"])
def test_anything_else_is_refused_as_a_goal(text):
    with pytest.raises(ProgramError):
        parse_ndlog_goal(text)


def test_no_more_mistakes_are_shown_than_one_would_read():
    with pytest.raises(ProgramError) as caught:
        parse_ndlog("p(@X :- q.\n" * 100)
    assert len(caught.value.diagnostics) == MAX_ERRORS
    assert "no more than" in caught.value.diagnostics[-1].notes[-1]
