"""The benchmark of questions runs, and does not believe wrong answers."""

from __future__ import annotations

from benchmarks.lineage import queries


def test_questions_are_measured_and_judged() -> None:
    found = queries.measure(quick=True)
    told = queries.tell(found)
    assert found["exact"]
    assert found["found"]["backward of a total"]["rows"] == 5_000
    assert len(told.bars) == 4
    assert not told.failures
    wrong = {**found, "exact": False}
    wrong["found"] = {"backward, one job": {**found["found"]["backward, one job"], "median": 0.06}}
    assert [bar.met for bar in queries.tell(wrong).bars] == [False]
    assert queries.tell(wrong).failures
