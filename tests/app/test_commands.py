"""check, fmt, plan, query, and what all commands share."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from app.commands import whence
from whence import __version__
from whence.app.cli import COMMANDS
from whence.app.cli.options import parse_duration, parse_size
from whence.app.cli.progress import Progress
from whence.app.cli.terminal import coloured, report
from whence.diagnostics import Diagnostic, Source, Span
from whence.engine.base import Round

GOOD = """\
// who reaches whom
.decl edge(x: number, y: number)
edge(1, 2). edge(2, 3). edge(4, 5).
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.dl"
    path.write_text(GOOD)
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.dl"
    path.write_text(".decl a(x: number)\n.output a\na(x) :- b(x).\na(x) :- c(x).\n")
    return path


def test_check_is_silent_about_a_good_program(good: Path) -> None:
    ended = whence("check", good)
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_check_reports_all_errors_and_ends_with_1(bad: Path) -> None:
    ended = whence("check", bad)
    assert ended.code == 1
    assert ended.err.count("error[") == 2


def test_check_speaks_json(good: Path, bad: Path) -> None:
    ended = whence("check", good, bad, "--format", "json")
    assert ended.code == 1
    found = json.loads(ended.out)
    assert found["ok"] is False
    assert {d["span"]["file"] for d in found["diagnostics"]} == {str(bad)}
    assert all(d["code"].startswith("W0") for d in found["diagnostics"])


def test_check_reports_syntax_errors_as_json_too(tmp_path: Path) -> None:
    path = tmp_path / "p.dl"
    path.write_text("a(1\n")
    ended = whence("check", path, "--format", "json")
    assert ended.code == 1
    assert json.loads(ended.out)["diagnostics"]


def test_fmt_prints_the_layout_and_keeps_comments(good: Path) -> None:
    ended = whence("fmt", good)
    assert ended.code == 0
    assert "// who reaches whom" in ended.out
    assert "edge(1, 2).\nedge(2, 3).\n" in ended.out
    assert good.read_text() == GOOD


def test_fmt_writes_in_place_and_then_has_nothing_to_do(good: Path) -> None:
    assert whence("fmt", "--check", good).code == 1
    assert whence("fmt", "--write", good).out == ""
    assert whence("fmt", "--check", good).code == 0


def test_fmt_leaves_a_broken_program_alone(tmp_path: Path) -> None:
    path = tmp_path / "p.dl"
    path.write_text("a(1\n")
    assert whence("fmt", "--write", path).code == 1
    assert path.read_text() == "a(1\n"


def test_plan_shows_passes_strata_and_deltas(good: Path) -> None:
    ended = whence("plan", good)
    assert ended.code == 0
    assert "path" in ended.out
    assert "Δ" in ended.out


def test_plan_speaks_json(good: Path) -> None:
    found = json.loads(whence("plan", good, "--format", "json").out)
    assert {"passes", "strata"} <= set(found)


@pytest.mark.parametrize(
    ("goal", "answers"),
    [
        ("path(1, x)", "path(1, 2).\npath(1, 3).\n"),
        ("path(x, 3)?", "path(1, 3).\npath(2, 3).\n"),
        ("path(1, 3).", "path(1, 3).\n"),
        ("path(_, 5)", "path(4, 5).\n"),
        ("edge(x, _)", "edge(1, 2).\nedge(2, 3).\nedge(4, 5).\n"),
        ("path(x, x)", ""),
    ],
)
def test_query_prints_the_facts_that_match(good: Path, goal: str, answers: str) -> None:
    ended = whence("query", good, goal)
    assert (ended.code, ended.out) == (0, answers)
    assert ended.err == ("" if answers else "no answers\n")


def test_query_speaks_json(good: Path) -> None:
    found = json.loads(whence("query", good, "path(1, x)", "--format", "json").out)
    assert found["count"] == 2
    assert found["rows"] == [[1, 2], [1, 3]]


@pytest.mark.parametrize("goal", ["nobody(x)", "path(x)", 'path("a", x)', "path(x + 1, y)"])
def test_a_goal_the_program_cannot_answer_is_refused(good: Path, goal: str) -> None:
    ended = whence("query", good, goal)
    assert ended.code in (1, 2)
    assert "error[" in ended.err


@pytest.mark.parametrize("command", [c.__name__ for c in COMMANDS])
def test_every_command_has_help_with_an_example(command: str) -> None:
    ended = whence(command, "--help")
    assert ended.code == 0
    assert f"whence {command}" in ended.out


def test_the_version_is_printed() -> None:
    assert whence("--version").out == f"whence {__version__}\n"


def test_an_unknown_command_ends_with_2() -> None:
    assert whence("sing").code == 2


def test_sizes_and_durations_have_units() -> None:
    assert parse_size("1.5k") == 1536
    assert parse_duration("250ms") == 0.25


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    @property
    def encoding(self) -> str:
        return "utf-8"


def test_colour_is_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    shown = Diagnostic(
        "W0203", "`x` is wrong", Span(1, 1, 1, 2, Source("a", "x")), "here", hint="y"
    )
    terminal, pipe = Terminal(), io.StringIO()
    report([shown], terminal)
    report([shown], pipe)
    assert "\x1b[" in terminal.getvalue()
    assert "\x1b[" not in pipe.getvalue()
    assert coloured(shown) in terminal.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Terminal()
    report([shown], plain)
    assert plain.getvalue() == pipe.getvalue()


EVENT = Round(1, 2, ("path",), 3, 10, 100, 0.5)


def test_progress_waits_before_it_shows_anything(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(enabled=True, patience=60) as progress:
        progress.on_round(EVENT)
    assert capsys.readouterr().err == ""


def test_progress_shows_stratum_round_and_tuples(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with Progress(enabled=True, patience=0) as progress:
        progress.on_round(EVENT)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "stratum 1/2 path" in captured.err


@pytest.mark.parametrize("command", [["query"], ["plan", "--goal"]])
def test_an_empty_goal_is_a_mistake(good: Path, command: list[str]) -> None:
    first, *option = command
    ended = whence(first, good, *option, "")
    assert ended.code == 1
    assert "error[W0101]: unexpected end of the text" in ended.err
