"""What is printed or laid out anew still means the same, and no text ends in a traceback."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from network.language.ndlog_trees import programs, terms
from whence.analysis.ndlog.check import check_ndlog
from whence.diagnostics import ProgramError
from whence.syntax.format import format_source
from whence.syntax.ndlog import parse_ndlog
from whence.syntax.ndlog_printer import print_ndlog_term, print_value
from whence.syntax.nodes import Constant, Record

quick = settings(
    max_examples=70,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@quick
@given(program=programs())
def test_a_printed_program_parses_to_itself(program):
    assert parse_ndlog(str(program)) == program


@quick
@given(term=terms())
def test_a_printed_term_parses_to_itself(term):
    (rule,) = parse_ndlog(f"p({print_ndlog_term(term)}).").rules
    assert rule.head.args == (term,)


@quick
@given(program=programs())
def test_a_layout_keeps_the_program_and_is_its_own_layout(program):
    laid_out = format_source(str(program), dialect="ndlog")
    assert parse_ndlog(laid_out) == program
    assert format_source(laid_out, dialect="ndlog") == laid_out


@quick
@given(program=programs())
def test_every_tree_can_be_checked(program):
    assert all(found.span or found.message for found in check_ndlog(program))


values = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@quick
@given(value=values)
def test_a_printed_value_parses_to_itself(value):
    (rule,) = parse_ndlog(f"p({print_value(value)}).").rules
    found = _value(rule.head.args[0])
    assert found == value
    assert type(found) is type(value)


def _value(term):
    if isinstance(term, Record):
        return tuple(map(_value, term.items))
    assert isinstance(term, Constant)
    return term.value


WORDS = [
    "materialize",
    "(",
    ")",
    ",",
    ".",
    ":-",
    "@",
    "#",
    "X",
    "Y",
    "p",
    "q",
    "link",
    "keys",
    "infinity",
    "1",
    "2.5",
    '"a"',
    "min<",
    ">",
    "*",
    "=",
    ":=",
    "<",
    "||",
    "!",
    "in",
    "[",
    "]\n_",
    "f_now",
    "delete",
    "Query",
    "watch",
    "include",
    "fullyConnected",
    "sp1",
    "-",
    "+",
    "<<",
    "//",
    "/*",
    "*/",
    "'",
    "&",
    ";",
    "\n",
    "\\",
    "€",
    "0x1fI",
]


@quick
@given(words=st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=20))
def test_any_text_parses_or_is_refused_with_a_place(words):
    text = " ".join(words)
    try:
        program = parse_ndlog(text)
    except ProgramError as error:
        found = error.diagnostics
    else:
        found = [d for d in check_ndlog(program) if d.severity == "error"]
    assert all(diagnostic.span for diagnostic in found)


@pytest.mark.parametrize(
    "text",
    [
        f"p(@X, {'[' * 5000}{']' * 5000}).",
        f"p(@X, {'-' * 5000}Y) :- q(@X, Y).",
        f"p(@X) :- {'!' * 5000}q(@X).",
        f"p(@X, {'1 + ' * 5000} 1).",
        f"p(@X) :- {'(q(@X), ' * 5000}q(@X){')' * 5000}.",
    ],
    ids=["lists", "minus", "negations", "sums", "groups"],
)
def test_deep_nesting_is_refused_not_a_traceback(text):
    with pytest.raises(ProgramError) as caught:
        parse_ndlog(text)
    assert {found.code for found in caught.value.diagnostics} == {"W0107"}
