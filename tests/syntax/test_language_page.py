"""The language reference shows programs that are accepted, and lists every reserved word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from whence.analysis.check import check
from whence.syntax.souffle import parse
from whence.syntax.table import load

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "language.md"
EXAMPLES = re.findall(r"^```souffle\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def test_the_page_has_examples():
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_is_accepted(text):
    assert [d for d in check(parse(text)) if d.severity == "error"] == []


def test_every_reserved_word_is_listed():
    (listed,) = re.findall(r"^```text\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert listed.split() == sorted(w for w in load("souffle").words if w[0].isalpha())
