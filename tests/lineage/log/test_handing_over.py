"""A segment can be written by one process and made visible by another."""

from __future__ import annotations

from pathlib import Path

import pytest

from whence.diagnostics import WhenceError
from whence.lineage.events import Edge, Kind, batch_of, edges_of
from whence.lineage.log import Topic, open_log
from whence.lineage.log.directory import DirectoryLog


def some(count: int) -> list[Edge]:
    return [Edge(Kind.DERIVED, ("out", n), ("in", n)) for n in range(count)]


@pytest.fixture
def log(tmp_path: Path) -> DirectoryLog:
    found = open_log(tmp_path / "log")
    assert isinstance(found, DirectoryLog)
    found.create(Topic("job"))
    return found


def edges(log: DirectoryLog) -> list[Edge]:
    return [edge for _, batch in log.read("job", 0) for edge in edges_of(batch)]


def test_what_was_handed_over_is_seen_once_it_is_taken_over(log: DirectoryLog) -> None:
    writer = log.writer("job", 0)
    writer.add(batch_of(some(3)))
    name, rows = writer.hand_over()
    assert edges(log) == []
    log.append("job", 0, batch_of(some(1)))
    other = open_log(log.path)
    assert isinstance(other, DirectoryLog)
    assert other.take_over("job", 0, name, rows) == 4
    assert edges(log) == [*some(1), *some(3)]


def test_a_segment_is_taken_over_once(log: DirectoryLog) -> None:
    writer = log.writer("job", 0)
    writer.add(batch_of(some(3)))
    handed = writer.hand_over()
    log.take_over("job", 0, *handed)
    with pytest.raises(WhenceError, match="W1103"):
        log.take_over("job", 0, *handed)
    assert edges(log) == some(3)


def test_who_has_handed_over_has_nothing_to_commit(log: DirectoryLog) -> None:
    writer = log.writer("job", 0)
    writer.add(batch_of(some(3)))
    writer.hand_over()
    with pytest.raises(WhenceError, match="W1117"):
        writer.commit()
