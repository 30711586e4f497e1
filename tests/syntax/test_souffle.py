"""The parser's entry points, places of nodes, and the stored table."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from whence.diagnostics import ProgramError, Span
from whence.syntax import table
from whence.syntax.nodes import Atom, Constant, Kind, Nil, Record, Variable
from whence.syntax.souffle import parse, parse_fact, parse_goal


@pytest.mark.parametrize("end", ["", ".", "?", " ?", " . "])
def test_a_goal_may_end_like_a_question_or_a_fact(end):
    assert parse_goal("path(1, X)" + end) == Atom("path", (Constant(1, None), Variable("X")))


@pytest.mark.parametrize("text", ["", "path", "path(1) :- a(1)", "path(1", "a(1). b(1).", "?", "."])
def test_what_is_no_atom_is_no_goal(text):
    with pytest.raises(ProgramError):
        parse_goal(text)


def test_a_fact_holds_constants():
    assert parse_fact('edge(-1, "a", [1, nil], 2u).') == Atom(
        "edge",
        (
            Constant(-1, None),
            Constant("a", Kind.SYMBOL),
            Record((Constant(1, None), Nil())),
            Constant(2, Kind.UNSIGNED),
        ),
    )


@pytest.mark.parametrize("text", ["edge(x, 1)", "edge(_, 1)", "edge([1, x])", "edge(1 + 1)"])
def test_a_fact_holds_nothing_else(text):
    with pytest.raises(ProgramError, match="W0112"):
        parse_fact(text)


def place(span: Span) -> tuple[int, int, int, int]:
    return span.line, span.column, span.end_line, span.end_column


def test_places_are_the_smallest_stretch_of_text():
    program = parse(
        ".decl a, bc(x: number)\na(x) :- bc(x), x = (1 +\n 2), !bc(-3).\n.input a, bc(n=1)"
    )
    assert [place(r.span) for r in program.relations] == [(1, 7, 1, 8), (1, 10, 1, 12)]
    assert place(program.relations[0].attributes[0].span) == (1, 13, 1, 22)
    (rule,) = program.rules
    assert place(rule.span) == (2, 1, 3, 14)
    assert place(rule.head.span) == (2, 1, 2, 5)
    assert place(rule.body[1].span) == (2, 16, 3, 3)
    assert place(rule.body[1].right.span) == (2, 21, 3, 3)
    assert place(rule.body[2].span) == (3, 6, 3, 13)
    assert place(rule.body[2].literal.args[0].span) == (3, 10, 3, 12)
    assert [place(d.span) for d in program.directives] == [(4, 8, 4, 9), (4, 11, 4, 13)]
    assert rule.span.source.name == "<text>"


def test_the_stored_table_is_that_of_the_grammar():
    folder = table.FOLDER
    for grammar, starts in table.STARTS.items():
        text = (folder / f"{grammar}.lark").read_text(encoding="utf-8")
        fresh = table.to_json(table.compile_grammar(text, starts), text)
        stored = (folder / f"{grammar}.json").read_text(encoding="utf-8")
        assert stored == fresh, "run python -m whence.syntax.table"


def test_the_grammar_has_no_conflicts(caplog):
    from lark import Lark, logger

    logger.setLevel(logging.DEBUG)
    text = (table.FOLDER / "souffle.lark").read_text(encoding="utf-8")
    with caplog.at_level(logging.DEBUG, logger="lark"):
        Lark(text, parser="lalr", start=["program", "goal"], debug=True)
    logger.setLevel(logging.CRITICAL)
    assert "conflict" not in caplog.text.lower()


@pytest.mark.parametrize("damage", ["", "{", "0 0\n{}", "stored\x00"])
def test_a_damaged_table_is_not_used(tmp_path, damage):
    (tmp_path / "souffle.json").write_text(damage)
    assert table._read(tmp_path / "souffle.json", "0") is None
    assert table._read(tmp_path / "missing.json", "0") is None


def test_parsing_needs_no_lark():
    script = (
        "import sys; from whence.syntax.souffle import parse; parse('a(1).');"
        "assert 'lark' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_program_prints_itself():
    assert str(parse(".decl a(x:number) a(1).")) == ".decl a(x: number)\n\na(1)."
