"""`--semiring` and `--annotate` on the command line, and what each command shows with them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from app.commands import whence

ROADS = """\
.decl road(x: symbol, y: symbol, @prov)
.input road
.decl way(x: symbol, y: symbol, @prov)
way(x, y) :- road(x, y).
way(x, z) :- way(x, y), road(y, z).
.output way
"""
FACTS = "a\tb\t1\nb\tc\t2.5\na\tc\t4\n"


@pytest.fixture
def roads(tmp_path: Path) -> Path:
    (tmp_path / "road.facts").write_text(FACTS)
    program = tmp_path / "roads.dl"
    program.write_text(ROADS)
    return program


def printed(program: Path, *options: object) -> list[str]:
    ended = whence("run", program, "-F", program.parent, "-D", "-", *options)
    assert (ended.code, ended.err) == (0, "")
    return ended.out.splitlines()[3:-1]


def with_text(program: Path, old: str, new: str) -> Path:
    program.write_text(program.read_text().replace(old, new))
    return program


def test_run_writes_annotations_as_a_last_column(roads: Path) -> None:
    assert printed(roads, "--semiring", "tropical") == ["a\tb\t1", "a\tc\t3.5", "b\tc\t2.5"]
    assert printed(roads, "--semiring", "top-2") == ["a\tb\t1", "a\tc\t3.5 4", "b\tc\t2.5"]


def test_without_a_semiring_the_column_is_read_and_ignored(roads: Path) -> None:
    plain = ["a\tb", "a\tc", "b\tc"]
    assert printed(roads) == plain
    assert printed(roads, "--semiring", "plain") == plain


def test_a_named_semiring_is_the_default(roads: Path) -> None:
    with_text(roads, "y: symbol, @prov)\n.input", "y: symbol, @prov:tropical)\n.input")
    assert printed(roads)[1] == "a\tc\t3.5"
    assert printed(roads, "--semiring", "minimax")[1] == "a\tc\t2.5"
    assert printed(roads, "--semiring", "plain")[1] == "a\tc"


def test_the_header_of_the_column_is_prov(roads: Path) -> None:
    with_text(roads, ".output way", ".output way(headers=true)")
    ended = whence("run", roads, "-F", roads.parent, "-D", "-", "--semiring", "tropical")
    assert ended.out.splitlines()[2] == "x\ty\t@prov"


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "arrow"])
def test_what_a_run_writes_another_reads(roads: Path, form: str) -> None:
    with_text(roads, ".output way", f'.output way(filename="road2.{form}")')
    out = roads.parent
    assert whence("run", roads, "-F", out, "-D", out, "--semiring", "tropical").code == 0
    again = out / "again.dl"
    again.write_text(
        f'.decl way(x: symbol, y: symbol, @prov)  .input way(filename="road2.{form}")\n'
        ".output way\n"
    )
    assert printed(again, "--semiring", "tropical") == ["a\tb\t1", "a\tc\t3.5", "b\tc\t2.5"]


def test_json_and_parquet_name_the_column(roads: Path) -> None:
    with_text(roads, ".output way", '.output way(filename="w.jsonl")\n')
    roads.write_text(roads.read_text() + '.output road(filename="r.parquet")\n')
    out = roads.parent
    assert whence("run", roads, "-F", out, "-D", out, "--semiring", "tropical").code == 0
    first = json.loads((out / "w.jsonl").read_text().splitlines()[0])
    assert first == {"x": "a", "y": "b", "@prov": 1.0}
    assert pq.read_table(out / "r.parquet").column_names == ["x", "y", "@prov"]


def test_where_nothing_is_declared_every_output_is_annotated(tmp_path: Path) -> None:
    program = tmp_path / "p.dl"
    program.write_text(
        ".decl e(x: number)  e(1). e(2).  .decl p(x: number)  p(x) :- e(x). p(1) :- e(2).\n"
        ".output p  .output e\n"
    )
    ended = whence("run", program, "-D", "-", "--semiring", "counting")
    assert ended.out.split("===============\n")[1::2] == ["1\t2\n2\t1\n", "1\t1\n2\t1\n"]
    ended = whence("query", program, "p(1)", "--semiring", "why")
    assert ended.out == 'p(1, "{e(1)} {e(2)}").\n'


def test_where_some_are_declared_only_those_show_annotations(roads: Path) -> None:
    with_text(roads, ".output way", ".decl far(x: symbol)  far(x) :- way(x, _).  .output far")
    assert printed(roads, "--semiring", "tropical") == ["a", "b"]


def test_facts_without_annotations_take_the_default(roads: Path) -> None:
    (roads.parent / "road.facts").write_text("a\tb\nb\tc\t2.5\n")
    assert printed(roads, "--semiring", "tropical")[1] == "a\tc\t2.5"
    default = ("--semiring", "tropical", "--annotate", "road=10")
    assert printed(roads, *default) == ["a\tb\t10", "a\tc\t12.5", "b\tc\t2.5"]


def test_a_default_also_annotates_what_is_not_declared(tmp_path: Path) -> None:
    program = tmp_path / "p.dl"
    program.write_text(
        ".decl e(x: number, y: number)  e(1, 2). e(2, 3).\n"
        ".decl p(x: number, y: number)  p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).\n"
        ".output p\n"
    )
    found = printed(program, "--semiring", "tropical", "--annotate", "e=2")
    assert found == ["1\t2\t2", "1\t3\t4", "2\t3\t2"]


def test_facts_in_the_text_carry_annotations(roads: Path) -> None:
    roads.write_text(roads.read_text() + 'road("a", "c", 0.25).\nroad("z", "a").\n')
    found = printed(roads, "--semiring", "tropical")
    assert found[1] == "a\tc\t0.25"
    assert "z\ta\t0" in found


def test_query_answers_with_annotations(roads: Path) -> None:
    ended = whence("query", roads, 'way("a", x)', "-F", roads.parent, "--semiring", "tropical")
    assert ended.out == 'way("a", "b", 1.0).\nway("a", "c", 3.5).\n'
    ended = whence(
        "query", roads, 'way("a", x)', "-F", roads.parent, "--semiring", "fuzzy", "--format", "json"
    )
    assert ended.code == 3  # 2.5 is no truth value
    ended = whence(
        "query",
        roads,
        'way("a", "c")',
        "-F",
        roads.parent,
        "--semiring",
        "minimax",
        "--format",
        "json",
    )
    shown = json.loads(ended.out)
    assert (shown["columns"], shown["rows"]) == (["x", "y", "@prov"], [["a", "c", 2.5]])


@pytest.mark.parametrize(
    ("semiring", "evaluator"),
    [("tropical", "best per fact"), ("counting", "exact"), ("why", "round by round")],
)
def test_plan_says_which_evaluator_and_why(roads: Path, semiring: str, evaluator: str) -> None:
    ended = whence("plan", roads, "--semiring", semiring)
    assert ended.out.startswith(f"── semiring {semiring}\n{evaluator}: ")
    shown = json.loads(whence("plan", roads, "--semiring", semiring, "--format", "json").out)
    assert (shown["semiring"]["name"], shown["semiring"]["evaluator"]) == (semiring, evaluator)


def test_plan_shows_that_the_best_is_kept_by_key(roads: Path) -> None:
    assert (
        "way keeps the least @prov for each (x, y)"
        in whence("plan", roads, "--semiring", "tropical").out
    )
    assert "keeps the greatest @prov" in whence("plan", roads, "--semiring", "viterbi").out
    assert "semiring" not in whence("plan", roads).out


def test_plan_says_how_annotations_are_maintained(roads: Path) -> None:
    ended = whence("plan", roads, "--semiring", "why", "--maintain", "auto")
    assert "all is evaluated again after each batch" in ended.out
    ended = whence("plan", roads, "--semiring", "why", "--maintain", "auto", "--format", "json")
    (entry,) = json.loads(ended.out)["maintenance"]
    assert (entry["strategy"], set(entry["relations"])) == ("recompute", {"road", "way"})
    ended = whence("plan", roads, "--semiring", "tropical", "--maintain", "auto")
    assert "evaluated again" not in ended.out
    assert ended.code == 0


def test_watch_takes_and_tells_annotated_facts(roads: Path) -> None:
    updates = '+road("c", "d", 1).\ncommit.\n-road("a", "b", 1).\n+road("a", "b", 0.5).\n'
    ended = whence(
        "watch",
        roads,
        "--updates",
        "-",
        "-F",
        roads.parent,
        "--semiring",
        "tropical",
        stdin=updates,
    )
    assert (ended.code, ended.err) == (0, "")
    first, second, _ = ended.out.split("commit.\n")
    assert first.splitlines() == [
        '+way("a", "d", 4.5).',
        '+way("b", "d", 3.5).',
        '+way("c", "d", 1.0).',
    ]
    assert set(second.splitlines()) >= {'-way("a", "c", 3.5).', '+way("a", "c", 3.0).'}


def test_watch_refuses_what_is_no_annotation(roads: Path) -> None:
    for update in (
        '+road("a", "d", -1).',
        '{"op": "+", "relation": "road", "row": ["a", "d", -1]}',
    ):
        ended = whence("watch", roads, "--updates", "-", "--semiring", "tropical", stdin=update)
        assert ended.code == 3
        assert "W0942" in ended.err
        assert "Traceback" not in ended.err


def test_watch_keeps_its_semiring_in_the_state(roads: Path) -> None:
    state = roads.parent / "state"
    options = ("--state", state, "--updates", "-")
    first = whence(
        "watch", roads, *options, "--semiring", "tropical", stdin='+road("a", "b", 1).\n'
    )
    assert first.out == '+way("a", "b", 1.0).\ncommit.\n'
    again = whence(
        "watch", roads, *options, "--semiring", "tropical", stdin='+road("b", "c", 1).\n'
    )
    assert '+way("a", "c", 2.0).' in again.out
    other = whence("watch", roads, *options, "--semiring", "minimax", stdin="")
    assert (other.code, "W0944" in other.err) == (2, True)


def test_repl_reads_the_same_program_in_several_semirings(roads: Path) -> None:
    lines = [
        f".load {roads}",
        'way("a", "c")?',
        ".semiring",
        ".semiring tropical",
        'way("a", "c")?',
        ".semiring",
        ".semiring tropcal",
        'road("a", "c", 0.5).',
        'way("a", "c")?',
        ".semiring plain",
        'way("a", "c")?',
    ]
    ended = whence("repl", "-F", roads.parent, stdin="\n".join(lines) + "\n")
    answers = [line for line in ended.out.splitlines() if "answer" not in line]
    assert answers == [
        'way("a", "c").',
        "plain",
        'way("a", "c", 3.5).',
        "tropical",
        'way("a", "c", 0.5).',
        'way("a", "c").',
    ]
    assert "did you mean `tropical`?" in ended.err


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (("--semiring", "tropcal"), 2, "W0920"),
        (("--semiring", "viterbi"), 3, "W0942"),
        (("--annotate", "road=1"), 2, "W0945"),
        (("--semiring", "tropical", "--annotate", "road"), 2, "W0818"),
        (("--semiring", "tropical", "--annotate", "raod=1"), 2, "did you mean `road`?"),
        (("--semiring", "tropical", "--annotate", "road=x"), 3, "W0942"),
    ],
)
def test_mistakes_are_told(roads: Path, options: tuple[str, ...], code: int, says: str) -> None:
    (roads.parent / "road.facts").write_text(FACTS + "q\tr\n")
    ended = whence("run", roads, "-F", roads.parent, "-D", "-", *options)
    assert (ended.code, ended.out) == (code, "")
    assert says in ended.err
    assert "Traceback" not in ended.err


def test_bad_annotations_can_be_skipped(roads: Path) -> None:
    (roads.parent / "road.facts").write_text("a\tb\t1\nb\tc\t-1\n")
    ended = whence(
        "run",
        roads,
        "-F",
        roads.parent,
        "-D",
        "-",
        "--semiring",
        "tropical",
        "--on-bad-row",
        "skip",
    )
    assert ended.code == 0
    assert "a\tb\t1" in ended.out
    assert "W0961" in ended.err


def test_check_knows_the_semirings_that_a_program_names(roads: Path) -> None:
    assert whence("check", roads).code == 0
    with_text(roads, "@prov)\n.input", "@prov:tropcal)\n.input")
    ended = whence("check", roads)
    assert (ended.code, "W0920" in ended.err + ended.out) == (1, True)


def test_two_named_semirings_need_a_choice(roads: Path) -> None:
    roads.write_text(roads.read_text().replace("@prov)\n.input", "@prov:fuzzy)\n.input"))
    roads.write_text(roads.read_text().replace("@prov)\nway", "@prov:tropical)\nway"))
    ended = whence("run", roads, "-F", roads.parent)
    assert (ended.code, "W0941" in ended.err) == (1, True)
    assert printed(roads, "--semiring", "tropical")[1] == "a\tc\t3.5"


def test_a_cycle_of_counts_is_refused_with_the_cycle(roads: Path) -> None:
    (roads.parent / "road.facts").write_text("a\tb\t1\nb\ta\t1\n")
    ended = whence("run", roads, "-F", roads.parent, "-D", "-", "--semiring", "counting")
    assert ended.code in (1, 3)
    assert "way" in ended.err
    assert "Traceback" not in ended.err
