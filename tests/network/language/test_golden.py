"""Golden files of NDlog: what is parsed and printed, laid out, and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import golden
from whence.analysis.ndlog.check import check_ndlog
from whence.diagnostics import ProgramError, render
from whence.syntax.format import format_source
from whence.syntax.ndlog import parse_ndlog

FOLDER = Path(__file__).parent / "golden"


def reprint(text: str) -> str:
    program = parse_ndlog(text)
    printed = str(program)
    assert str(parse_ndlog(printed)) == printed
    assert set(parse_ndlog(printed).rules) == set(program.rules)
    return printed


def refuse(text: str) -> str:
    with pytest.raises(ProgramError) as caught:
        parse_ndlog(text, "case.ndlog")
    return str(caught.value)


def lay_out(text: str) -> str:
    formatted = format_source(text, dialect="ndlog")
    assert format_source(formatted, dialect="ndlog") == formatted
    return formatted


def check(text: str) -> str:
    found = check_ndlog(parse_ndlog(text, "case.ndlog"))
    return "\n\n".join(map(render, found)) or "nothing"


@pytest.mark.parametrize(
    ("file", "produce"),
    [
        ("statements.txt", reprint),
        ("slips.txt", refuse),
        ("format.txt", lay_out),
        ("checks.txt", check),
    ],
)
def test_every_case_gives_its_golden_output(file, produce, update):
    golden.check(FOLDER / file, produce, update=update)


def test_every_check_has_a_case_in_which_it_speaks():
    sources = Path(check_ndlog.__code__.co_filename).parent.glob("*.py")
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    codes = {word[:5] for word in text.split('"') if word.startswith("W13")}
    spoken = (FOLDER / "checks.txt").read_text(encoding="utf-8")
    assert codes
    assert not {code for code in codes if f"[{code}]" not in spoken}
