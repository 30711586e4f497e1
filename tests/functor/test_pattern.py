"""Patterns are ECMAScript's, fit the whole text, and never take more than linear time."""

from __future__ import annotations

import time

import pytest

from whence.functor.pattern import FunctorFault, MalformedPattern, check_pattern, fits


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a.b", "axb"),
        ("", ""),
        ("^a$", "a"),
        (r"\d{2,3}", "123"),
        (r"[\w-]+", "a-b_1"),
        ("[[:alpha:]]+", "abc"),
        ("[^]", "x"),
        (r"\x41\u0042", "AB"),
        ("(a|b)*?c", "abac"),
        (r"a\.b", "a.b"),
        ("[]a]*|b", "b"),
        ("[a-z&]+", "a&b"),
        ("é.", "éa"),
        (r"\cJ", "\n"),
        (r"[\d.]+", "1.5"),
    ],
)
def test_the_whole_text_fits(pattern: str, text: str) -> None:
    assert fits(pattern, text)
    assert not fits(pattern, text, negated=True)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("a", "ab"), ("a", "ba"), ("a.b", "a\nb"), ("a.b", "a\rb"), ("[]", "x"), (r"\d", "٣")],
)
def test_the_whole_text_does_not_fit(pattern: str, text: str) -> None:
    assert not fits(pattern, text)
    assert fits(pattern, text, negated=True)


@pytest.mark.parametrize(
    "pattern", ["(", ")", "*a", "a**", "[a", "a{", "a{2,1}", "\\", r"\q", "[z-a]", "(?P<x>a)"]
)
def test_a_malformed_pattern_neither_fits_nor_fails_to(pattern: str) -> None:
    with pytest.raises(MalformedPattern):
        check_pattern(pattern)
    assert not fits(pattern, "a")
    assert not fits(pattern, "a", negated=True)


@pytest.mark.parametrize("pattern", ["(?=a)", r"(a)\1", "a{2000}", "((a{99}){99}){99}", "(" * 500])
def test_what_no_linear_matcher_has_is_refused(pattern: str) -> None:
    with pytest.raises(FunctorFault):
        check_pattern(pattern)


def test_a_catastrophic_pattern_is_no_catastrophe() -> None:
    start = time.process_time()
    assert not fits("(a+)+b", "a" * 20_000)
    assert time.process_time() - start < 1.0
