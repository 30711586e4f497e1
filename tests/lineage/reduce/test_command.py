"""`whence lineage reduce` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from lineage.reduce.test_exact import layered
from lineage.reduce.test_paper_modes import trace
from whence.app.cli import app
from whence.lineage.events import Edge, Kind, batch_of
from whence.lineage.jsonl import write_lines
from whence.lineage.log import Topic, open_log
from whence.lineage.reduce import reduce
from whence.lineage.reduced import REDUCED, pairs_of


def run(*arguments: object, code: int = 0) -> str:
    found = CliRunner().invoke(app, ["lineage", "reduce", *map(str, arguments)])
    assert found.exit_code == code, found.output
    return found.output


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    with open(tmp_path / "edges.jsonl", "wb") as file:
        write_lines([trace(30)], file)
    return tmp_path / "edges.jsonl"


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_file_is_reduced_to_a_file(lines: Path, suffix: str) -> None:
    out = lines.with_name(f"reduced.{suffix}")
    said = run(lines, "-o", out)
    if suffix == "arrow":
        found = pa.ipc.open_stream(out).read_all()
    else:
        found = pq.read_table(out).cast(REDUCED)
    assert pairs_of(found) == pairs_of(reduce([trace(30)]).table)
    assert f"{trace(30).num_rows:,} edges in" in said
    assert f"{found.num_rows:,} links in {out}" in said
    assert sorted(p.name for p in lines.parent.iterdir()) == sorted([lines.name, out.name])


def test_partitions_and_modes_are_told_as_json(lines: Path) -> None:
    for mode in ("exact", "grouping", "window", "ordered"):
        asked = ("--partitions", 3, "--local-batch", 10, "--mode", mode, "--format", "json")
        told = json.loads(run(lines, *asked))
        assert told["mode"] == mode
        assert told["edges"] == trace(30).num_rows
        assert told["global_out"] > 0


def test_a_log_is_reduced_in_steps(tmp_path: Path) -> None:
    batch, _ = layered(1, 2, 20)
    log = open_log(tmp_path / "log")
    log.create(Topic("job", 1, attempts=True))
    log.append("job", 0, batch)
    out = tmp_path / "reduced.parquet"
    for _ in range(2):
        run(tmp_path / "log", "--checkpoint", tmp_path / "state", "-o", out)
        found = pairs_of(pq.read_table(out).cast(REDUCED))
        assert found == pairs_of(reduce([batch], attempts=True).table)


def test_cycles_are_told_with_their_nodes(tmp_path: Path) -> None:
    edges = [Edge(Kind.DERIVED, ("a", 1), ("b", 2)), Edge(Kind.DERIVED, ("b", 2), ("a", 1))]
    edges += [Edge(Kind.DERIVED, ("out", 1), ("a", 1)), Edge(Kind.DERIVED, ("b", 2), ("in", 1))]
    edges += [Edge(Kind.DERIVED, ("c", 1), ("c", 1))]
    found = reduce([batch_of(edges)])
    assert pairs_of(found.table) == {(("out", 1), ("in", 1))}
    with open(tmp_path / "edges.jsonl", "wb") as file:
        write_lines([batch_of(edges)], file)
    said = run(tmp_path / "edges.jsonl")
    assert "W1123" in said
    assert "`whence:a/1`, `whence:b/2` depend on each other" in said
    assert "W1124" in said
    assert "such as `whence:c/1`" in said


def test_mistakes_are_told_with_their_codes(lines: Path, tmp_path: Path) -> None:
    assert "W1130" in run(lines, "-o", "reduced.txt", code=2)
    (tmp_path / "folder.parquet").mkdir()
    for out in (tmp_path / "folder.parquet", tmp_path / "nowhere" / "a.parquet"):
        assert "W1202" in run(lines, "-o", out, code=2)
    assert "W1115" in run(lines, "--partitions", 1_000_000, code=2)
    assert "W1132" in run(lines, "--topic", "job", code=2)
    assert "W1127" in run(lines, "--mode", "window", "--output", "x", code=2)
    (tmp_path / "empty").mkdir()
    assert "W1131" in run(tmp_path / "empty", code=2)
    run(tmp_path / "nowhere.jsonl", code=3)
