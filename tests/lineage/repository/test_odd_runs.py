"""Runs that nobody would make: groups nested without end, odd names, attempts beside none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lineage.repository.workflows import Quick
from whence.diagnostics import DataError, UsageError
from whence.lineage.events import Edge, Kind, batch_of
from whence.lineage.reduced import Link, Name, flatten, reduced_of
from whence.lineage.repository import nests
from whence.lineage.repository.importing import Source, add_sources
from whence.lineage.repository.manifest import NAME
from whence.lineage.repository.repository import Repository

DEPTH = 3 * nests.SHALLOW


def running(depth: int) -> list[tuple[Link, Name, Name]]:
    """A running total: each group has a member of its own and all of the group before it."""
    rows: list[tuple[Link, Name, Name]] = []
    for k in range(depth):
        rows.append((Link.OUT, ("out", k), ("group/f", k)))
        rows.append((Link.IN, ("group/f", k), ("in", k)))
        if k:
            rows.append((Link.NEST, ("group/f", k), ("group/f", k - 1)))
    return rows


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "r", files=Quick())


@pytest.mark.parametrize("depth", [3, DEPTH])
def test_groups_may_nest_as_deep_as_rows(repository: Repository, depth: int) -> None:
    repository.add(reduced_of(running(depth)), workflow="w", job="j")
    back = repository.backward(("out", depth - 1))
    assert set(back.ends) == {("in", k) for k in range(depth)}
    forth = repository.forward(("in", 1))
    assert set(forth.ends) == {("out", k) for k in range(1, depth)}
    assert repository.stats().pairs == depth * (depth + 1) // 2
    edges = sum(table.num_rows for _, table in repository.edges(back))
    assert edges == 1 + depth + depth - 1  # one output, all members, all nests
    repository.delete(("in", 0), derived=False)
    assert set(repository.backward(("out", 2)).ends) == {("in", 1), ("in", 2)}
    assert repository.stats().pairs == depth * (depth + 1) // 2 - depth


def test_a_nest_whose_only_member_is_deleted_goes_as_a_whole(repository: Repository) -> None:
    rows = [row for row in running(DEPTH) if row[0] is not Link.IN or row[2] == ("in", 0)]
    repository.add(reduced_of(rows), workflow="w", job="j")
    assert len(repository.backward(("out", DEPTH - 1)).ends) == 1
    repository.delete(("in", 0), derived=False)
    assert repository.stats().edges == 0


def test_deep_nests_take_time_by_their_edges(tmp_path: Path) -> None:
    """Level by level, this took minutes."""
    program = f"""
from whence.lineage.reduced import reduced_of
from whence.lineage.repository.repository import Repository
from lineage.repository.test_odd_runs import running
repository = Repository({str(tmp_path / "r")!r})
repository.add(reduced_of(running(60_000)), workflow="w", job="j")
assert len(repository.backward("out/59999").ends) == 60_000
assert repository.stats().pairs == 30_000 * 60_001
"""
    paths = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, timeout=60, env={**os.environ, **paths}).returncode == 0


def test_groups_that_depend_on_each_other_are_asked_and_not_flattened(
    repository: Repository,
) -> None:
    rows = [*running(2), (Link.NEST, ("group/f", 0), ("group/f", 1))]
    repository.add(reduced_of(rows), workflow="w", job="j")
    assert set(repository.backward("out/0").ends) == {("in", 0), ("in", 1)}
    repository.stats()
    with pytest.raises(DataError, match="W1201"):
        flatten(reduced_of(rows))


def test_rows_are_found_by_any_spelling_of_their_name(repository: Repository) -> None:
    rows = [(Link.PAIR, ("whence:o", 1), ("i/7", -1)), (Link.PAIR, ("i", 7), ("x", -5))]
    repository.add(reduced_of(rows), workflow="w", job="j")
    for spelling in ("o/1", "whence:o/1", ("whence:o", 1), ("o", 1)):
        assert repository.backward(spelling).ends.names() == ["whence:x/-5"]
    assert repository.forward("x/-5").ends.names() == ["whence:o/1"]


@pytest.mark.parametrize("bad", ["\udcff/3", ("\udcff", 3)])
def test_bytes_that_are_no_text_name_nothing(repository: Repository, bad: object) -> None:
    for ask in (repository.backward, repository.delete):
        with pytest.raises(UsageError, match="W1145"):
            ask(bad)  # type: ignore[operator]
    with pytest.raises(UsageError, match="W1158"):
        repository.add(reduced_of([]), workflow="\udcff", job="j")
    repository.delete("a/1", reason="\udcff")
    assert repository.sql("select reason from deleted").to_pylist() == [{"reason": "\\udcff"}]


def test_a_commit_is_seen_though_the_clock_and_the_inode_are_those_of_another(
    repository: Repository,
) -> None:
    repository.add(reduced_of(running(1)), workflow="w", job="j", run="a")
    place, states = repository.path / NAME, []
    for _ in range(2):
        repository.add(reduced_of(running(1)), workflow="w", job="j", run="b")
        states.append(place.read_bytes())
    size = max(map(len, states))
    place.write_bytes(states[0].ljust(size))
    os.utime(place, ns=(1, 1))
    reader = Repository(repository.path)
    assert reader.snapshot().manifest.commit == 2
    place.write_bytes(states[1].ljust(size))  # the inode is used again, within a tick
    os.utime(place, ns=(1, 1))
    assert reader.snapshot().manifest.commit == 3


def test_executions_without_attempts_count_beside_those_with(repository: Repository) -> None:
    traced = [
        Edge(Kind.USED, ("f", 0), ("in", 0)),
        Edge(Kind.GENERATED, ("mid", 0), ("f", 0)),
        Edge(Kind.END, ("f", 0)),
        Edge(Kind.USED, ("f", 1), ("in", 1)),
        Edge(Kind.GENERATED, ("mid", 0), ("f", 1)),
    ]
    plain = [Edge(Kind.USED, ("g", 0), ("mid", 0)), Edge(Kind.GENERATED, ("out", 0), ("g", 0))]
    several = [
        Source("a", "a", [batch_of(traced)], attempts=True),
        Source("b", "b", [batch_of(plain)]),
    ]
    imported = add_sources(repository, several, workflow="w", job="j")
    assert set(repository.backward("out/0").ends) == {("in", 0)}
    assert imported.edges == 6
