"""why, whynot and whatif on the command line and in the repl."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.commands import whence
from whence.app.repl import Repl
from whence.diagnostics import UsageError, WhenceError

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


# ── why ──

FORMS = ["text", "json", "dot", "mermaid", "prov-json"]
BB = 'reachable("B", "B")'


def test_why_prints_a_proof(program: Path) -> None:
    ended = whence("why", program, BB, "-F", program.parent)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        'reachable("B", "B")  by rule 2',
        '├─ link("B", "C")  given',
        '└─ reachable("C", "B")  by rule 1',
        '   └─ link("C", "B")  given',
        "",
        f"rule 1  {program}:6  reachable(x, y) :- link(x, y).",
        f"rule 2  {program}:7  reachable(x, z) :- link(x, y), reachable(y, z).",
    ]


def test_why_goes_through_negation(program: Path) -> None:
    (program.parent / "link.facts").write_text("A\tB\nB\tC\n")
    ended = whence("why", program, 'cut("B", "B").', "-F", program.parent)
    assert '└─ !reachable("B", "B")  no such fact' in ended.out


@pytest.mark.parametrize("form", FORMS)
def test_why_speaks_every_format(program: Path, form: str) -> None:
    for more in ([], ["--all"], ["--depth", "1"], ["--minimal"], ["--semiring", "absorption"]):
        ended = whence("why", program, BB, "-F", program.parent, "--format", form, *more)
        assert (ended.code, ended.err) == (0, "")
        if "json" in form:
            assert "reachable" in json.dumps(json.loads(ended.out))


def test_why_cuts_at_a_depth(program: Path) -> None:
    ended = whence("why", program, BB, "-F", program.parent, "--depth", "1")
    assert ended.out.splitlines()[2] == '└─ reachable("C", "B")  … cut here, 1 more step high'
    ended = whence("why", program, BB, "-F", program.parent, "--depth", "0", "--all")
    assert ended.out == 'reachable("B", "B")  … cut here\n'


def test_why_prints_all_derivations_with_their_annotations(program: Path) -> None:
    args = ("why", program, BB, "-F", program.parent, "--all")
    assert whence(*args).out.count("see #1 above") == 2
    shown = whence(*args, "--semiring", "counting-inf").out
    assert shown.startswith(
        'reachable("B", "B") [inf]  by rule 2  #1\n├─ link("B", "C") [1]  given'
    )


def test_why_finds_minimal_witnesses(program: Path) -> None:
    args = ("why", program, BB, "-F", program.parent, "--witnesses")
    assert whence(*args, 5).out.splitlines() == [
        'link("B", "C"), link("C", "B")',
        'link("A", "B"), link("B", "C"), link("C", "A")',
    ]
    ended = whence(*args, 1)
    assert (ended.out.count("\n"), ended.err) == (1, "there may be more\n")
    found = json.loads(whence(*args, 5, "--format", "json").out)
    assert found["complete"] is True
    assert [len(each) for each in found["witnesses"]] == [2, 3]


def test_why_prints_the_polynomial_or_the_cycle_that_forbids_it(program: Path) -> None:
    args = ("why", program, "-F", program.parent, "--polynomial", 'reachable("A", "C")')
    ended = whence(*args)
    assert (ended.code, ended.out) == (3, "")
    assert "error[W0931]" in ended.err
    (program.parent / "link.facts").write_text("A\tB\nB\tC\nA\tD\nD\tC\nA\tC\n")
    text = 'link("A", "C") + link("A", "B")·link("B", "C") + link("A", "D")·link("D", "C")'
    assert whence(*args).out.strip() == text
    assert json.loads(whence(*args, "--format", "json").out) == {
        "fact": 'reachable("A", "C")',
        "polynomial": text,
    }


def test_a_proof_in_a_semiring_is_the_best_one(tmp_path: Path) -> None:
    (tmp_path / "p.dl").write_text(
        ".decl edge(x: number, y: number, @prov:tropical)\n.input edge\n"
        ".decl path(x: number, y: number, @prov:tropical)\n"
        "path(x, y) :- edge(x, y).\npath(x, z) :- edge(x, y), path(y, z).\n"
    )
    (tmp_path / "edge.facts").write_text("1\t3\t9\n1\t2\t2\n2\t3\t3\n")
    args = ("why", tmp_path / "p.dl", "path(1, 3)", "-F", tmp_path)
    assert whence(*args).out.splitlines()[:2] == [
        "path(1, 3) [5]  by rule 2",
        "├─ edge(1, 2) [2]  given",
    ]
    assert whence(*args, "--minimal").out.startswith("path(1, 3)  by rule 1\n└─ edge(1, 3)")
    assert whence(*args, "--semiring", "plain").out.startswith("path(1, 3)  by rule 1\n")


@pytest.mark.parametrize(
    ("args", "code", "error"),
    [
        (('reachable("A", "Z")',), 2, "W0951"),
        (("reachable(x, y)",), 2, "W0950"),
        (("reachable(",), 2, "W0101"),
        (("",), 2, "W01"),
        (("reach(1)",), 2, "W0804"),
        (('reachable("A")',), 2, "W0805"),
        (("reachable(1, 2)",), 2, "W0806"),
        ((BB, "--all", "--polynomial"), 2, "W0823"),
        ((BB, "--witnesses", "2", "--format", "dot"), 2, "W0823"),
        ((BB, "--semiring", "topical"), 2, "W0920"),
        ((BB, "--max-tuples", "3"), 4, "W0704"),
        ((BB, "-F", "nowhere"), 3, "W06"),
    ],
)
def test_mistakes_of_why_end_with_their_code(
    program: Path, args: tuple[str, ...], code: int, error: str
) -> None:
    ended = whence("why", program, "-F", program.parent, *args)
    assert ended.code == code, ended.err
    assert f"error[{error}" in ended.err
    assert ended.out == ""


# ── whynot ──


def test_whynot_prints_what_is_missing(program: Path) -> None:
    ended = whence("whynot", program, 'reachable("B", "D")', "-F", program.parent)
    assert (ended.code, ended.err) == (0, "")
    first = ended.out.split("\n\n")[0].splitlines()
    assert first == [
        'reachable("B", "D")  is not there',
        '├─ rule 1 with x = "B", y = "D"',
        '│  └─ link("B", "D")  is not there',
        '└─ rule 2 with x = "B", z = "D", y = "C"',
        '   ├─ link("B", "C")  holds',
        '   └─ reachable("C", "D")  is not there',
    ]
    deeper = whence("whynot", program, 'reachable("B", "D")', "-F", program.parent, "--depth", 1)
    assert '│  └─ link("C", "D")  is not there' in deeper.out


@pytest.mark.parametrize("form", FORMS)
def test_whynot_speaks_every_format(program: Path, form: str) -> None:
    args = ("whynot", program, 'reachable("B", "D")', "-F", program.parent, "--format", form)
    ended = whence(*args)
    assert (ended.code, ended.err) == (0, "")
    if "json" in form:
        json.loads(ended.out)


def test_whynot_of_a_fact_that_holds_points_to_why(program: Path) -> None:
    ended = whence("whynot", program, BB, "-F", program.parent)
    assert (ended.code, "error[W0952]" in ended.err) == (2, True)


# ── all of them ──

ODD = st.one_of(
    st.text(max_size=12),
    st.lists(
        st.sampled_from(["reachable", "link", "(", ")", '"A"', ",", "1", "x", "_", ".", "["])
    ).map("".join),
)


@given(ODD)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_of_a_fact_ends_in_a_traceback(small: Path, text: str) -> None:
    for command in (("why", small, "--", text), ("whynot", small, "--", text)):
        assert whence(*command).code in (0, 2)
    assert whence("whatif", small, f"--delete={text}").code in (0, 2)
    shell = Repl()
    shell.load(small)
    for name in (".why", ".whynot", ".whatif"):
        with contextlib.suppress(WhenceError):
            list(shell.read_line(f"{name} {text}"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    (tmp_path / "small.dl").write_text(
        REACH.replace(".input link\n", 'link("A", "B").\nlink("B", "A").\n')
    )
    return tmp_path / "small.dl"


def test_a_terminal_is_shown_colours(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = whence("why", small, 'reachable("A", "A")').out
    assert "\x1b[" in coloured
    monkeypatch.delenv("FORCE_COLOR")
    plain = whence("why", small, 'reachable("A", "A")').out
    lines = re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines()
    assert [line.rstrip() for line in lines] == plain.splitlines()


# ── the conversation ──


def test_the_conversation_explains(small: Path) -> None:
    ended = whence(
        "repl",
        small,
        stdin='.why reachable("A", "A")\n.whynot reachable("A", "C")\n'
        '.whatif -link("B", "A"). +link("B", "C").\nreachable("B", x)?\n'
        '.whatif -reachable("A", "A").\n',
    )
    assert ended.code == 0
    assert 'reachable("A", "A")  by rule 4\n├─ link("A", "B")  given' in ended.out
    assert 'reachable("A", "C")  is not there\n' in ended.out
    assert '-reachable("B", "B").\n+reachable("A", "C").\n+reachable("B", "C").\n' in ended.out
    assert 'reachable("B", "A").\nreachable("B", "B").\n2 answers' in ended.out
    assert "warning[W0960]" in ended.out
    assert "nothing would change" in ended.out


@pytest.mark.parametrize("line", [".why", ".whynot", ".whatif", '.whatif link("A", "B")'])
def test_the_conversation_says_what_a_question_lacks(small: Path, line: str) -> None:
    shell = Repl()
    shell.load(small)
    with pytest.raises(UsageError, match=r"W0807|W0822"):
        list(shell.read_line(line))


def test_long_changes_are_cut_in_the_conversation() -> None:
    shell = Repl()
    for line in (".decl n(x: number)", "n(0).", "n(x + 1) :- n(x), x < 999."):
        list(shell.read_line(line))
    shown = list(shell.read_line(".whatif -n(0)."))
    assert (len(shown), shown[-1]) == (201, "… and 800 more")


def test_a_fact_that_comes_with_a_better_annotation_is_not_said_to_be_there(tmp_path: Path) -> None:
    path = tmp_path / "ways.dl"
    path.write_text(
        ".decl e(x: number, @prov:tropical) .decl p(x: number, @prov)  .output p\n"
        "e(1, 3).  p(x) :- e(x)."
    )
    ended = whence("whatif", path, "--insert", "e(1)")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == "-p(1, 3.0).\n+p(1, 0.0).\n"
    assert "`e(1, 3)` is a base fact already" in whence("whatif", path, "--insert", "e(1, 3)").err
