"""Hostile and broken text gives diagnostics: no crash, no hang, no deep recursion."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syntax.programs import programs
from whence.diagnostics import ProgramError
from whence.syntax.builder import MAX_DEPTH
from whence.syntax.driver import MAX_ERRORS
from whence.syntax.format import format_source
from whence.syntax.printer import print_program
from whence.syntax.souffle import parse, parse_goal
from whence.syntax.table import load

quick = settings(max_examples=100, deadline=None)

DEEP = 10_000
FRAGMENTS = [
    *load("souffle").words,
    *["a", "x", "1", "2.5", "3u", '"s"', '"', "/*", "*/", "//", "#", "# 1", "\n", " ", "\\", "'"],
    *[".comp A {", ".foo x", "choice-domain", "$A(", ":=", "==", "é", "\x00", "\ufeff", "\ud7ff"],
    *["a(x) :- b(x).", ".decl a(x: number)", "a(1)", "#define X", "999999999999999999999"],
]


def parse_or_refuse(text):
    """What parses survives printing and formatting; what does not has errors with places."""
    try:
        program = parse(text)
    except ProgramError as error:
        check_places(error, text.split("\n"))
        return
    assert parse(print_program(program)) == program
    formatted = format_source(text)
    assert format_source(formatted) == formatted
    assert parse(formatted) == program


def check_places(error, lines):
    assert len(error.diagnostics) <= MAX_ERRORS
    for diagnostic in error.diagnostics:
        assert diagnostic.code.startswith("W01")
        assert 1 <= diagnostic.span.line <= len(lines)
        assert 1 <= diagnostic.span.column <= len(lines[diagnostic.span.line - 1]) + 1


@quick
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=20))
def test_any_words_are_parsed_or_refused(words):
    parse_or_refuse(" ".join(words))
    parse_or_refuse("".join(words))


@quick
@given(st.text())
def test_any_text_is_parsed_or_refused(text):
    parse_or_refuse(text)


@settings(max_examples=60, deadline=None)
@given(program=programs(), data=st.data())
def test_a_mutated_program_is_parsed_or_refused(program, data):
    text = print_program(program)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 3))
        text = text[:at] + data.draw(st.sampled_from(["", *FRAGMENTS])) + text[at + cut :]
    parse_or_refuse(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a(" + "[" * 100_000 + "]" * 100_000 + ").", "W0107"),
        ("a(" + "cat(" * DEEP + '"x"' + ")" * DEEP + ").", "W0107"),
        ("a(" + "- " * DEEP + "x).", "W0107"),
        ("a(" + "1+" * DEEP + "1).", "W0107"),
        ("a(" + "1^" * DEEP + "1).", "W0107"),
        ("a() :- " + "!" * DEEP + "b().", "W0107"),
        ("a() :- " + "(b();" * DEEP + "b()" + ")" * DEEP + ".", "W0107"),
        ("a() :- x = " + "sum x : { b(), x = " * DEEP + "1" + "}" * DEEP + ".", "W0107"),
        ("a(" + "[" * DEEP, "W0101"),
        ("a() :- " + "(" * DEEP, "W0101"),
        ("a(" * DEEP, "W0101"),
        ("}" * DEEP, "W0101"),
        ("\\" * DEEP, "W0102"),
        ('\\"' * DEEP, "W0102"),
        ("/* " * DEEP, "W0104"),
        (".decl " * DEEP, "W0101"),
        (".x y\n" * DEEP, "W0105"),
        ("a(" + "9" * DEEP + ").", "W0108"),
        ("a(" + "9" * DEEP + ".0).", "W0108"),
    ],
    ids=lambda value: value[:12] if len(value) > 5 else value,
)
def test_huge_nonsense_is_refused_at_once(text, code):
    start = time.process_time()
    with pytest.raises(ProgramError) as caught:
        parse(text)
    assert caught.value.diagnostics[0].code == code
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    "text",
    [
        "a(" + "(" * 100_000 + "1" + ")" * 100_000 + ").",
        "a() :- " + "(" * DEEP + "b()" + ")" * DEEP + ".",
        "a() :- " + "b(), " * DEEP + "b().",
        "a() :- " + "b(); " * DEEP + "b().",
        "a(" + "1, " * DEEP + "1).",
        "a(" + "[" * (MAX_DEPTH - 2) + "1" + "]" * (MAX_DEPTH - 2) + ").",
    ],
    ids=["term", "body", "conjunction", "disjunction", "arguments", "records"],
)
def test_what_is_long_but_not_deep_is_accepted(text):
    program = parse(text)
    assert parse(print_program(program)) == program


def test_a_goal_may_not_nest_too_deeply_either():
    with pytest.raises(ProgramError, match="W0107"):
        parse_goal("a(" + "[" * DEEP + "]" * DEEP + ")")


@pytest.mark.timing
def test_a_thousand_rules_parse_in_well_under_a_second():
    text = "\n".join(
        f"r{i % 50}(x, y + {i}, z) :- r{i % 7}(x, w, z), r{i % 11}(w, y, _), !r{i % 13}(y, x, "
        f'"s{i}"), x < y.'
        for i in range(1000)
    )
    seconds = []
    for _ in range(3):
        start = time.process_time()
        parse(text)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.6
