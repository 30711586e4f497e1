"""The conversation: declare, state, ask; a mistake changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.commands import whence
from whence.app.repl import Repl, is_complete
from whence.diagnostics import WhenceError


def talk(shell: Repl, *lines: str) -> list[str]:
    return [text for line in lines for text in shell.read_line(line)]


def facts(shell: Repl, goal: str) -> list[str]:
    return talk(shell, goal)[:-1]


@pytest.fixture
def shell() -> Repl:
    shell = Repl()
    talk(
        shell,
        ".decl edge(x: number, y: number)",
        ".decl path(x: number, y: number)",
        "edge(1, 2). edge(2, 3).",
        "path(x, y) :- edge(x, y).",
        "path(x, z) :-",
        "  path(x, y),",
        "  edge(y, z).",
    )
    return shell


def test_goals_are_answered(shell: Repl) -> None:
    assert facts(shell, "path(1, x)?") == ["path(1, 2).", "path(1, 3)."]
    assert talk(shell, "path(3, x)?")[-1].startswith("0 answers in")


def test_the_program_grows(shell: Repl) -> None:
    talk(shell, "edge(3, 4).")
    assert facts(shell, "path(1, x)?")[-1] == "path(1, 4)."


@pytest.mark.parametrize(
    "line", ["edge(1,, 2).", "path(x, y) :- edge(x, z).", "nobody(1).", ".lode x", ".load"]
)
def test_a_mistake_changes_nothing(shell: Repl, line: str) -> None:
    before = shell.program
    with pytest.raises(WhenceError):
        talk(shell, line)
    assert shell.program == before
    assert facts(shell, "edge(1, x)?") == ["edge(1, 2)."]


def test_programs_can_be_loaded_listed_and_forgotten(shell: Repl, tmp_path: Path) -> None:
    (tmp_path / "more.dl").write_text("edge(7, 8).\n")
    talk(shell, f".load {tmp_path / 'more.dl'}")
    assert "edge(7, 8)." in "\n".join(talk(shell, ".list"))
    talk(shell, ".clear")
    assert talk(shell, ".list") == [""]


def test_inputs_are_read_from_the_facts_directory(tmp_path: Path) -> None:
    (tmp_path / "edge.facts").write_text("5\t6\n")
    shell = Repl(facts_dir=tmp_path)
    talk(shell, ".decl edge(x: number, y: number)", ".input edge")
    assert facts(shell, "edge(x, y)?") == ["edge(5, 6)."]


def test_long_answers_are_cut() -> None:
    shell = Repl()
    talk(shell, ".decl n(x: number)", "n(0).", "n(x + 1) :- n(x), x < 999.")
    shown = talk(shell, "n(x)?")
    assert shown[-2] == "… and 800 more"
    assert shown[-1].startswith("1,000 answers in")


def test_an_empty_line_ends_any_statement(shell: Repl) -> None:
    talk(shell, "path(x, y) :- (")
    assert shell.prompt.startswith("...")
    with pytest.raises(WhenceError):
        talk(shell, "")
    assert facts(shell, "edge(1, x)?") == ["edge(1, 2)."]


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ('a("x.").', True),
        ('a("x', False),
        ("a(1,", False),
        ("a(x) :- b(x)", False),
        ("a(x)?", True),
        (".decl a(x: number,", False),
        ("// only a comment", True),
        ("/* open", False),
        ("a(1). // done", True),
        ("a(1) /* . */", False),
        ("// c\na(1).", True),
        ("", True),
        ("a(1))", True),
    ],
)
def test_a_statement_ends_where_it_should(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


def test_the_command_goes_on_after_errors() -> None:
    ended = whence(
        "repl", stdin=".decl a(x: number)\na(1).\na(.\nnobody(x)?\na(x)?\n.help\n.quit\na(2).\n"
    )
    assert ended.code == 0
    assert "a(1).\n1 answer in" in ended.out
    assert "ask a goal" in ended.out
    assert ended.err.count("error[") == 2
