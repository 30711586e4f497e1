"""The benchmarks of lineage run, and do not believe wrong answers."""

from __future__ import annotations

from typing import Any

from benchmarks.lineage import command, log
from benchmarks.lineage.streams import hashtag_counts


def test_sections_name_modules_that_are_there() -> None:
    from importlib.util import find_spec

    assert all(find_spec(section.module) for section in command.SECTIONS.values())


def test_streams_are_the_same_on_every_machine() -> None:
    batch = hashtag_counts(40_000)
    assert batch.num_rows == 30_000
    assert batch.equals(hashtag_counts(40_000))


def found(**changed: Any) -> dict[str, Any]:
    speeds = {"segments": 5e-8, "lines": 1e-6}
    return {
        "edges": 10,
        "bytes_per_line": 220.0,
        "wrote": speeds,
        "read": speeds,
        "exact": True,
        **changed,
    }


def test_the_log_is_judged_by_its_speed_and_by_what_was_read() -> None:
    told = log.tell(found())
    assert [bar.met for bar in told.bars] == [True, True]
    assert not told.failures
    slow = log.tell(found(read={"segments": 2e-7, "lines": 3e-6}, exact=False))
    assert [bar.met for bar in slow.bars] == [False, False]
    assert slow.failures


def test_the_log_is_measured() -> None:
    measured = log.measure(quick=True)
    assert measured["exact"]
    assert 200 < measured["bytes_per_line"] < 240
