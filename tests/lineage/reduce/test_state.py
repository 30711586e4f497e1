"""The state of a reduction in a folder: logs that are empty, topics that are others, files that go."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from lineage.reduce.streams import START, pairs
from whence.diagnostics import DataError, UsageError, WhenceError
from whence.lineage.events import Edge, Kind, batch_of
from whence.lineage.log import Log, Topic, open_log
from whence.lineage.reduce.exact import Exact
from whence.lineage.reduce.local_global import Settings
from whence.lineage.reduce.resumed import LogReduction

ONE = batch_of([Edge(Kind.DERIVED, ("out", 1), ("in", 1))])


def made(folder: Path, partitions: int = 1) -> Log:
    log = open_log(folder, sync=False)
    log.create(Topic("job", partitions))
    return log


@pytest.mark.timeout(20)
def test_a_log_in_which_nothing_is_left_is_over_after_the_flush_time(tmp_path: Path) -> None:
    log = made(tmp_path / "log")
    log.append("job", 0, ONE)
    log.retain("job", newest=0)
    waiting = LogReduction(log, "job", Settings(flush_time=0.1))
    assert not pairs(list(waiting.at_once()))
    assert not pairs(list(waiting.in_steps(tmp_path / "state")))


def test_an_empty_log_is_waited_for_in_steps(tmp_path: Path) -> None:
    log = made(tmp_path / "log", 2)
    waiting = LogReduction(log, "job", Settings(flush_time=0.1))
    assert not pairs(list(waiting.in_steps(tmp_path / "state")))
    log.append("job", 1, ONE)
    assert len(pairs(list(waiting.in_steps(tmp_path / "state")))) == 1


def test_the_state_of_a_topic_of_other_partitions_is_refused(tmp_path: Path) -> None:
    log = made(tmp_path / "log")
    log.append("job", 0, ONE)
    list(LogReduction(log, "job").in_steps(tmp_path / "state"))
    shutil.rmtree(tmp_path / "log")
    with pytest.raises(UsageError, match=r"W1129.*of 1 partitions, and `job` has 2"):
        list(LogReduction(made(tmp_path / "log", 2), "job").in_steps(tmp_path / "state"))


@pytest.mark.parametrize("name", ["committed", "steps/000000000000-00000"])
@pytest.mark.parametrize("damage", ["flipped", "cut", "empty", "gone"])
def test_damage_of_the_state_is_told(tmp_path: Path, name: str, damage: str) -> None:
    log = made(tmp_path / "log")
    log.append("job", 0, ONE)
    list(LogReduction(log, "job").in_steps(tmp_path / "state"))
    path = tmp_path / "state" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes({"flipped": data, "cut": data[:-3], "empty": b""}[damage])
    again = LogReduction(log, "job").in_steps(tmp_path / "state")
    if damage == "gone" and name == "committed":
        assert len(pairs(list(again))) == 1  # it begins anew
        return
    with pytest.raises(WhenceError, match=r"W0665|W1200") as told:
        list(again)
    assert isinstance(told.value, DataError)


def test_an_end_without_a_time_is_not_older_than_what_came_with_it() -> None:
    reducer = Exact(attempts=True, watermark=10, forget_every=1)
    reducer.add(
        batch_of([Edge(Kind.USED, ("f", 1), ("in", 1), time=START), Edge(Kind.END, ("f", 1))])
    )
    reducer.forget()
    later = START + timedelta(seconds=1)
    reducer.add(batch_of([Edge(Kind.GENERATED, ("out", 1), ("f", 1), time=later)]))
    assert pairs(list(reducer.finish())) == {(("out", 1), ("in", 1))}
