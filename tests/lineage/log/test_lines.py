"""Lines go into a log and come out of it, each edge once."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest

from whence.diagnostics import DataError
from whence.lineage.events import Edge, Kind, batch_of, edges_of
from whence.lineage.jsonl import write_lines
from whence.lineage.log import Topic, open_log
from whence.lineage.log.jsonl import log_lines, write_topic
from whence.lineage.partitioning import STRATEGIES, Strategy

SOME = [Edge(Kind.USED, (f"f{n % 3}", n), ("t", n), n, worker=n % 4) for n in range(200)] + [
    Edge(Kind.GENERATED, ("o", n), (f"f{n % 3}", n), n, worker=n % 4) for n in range(200)
]


def written(path: Path, edges: list[Edge]) -> Path:
    data = io.BytesIO()
    write_lines([batch_of(edges)], data)
    path.write_bytes(data.getvalue())
    return path


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_files_become_a_topic_and_files_again(tmp_path: Path, strategy: Strategy) -> None:
    log = open_log(tmp_path / "log", sync=False)
    log.create(Topic("job", 3))
    files = [written(tmp_path / "a.jsonl", SOME[:250]), written(tmp_path / "b.jsonl", SOME[250:])]
    readings = log_lines(log, "job", files, strategy=strategy)
    assert [reading.edges for reading in readings] == [250, 150]
    found = Counter(
        edge for p in range(3) for _, batch in log.read("job", p) for edge in edges_of(batch)
    )
    assert found == Counter(SOME)
    places = write_topic(log, "job", tmp_path / "lines")
    assert [place.name for place in places] == [f"partition-00{n}.jsonl" for n in range(3)]
    log.create(Topic("again", 1))
    log_lines(log, "again", places)
    assert Counter(edge for _, batch in log.read("again", 0) for edge in edges_of(batch)) == found


def test_a_wrong_line_leaves_the_topic_as_it_was(tmp_path: Path) -> None:
    log = open_log(tmp_path / "log", sync=False)
    log.create(Topic("job", 2))
    files = [written(tmp_path / "a.jsonl", SOME), tmp_path / "b.jsonl"]
    files[1].write_text("wrong\n")
    with pytest.raises(DataError, match="W1100"):
        log_lines(log, "job", files)
    assert log.end_offsets("job") == [0, 0]
    readings = log_lines(log, "job", files, on_bad_row="skip")
    assert readings[1].bad == 1
    assert sum(log.end_offsets("job")) == len(SOME)
