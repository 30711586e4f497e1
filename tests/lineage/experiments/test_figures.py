"""The experiments run, say what the paper says where they must, and do not believe wrong answers."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from experiments.__main__ import main
from experiments.lineage import command, figure14, figure15, figure16, streaming, table1
from experiments.lineage.trace import Job, truth
from whence import plotting as plots
from whence.lineage.reduce.grouping import Grouping


def quiet(line: str) -> None:
    """Say nothing."""


@pytest.fixture(scope="module")
def accuracy() -> dict[str, Any]:
    return figure14.measure(quick=True, say=quiet)


def test_figure_14_has_exact_answers_in_exact_mode_alone(accuracy: dict[str, Any]) -> None:
    assert not figure14.failures(accuracy)
    at = {"percent": 30, "stream": "groups stay whole"}
    shares = {m: figure14.mean(accuracy, "accuracy", mode=m, **at) for m in figure14.MODES}
    assert shares["exact"] == shares["grouping"] == 1 > shares["ordered"]
    at["stream"] = "edges move alone"
    assert figure14.mean(accuracy, "accuracy", mode="grouping", **at) < 1
    at = {"percent": 0, "stream": "groups, entities used twice"}
    assert figure14.mean(accuracy, "accuracy", mode="grouping", **at) < 1


def test_figure_14_does_not_believe_an_exact_mode_that_errs(accuracy: dict[str, Any]) -> None:
    for key in ("accuracy", "precision", "backward", "forward"):
        wrong = copy.deepcopy(accuracy)
        next(row for row in wrong["rows"] if row["mode"] == "exact")[key] = 0.999
        assert "exact is not exact" in figure14.failures(wrong)


def test_answers_are_judged_in_both_directions() -> None:
    one, two = ("counts", 1), ("counts", 2)
    a, b, c = (("tweets", i) for i in range(3))
    right = figure14.judged({(one, a), (one, c)}, {(one, a), (one, b), (two, c)})
    expected = {"accuracy": 1 / 3, "precision": 1 / 2, "backward": 0, "forward": 1 / 3}
    assert right == pytest.approx(expected)


def test_figure_15_reduces_the_same_in_one_process_and_in_two() -> None:
    found = figure15.measure(quick=True, say=quiet, spark=False)
    assert not figure15.failures(found)
    assert {row["pairs"] for row in found["rows"]} == {truth(Job(400, workers=4)).num_rows}
    one, two = figure15.best(found)
    assert one["speedup"] == 1
    assert two["possible"] > 1
    assert len(figure15.tables(found)[0].rows) == 2
    found["rows"][-1]["pairs"] += 1
    assert figure15.failures(found)


@pytest.mark.spark
@pytest.mark.slow
def test_figure_15_reduces_the_same_on_structured_streaming(spark: Any, tmp_path: Path) -> None:
    job = Job(300, workers=4)
    rows = streaming.measure(job, 1, tmp_path / "log", session=spark)
    assert [row["partitions"] for row in rows] == [1, 2]
    assert {row["pairs"] for row in rows} == {truth(job).num_rows}
    assert rows[1]["largest"] < rows[1]["edges"] == rows[0]["largest"]


def test_figure_16_is_best_by_worker_where_workers_combine() -> None:
    found = figure16.measure(quick=True, say=quiet)
    assert not figure16.failures(found)
    passed = {
        row["strategy"]: row["passed"]
        for row in found["rows"]
        if (row["case"], row["size"]) == ("grouping: map, combine, reduce", 2_000)
    }
    assert passed["vertical"] < passed["random"] < passed["horizontal"]
    found["rows"][-1]["accuracy"] = 0.99
    assert figure16.failures(found) == ["exact is not exact"]


def test_two_edges_of_a_group_miss_each_other_around_an_edge_that_is_there() -> None:
    # Why a flush is not one group to the global reducer.
    apart, together = Grouping(), Grouping()
    for group in ([(1, 2)], [(2, 3)], [(0, 1)]):
        apart.add_group(group)
    for group in ([(1, 2)], [(2, 3), (0, 1)]):
        together.add_group(group)
    assert apart.state() == [(0, 3)]
    assert together.state() == [(1, 3), (0, 2)]


def test_table_1_counts_the_pairs_that_are_true() -> None:
    found = table1.measure(quick=True, say=quiet)
    assert not table1.failures(found)
    for row in found["rows"]:
        (given, local, out), size = row["edges"], row["bytes"]
        assert given > local > out > 0
        assert size[0] > size[1] > size[2] > row["parquet"]
    assert len(table1.tables(found)[0].rows) == 1 + len(found["rows"])
    found["rows"][0]["pairs"] -= 1
    assert len(table1.failures(found)) == 1


def test_the_command_writes_figures_and_draws_them_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lineage", "figure14", "--quick", "--out", str(tmp_path)]) == 0
    assert "groups stay whole" in capsys.readouterr().out
    assert json.loads((tmp_path / "figure14.json").read_text())["rows"]
    first = (tmp_path / "figure14.svg").read_bytes()
    (tmp_path / "figure14.svg").unlink()
    assert main(["lineage", "figure14", "--redraw", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "figure14.svg").read_bytes() == first


def test_the_command_says_what_it_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([]) == main(["cooking"]) == 2
    for words in (["figure17"], ["figure14", "--redraw", "--out", str(tmp_path)]):
        with pytest.raises(SystemExit, match="2"):
            main(["lineage", *words])
    (tmp_path / "file").touch()
    assert main(["lineage", "table1", "--out", str(tmp_path / "file" / "below")]) == 2
    assert "cannot write" in capsys.readouterr().err
    monkeypatch.setattr(plots, "available", lambda: False)
    assert main(["lineage", "figure14", "--quick", "--out", str(tmp_path)]) == 0
    assert "whence[plot]" in capsys.readouterr().err
    assert not (tmp_path / "figure14.svg").exists()


def test_wrong_answers_are_told_by_the_exit_code(
    tmp_path: Path, accuracy: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = copy.deepcopy(accuracy)
    next(row for row in wrong["rows"] if row["mode"] == "exact")["accuracy"] = 0.5
    (tmp_path / "figure14.json").write_text(json.dumps(wrong))
    assert command.main(["figure14", "--redraw", "--out", str(tmp_path)]) == 1
    assert "exact is not exact" in capsys.readouterr().err
