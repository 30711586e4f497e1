"""`whence run --engine spark`: the files of the embedded engine, on Spark; and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from app.commands import whence
from whence.app.cli import app

CLOSURE = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
.printsize path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""

Run = Callable[..., Result]


@pytest.fixture
def closure(tmp_path: Path) -> Path:
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "edge.facts").write_text("1\t2\n2\t3\n3\t1\n3\t4\n")
    (tmp_path / "closure.dl").write_text(CLOSURE)
    return tmp_path


@pytest.fixture
def run(spark: Any) -> Run:
    """Run the command in this process, in the session that is there."""

    def invoke(program: Path, *arguments: object) -> Result:
        given = ["run", str(program), "--engine", "spark", *map(str, arguments)]
        return CliRunner().invoke(app, given)

    return invoke


def files(folder: Path) -> dict[str, str]:
    return {p.name: p.read_text() for p in sorted(folder.iterdir()) if p.is_file()}


@pytest.mark.spark
def test_outputs_are_those_of_the_embedded_engine(closure: Path, run: Run) -> None:
    facts = ["-F", closure / "facts", "-D"]
    stats = closure / "stats.json"
    ended = run(closure / "closure.dl", *facts, closure / "spark", "--stats", stats, "--tasks", 3)
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "path\t12\n", "")
    whence("run", closure / "closure.dl", *facts, closure / "here")
    assert files(closure / "spark") == files(closure / "here")
    found = json.loads(stats.read_text())
    assert found["relations"]["path"]["tuples"] == 12
    (group,) = found["groups"]
    assert group["strategy"] == "decomposed"
    assert sum(task["tuples"] for task in group["tasks"]) == 12
    assert len(group["tasks"]) == 3


@pytest.mark.spark
@pytest.mark.parametrize("strategy", ["gang", "rounds", "alone"])
def test_a_strategy_can_be_asked_for(closure: Path, run: Run, strategy: str) -> None:
    stats = closure / "stats.json"
    program = closure / "closure.dl"
    program.write_text(CLOSURE.replace("path(x, y), edge(y, z)", "path(x, y), path(y, z)"))
    arguments = ["-F", closure / "facts", "-D", closure / "out", "--stats", stats]
    ended = run(program, *arguments, "--strategy", strategy)
    assert (ended.exit_code, ended.stdout) == (0, "path\t12\n"), ended.stderr
    assert {g["strategy"] for g in json.loads(stats.read_text())["groups"]} == {strategy}


@pytest.mark.spark
def test_annotated_outputs_have_their_last_column(tmp_path: Path, run: Run) -> None:
    program = tmp_path / "costs.dl"
    program.write_text(
        ".decl edge(x: number, y: number, @prov:tropical)\n.input edge\n"
        ".decl path(x: number, y: number)\n.output path\n"
        "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).\n"
    )
    (tmp_path / "edge.facts").write_text("1\t2\t5\n2\t3\t1\n1\t3\t9\n")
    ended = run(program, "-F", tmp_path, "-D", tmp_path / "out")
    assert ended.exit_code == 0, ended.stderr
    whence("run", program, "-F", tmp_path, "-D", tmp_path / "here")
    assert files(tmp_path / "out") == files(tmp_path / "here")


@pytest.mark.spark
def test_spark_reads_and_writes_where_a_scheme_says_so(closure: Path, run: Run) -> None:
    (closure / "edges").mkdir()
    for number, rows in enumerate([[(1, 2), (2, 3)], [(3, 1), (3, 4)]]):
        table = pa.table({"x": [x for x, _ in rows], "y": [y for _, y in rows]})
        pq.write_table(table, closure / "edges" / f"{number}.parquet")
    program = closure / "closure.dl"
    text = CLOSURE.replace(".input edge", '.input edge(filename="edges", IO="parquet")')
    program.write_text(text.replace(".output path", '.output path(IO="parquet")'))
    ended = run(program, "-F", f"file://{closure}", "-D", f"file://{closure}/out")
    assert (ended.exit_code, ended.stdout) == (0, "path\t12\n"), ended.stderr
    assert pq.read_table(closure / "out" / "path.parquet").num_rows == 12
    assert [p.name for p in (closure / "out").iterdir()] == ["path.parquet"]


@pytest.mark.spark
def test_facts_of_a_relation_may_be_here_and_there(closure: Path, run: Run) -> None:
    (closure / "more").mkdir()
    (closure / "more" / "a.facts").write_text("4\t5\n")
    program = closure / "closure.dl"
    program.write_text(CLOSURE + '.input edge(filename="../more")\n')
    ended = run(program, "-F", closure / "facts", "-D", closure / "out")
    assert (ended.exit_code, ended.stdout) == (0, "path\t16\n"), ended.stderr


@pytest.mark.spark
def test_limits_and_bad_rows_have_their_exit_codes(closure: Path, run: Run) -> None:
    facts = ["-F", closure / "facts", "-D", closure / "out"]
    ended = run(closure / "closure.dl", *facts, "--max-tuples", 5)
    assert (ended.exit_code, "W0704" in ended.stderr) == (4, True)
    endless = closure / "endless.dl"
    endless.write_text(".decl n(x: number) .output n n(0). n(x + 1) :- n(x), x < 1000000000.")
    ended = run(endless, "-D", closure / "out", "--timeout", "2s")
    assert (ended.exit_code, "W0702" in ended.stderr) == (4, True)
    (closure / "bad").mkdir()
    (closure / "bad" / "edge.facts").mkdir()
    (closure / "bad" / "edge.facts" / "part").write_text("1\tx\n")
    ended = run(closure / "closure.dl", "-F", closure / "bad", "-D", closure / "out")
    assert ended.exit_code == 3
    assert "part:1:3" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (closure / "out").exists()


def test_mistakes_are_told_before_a_session_starts(
    closure: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(*_: object, **__: object) -> None:
        raise AssertionError("a session was asked for")

    for name in ("session", "own_session"):
        monkeypatch.setattr(f"whence.engine.spark.session.{name}", started)
    runner = CliRunner()
    program = closure / "closure.dl"
    common = ["run", str(program), "--engine", "spark", "-F"]
    assert runner.invoke(app, [*common, str(closure)]).exit_code == 3  # no such facts
    (closure / "facts" / "edge.facts").write_text("1\tx\n")
    found = runner.invoke(app, [*common, str(closure / "facts")])
    assert (found.exit_code, "edge.facts:1:3" in found.stderr) == (3, True)
    program.write_text(CLOSURE + "path(x, w) :- edge(x, y).")
    assert runner.invoke(app, [*common, str(closure / "facts")]).exit_code == 1
    found = runner.invoke(app, [*common, ".", "--conf", "memory=4g"])
    assert (found.exit_code, "W1069" in found.stderr) == (2, True)


def test_the_plan_says_how_a_program_is_cut_and_why(closure: Path) -> None:
    program = closure / "closure.dl"
    shown = whence("plan", program, "--engine", "spark").out
    assert "── on Spark\ngroup 0: path (decomposed)\n  why: the recursion carries `x`" in shown
    found = json.loads(whence("plan", program, "--engine", "spark", "--format", "json").out)
    assert [group["strategy"] for group in found["spark"]] == ["decomposed"]
    forced = whence("plan", program, "--engine", "spark", "--strategy", "gang").out
    assert "group 0: path (gang)" in forced
    annotated = ["--engine", "spark", "--semiring", "why"]
    assert "one task: annotations in this semiring" in whence("plan", program, *annotated).out
    assert whence("plan", program).out in shown


@pytest.mark.parametrize("option", [("--master", "local"), ("--tasks", "2"), ("--conf", "a=b")])
def test_options_of_spark_are_for_spark(closure: Path, option: tuple[str, str]) -> None:
    ended = whence("run", closure / "closure.dl", "-F", closure / "facts", *option)
    assert (ended.code, f"`{option[0]}` says something about Spark" in ended.err) == (2, True)


def test_places_with_a_scheme_are_for_spark(closure: Path) -> None:
    ended = whence("run", closure / "closure.dl", "-F", "s3://bucket/facts")
    assert (ended.code, "W1069" in ended.err) == (2, True)
    (closure / "table.dl").write_text(CLOSURE.replace(".input edge", '.input edge(IO="table")'))
    ended = whence("run", closure / "table.dl", "-F", closure / "facts")
    assert (ended.code, "only Spark reads the table `edge`" in ended.err) == (3, True)
