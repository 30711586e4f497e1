"""Golden files of the parser, the printer, the diagnostics and the formatter."""

from __future__ import annotations

from pathlib import Path

import pytest

import golden
from whence.diagnostics import ProgramError
from whence.syntax.format import format_source
from whence.syntax.printer import print_program
from whence.syntax.souffle import parse

FOLDER = Path(__file__).parent / "golden"


def reprint(text: str) -> str:
    program = parse(text)
    printed = print_program(program)
    assert parse(printed) == program
    return printed


def refuse(text: str) -> str:
    with pytest.raises(ProgramError) as caught:
        parse(text, name="case.dl")
    return str(caught.value)


def reformat(text: str) -> str:
    formatted = format_source(text)
    assert parse(formatted) == parse(text)
    assert format_source(formatted) == formatted
    return formatted


def shape(text: str) -> str:
    """Show how operators nest, with every parenthesis written."""
    from whence.syntax.nodes import Call, Term

    def show(term: Term) -> str:
        if isinstance(term, Call):
            return f"({' '.join([term.functor, *map(show, term.args)])})"
        from whence.syntax.printer import print_term

        return print_term(term)

    lines = []
    for line in text.splitlines():
        (constraint,) = parse(f"p() :- 0 = {line}.").rules[0].body
        lines.append(show(constraint.right))
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("file", "produce"),
    [
        ("declarations.txt", reprint),
        ("clauses.txt", reprint),
        ("terms.txt", reprint),
        ("precedence.txt", shape),
        ("slips.txt", refuse),
        ("not_yet.txt", refuse),
        ("format.txt", reformat),
    ],
)
def test_every_case_gives_its_golden_output(file, produce, update):
    golden.check(FOLDER / file, produce, update=update)
