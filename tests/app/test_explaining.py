"""why, whynot and whatif on the command line and in the repl."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.commands import whence

REACH = """\
.decl link(from: symbol, to: symbol)
.decl reachable(from: symbol, to: symbol)
.decl cut(from: symbol, to: symbol)
.output reachable
.input link
reachable(x, y) :- link(x, y).
reachable(x, z) :- link(x, y), reachable(y, z).
cut(x, y) :- link(x, _), link(_, y), !reachable(x, y).
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "reach.dl"
    path.write_text(REACH)
    (tmp_path / "link.facts").write_text("A\tB\nB\tC\nC\tA\nC\tB\n")
    return path


# ── whatif ──


def test_whatif_prints_what_would_change(program: Path) -> None:
    before = {p.name: p.read_bytes() for p in program.parent.iterdir()}
    ended = whence(
        "whatif", program, "-F", program.parent, "-d", 'link("C", "A")', "-i", 'link("C", "D").'
    )
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        '-reachable("A", "A").',
        '-reachable("B", "A").',
        '-reachable("C", "A").',
        '+reachable("A", "D").',
        '+reachable("B", "D").',
        '+reachable("C", "D").',
    ]
    assert {p.name: p.read_bytes() for p in program.parent.iterdir()} == before


def test_whatif_prints_the_relations_asked_for(program: Path) -> None:
    args = ("whatif", program, "-F", program.parent, "-d", 'link("B", "C")')
    ended = whence(*args, "-r", "cut", "-r", "link")
    assert ended.out.splitlines() == ['+cut("A", "A").', '-link("B", "C").']
    ended = whence(*args, "-r", "cutt")
    assert (ended.code, "did you mean `cut`?" in ended.err) == (2, True)


def test_whatif_speaks_json(program: Path) -> None:
    ended = whence(
        "whatif", program, "-F", program.parent, "-d", 'link("B", "C")', "--format", "json"
    )
    assert ended.code == 0
    assert json.loads(ended.out) == {
        "delete": ['link("B", "C")'],
        "insert": [],
        "changes": {
            "reachable": {
                "deleted": [list(pair) for pair in ("AA", "AC", "BA", "BB", "BC", "CC")],
                "inserted": [],
            }
        },
    }


def test_whatif_says_when_nothing_would_change(program: Path) -> None:
    ended = whence("whatif", program, "-F", program.parent, "-d", 'link("C", "B")')
    assert (ended.code, ended.out, ended.err) == (0, "", "nothing would change\n")


def test_whatif_warns_of_facts_that_cannot_go_or_are_there(program: Path) -> None:
    args = ("whatif", program, "-F", program.parent)
    ended = whence(*args, "-d", 'reachable("A", "C")', "-i", 'link("A", "B")')
    assert ended.code == 0
    assert ended.err.count("warning[W0960]") == 2
    assert whence(*args, "-q", "-d", 'reachable("A", "C")').err == ""


@pytest.mark.parametrize(
    ("args", "code", "error"),
    [
        ((), 2, "W0822"),
        (("-d", "link(1"), 2, "W0682"),
        (("-d", "lnk(1)"), 2, "W0683"),
        (("-i", "link(1, 2)"), 2, "W0685"),
        (("-F", "nowhere", "-i", 'link("x", "y")'), 3, "W06"),
        (("-i", 'link("x", "y")', "--max-tuples", "3"), 4, "W0704"),
    ],
)
def test_mistakes_of_whatif_end_with_their_code(
    program: Path, args: tuple[str, ...], code: int, error: str
) -> None:
    ended = whence("whatif", program, "-F", program.parent, *args)
    assert ended.code == code, ended.err
    assert f"error[{error}" in ended.err


def test_a_wrong_program_ends_whatif_with_1(tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text("a(1).")
    ended = whence("whatif", tmp_path / "p.dl", "-d", "a(1)")
    assert (ended.code, "error[" in ended.err) == (1, True)
