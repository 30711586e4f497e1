"""The reference of NDlog shows programs that are accepted, and names every word and function."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from whence.analysis.ndlog.check import check_ndlog
from whence.functor.ndlog import FUNCTIONS, NODE_FUNCTIONS
from whence.syntax.ndlog import parse_ndlog
from whence.syntax.table import load

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "ndlog.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```ndlog(?: title=(\S+))?\n(.*?)^```", TEXT, re.M | re.S)


def test_the_page_has_examples():
    assert len(EXAMPLES) >= 9


@pytest.mark.parametrize(("title", "text"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_but_the_wrong_one_is_accepted(title, text):
    errors = [d for d in check_ndlog(parse_ndlog(text)) if d.severity == "error"]
    assert bool(errors) == (title == "wrong.ndlog"), errors


def test_every_function_is_listed():
    assert {*FUNCTIONS, *NODE_FUNCTIONS} == set(re.findall(r"\bf_\w+\w", TEXT))


def test_every_reserved_word_is_listed():
    (listed,) = re.findall(r"^```text\n(.*?)^```", TEXT, re.M | re.S)
    assert listed.split() == sorted(w for w in load("ndlog").words if w[0].isalpha())
