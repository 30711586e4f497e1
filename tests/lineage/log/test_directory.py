"""A log in a folder keeps what was committed, in one order, for any number of writers."""

from __future__ import annotations

import pickle
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from whence.diagnostics import DataError, UsageError, WhenceError
from whence.lineage.events import Edge, Kind, batch_of, concatenate, make_batch
from whence.lineage.log import Log, Topic, open_log
from whence.lineage.log.directory import DirectoryLog


def numbered(first: int, count: int, space: str = "a") -> pa.RecordBatch:
    sources = list(range(first, first + count))
    return make_batch(
        kind=Kind.DERIVED, source_space=space, source=sources, target_space="b", target=sources
    )


def sources(log: Log, partition: int = 0, offset: int | None = None) -> list[int]:
    batches = [batch for _, batch in log.read("t", partition, offset)]
    return concatenate(batches).column("source").to_pylist()


@pytest.fixture
def log(tmp_path: Path) -> Log:
    made = open_log(tmp_path / "log", sync=False)
    made.create(Topic("t", 2))
    return made


def code(error: pytest.ExceptionInfo[WhenceError]) -> str:
    return error.value.diagnostics[0].code


def test_what_is_appended_is_read_in_its_order_and_its_partition(log: Log) -> None:
    assert log.append("t", 0, numbered(0, 3)) == 3
    assert log.append("t", 1, numbered(100, 2)) == 2
    assert log.append("t", 0, numbered(3, 4)) == 7
    assert sources(log, 0) == list(range(7))
    assert sources(log, 1) == [100, 101]
    assert log.end_offsets("t") == [7, 2]
    assert log.begin_offsets("t") == [0, 0]


def test_each_batch_comes_with_the_offset_to_read_on_from(log: Log) -> None:
    for i in range(5):
        log.append("t", 0, numbered(10 * i, 10))
    for after, batch in log.read("t", 0):
        assert batch.column("source").to_pylist()[-1] == after - 1
        assert sources(log, 0, after) == list(range(after, 50))


@pytest.mark.parametrize("offset", range(8))
def test_any_row_can_be_read_from(log: Log, offset: int) -> None:
    log.append("t", 0, numbered(0, 3))
    log.append("t", 0, numbered(3, 4))
    assert sources(log, 0, offset) == list(range(offset, 7))


def test_all_of_an_edge_is_kept(log: Log) -> None:
    now = datetime.now(UTC)
    edges = [
        Edge(Kind.USED, ("count/map", 3), ("tweets", 4), 1, 2, 5, now),
        Edge(Kind.GENERATED, ("ex:é\n", -1), ("count/map", 2**63 - 1), 7),
        Edge(Kind.END, ("count/map", 3), None, -1, 2, 5, now),
    ]
    batch = batch_of(edges)
    log.append("t", 0, batch)
    ((_, found),) = log.read("t", 0)
    assert found.equals(batch)


def test_large_batches_are_several_records_of_one_segment(log: Log) -> None:
    log.append("t", 0, numbered(0, 300_000))
    lengths = [batch.num_rows for _, batch in log.read("t", 0)]
    assert len(lengths) == 3
    assert sum(lengths) == 300_000
    assert sources(log, 0, 299_998) == [299_998, 299_999]


def test_nobody_sees_edges_before_their_commit(log: Log) -> None:
    with log.writer("t", 0) as writer:
        writer.add(numbered(0, 5))
        writer.add(numbered(5, 5))
        assert sources(log) == []
        assert writer.commit() == 10
        assert sources(log) == list(range(10))


def test_a_writer_that_fails_leaves_nothing(log: DirectoryLog) -> None:
    with pytest.raises(ZeroDivisionError), log.writer("t", 0) as writer:
        writer.add(numbered(0, 5))
        raise ZeroDivisionError
    assert log.end_offsets("t") == [0, 0]
    assert list((log.path / "t" / "partition-000").iterdir()) == []


def test_a_writer_commits_once(log: Log) -> None:
    writer = log.writer("t", 0)
    writer.add(numbered(0, 1))
    writer.commit()
    with pytest.raises(UsageError) as error:
        writer.add(numbered(0, 1))
    assert code(error) == "W1117"
    with pytest.raises(UsageError):
        writer.commit()
    writer.abort()
    assert sources(log) == [0]


def test_no_edges_make_no_segment(log: DirectoryLog) -> None:
    assert log.append("t", 0, numbered(0, 0)) == 0
    assert list((log.path / "t" / "partition-000").iterdir()) == []


def test_many_writers_at_once_lose_nothing_and_leave_no_gaps(log: Log) -> None:
    def write(writer: int) -> None:
        for i in range(20):
            log.append("t", 0, numbered(1000 * writer + 10 * i, 10))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    seen = [log.end_offsets("t")[0] for _ in range(50)]
    during = sources(log)  # whatever is there is whole
    for thread in threads:
        thread.join()
    assert seen == sorted(seen)
    found = sources(log)
    assert found[: len(during)] == during
    assert sorted(found) == sorted(1000 * w + i for w in range(6) for i in range(200))
    for writer in range(6):  # each writer's are in its order
        own = [s for s in found if s // 1000 == writer]
        assert own == sorted(own)
    assert log.end_offsets("t")[0] == len(found)


def test_a_log_can_be_sent_to_other_processes(log: Log) -> None:
    log.append("t", 0, numbered(0, 3))
    assert sources(pickle.loads(pickle.dumps(log))) == [0, 1, 2]


def test_topics_are_what_they_were_made_as(log: Log) -> None:
    wanted = Topic("jobs.2", 3, attempts=True, about={"workflow": "tweets"})
    assert log.create(wanted) == wanted
    assert log.create(wanted) == wanted
    assert log.topics() == ["jobs.2", "t"]
    assert pickle.loads(pickle.dumps(log)).topic("jobs.2") == wanted
    with pytest.raises(UsageError) as error:
        log.create(Topic("jobs.2", 4, attempts=True))
    assert code(error) == "W1107"


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "a b", "x" * 300, "ä"])
def test_a_topic_has_a_name_that_files_and_kafka_can_have(log: Log, name: str) -> None:
    with pytest.raises(UsageError) as error:
        log.create(Topic(name))
    assert code(error) == "W1108"


def test_what_is_not_there_is_told(log: Log, tmp_path: Path) -> None:
    for ask, expected in (
        (lambda: log.end_offsets("tt"), "W1105"),
        (lambda: log.append("t", 2, numbered(0, 1)), "W1105"),
        (lambda: sources(log, -1), "W1105"),
        (lambda: sources(log, 0, 1), "W1106"),
        (lambda: log.create(Topic("x", 0)), "W1108"),
    ):
        with pytest.raises(UsageError) as error:
            ask()
        assert code(error) == expected
    assert open_log(tmp_path / "nothing").topics() == []
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(WhenceError) as refused:
        open_log(tmp_path / "file").create(Topic("t"))
    assert code(refused) == "W1103"


def test_only_edges_go_into_a_log(log: Log) -> None:
    good = numbered(0, 2)
    for batch in (
        good.drop_columns(["kind"]),
        good.set_column(0, "kind", pa.array([0, 9], pa.uint8())),
        good.set_column(4, "target", pa.array([0, None], pa.int64())),
        good.set_column(2, "source", pa.array([0, None], pa.int64())),
        good.set_column(2, "source", pa.array(["x", "y"])),
    ):
        with pytest.raises(UsageError) as error:
            log.append("t", 0, batch)
        assert code(error) == "W1109"
    assert sources(log) == []
    log.append("t", 0, good.set_column(2, "source", pa.array([7, 8], pa.int32())))
    assert sources(log) == [7, 8]


# ── retention ──


def test_the_newest_bytes_are_kept(log: DirectoryLog) -> None:
    for i in range(10):
        log.append("t", 0, numbered(10 * i, 10))
    size = next((log.path / "t" / "partition-000").glob("*.seg")).stat().st_size
    assert log.retain("t", newest=3 * size + 10) == [70, 0]
    assert sources(log) == list(range(70, 100))
    assert log.append("t", 0, numbered(100, 1)) == 101
    with pytest.raises(UsageError) as error:
        sources(log, 0, 69)
    assert code(error) == "W1106"
    assert "from 70 to 101" in str(error.value)


def test_a_reader_is_told_what_was_forgotten_before_it_came_there(log: Log) -> None:
    for i in range(4):
        log.append("t", 0, numbered(10 * i, 10))
    reader = log.read("t", 0)
    next(reader)
    log.retain("t", newest=0)
    with pytest.raises(UsageError) as error:
        next(reader)
    assert code(error) == "W1106"


def test_what_is_forgotten_while_the_folder_is_listed_is_no_damage(
    log: DirectoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(4):
        log.append("t", 0, numbered(10 * i, 10))
    listed = DirectoryLog._firsts
    size = next((log.path / "t" / "partition-000").glob("*.seg")).stat().st_size

    def forgotten_first(self: DirectoryLog, folder: Path) -> list[int]:
        monkeypatch.setattr(DirectoryLog, "_firsts", listed)
        log.retain("t", newest=size)
        return listed(self, folder)

    folder = log.path / "t" / "partition-000"
    monkeypatch.setattr(DirectoryLog, "_firsts", forgotten_first)
    with pytest.raises(FileNotFoundError):  # which readers tell as W1106
        list(log._firsts_from(folder, 0))


def test_what_was_written_before_a_time_is_forgotten(log: Log) -> None:
    log.append("t", 0, numbered(0, 10))
    between = datetime.now(UTC)
    log.append("t", 0, numbered(10, 10))
    assert log.retain("t", since=between) == [10, 0]
    assert sources(log) == list(range(10, 20))


def test_offsets_go_on_after_everything_is_forgotten(log: DirectoryLog) -> None:
    log.append("t", 0, numbered(0, 10))
    assert log.retain("t", since=datetime.now(UTC) + timedelta(days=1)) == [10, 0]
    assert list((log.path / "t" / "partition-000").glob("*.seg")) == []
    assert log.end_offsets("t") == [10, 0]
    assert log.append("t", 0, numbered(10, 5)) == 15
    assert sources(log) == list(range(10, 15))


def test_forgetting_that_was_interrupted_is_finished_by_the_next(log: DirectoryLog) -> None:
    for i in range(4):
        log.append("t", 0, numbered(10 * i, 10))
    folder = log.path / "t" / "partition-000"
    kept = {path.name: path.read_bytes() for path in folder.glob("*.seg")}
    log.retain("t", newest=0)
    for name, data in kept.items():  # as if the files had not been removed yet
        (folder / name).write_bytes(data)
    assert sources(log) == []
    assert log.append("t", 0, numbered(40, 1)) == 41
    log.retain("t", newest=10**9)
    assert [path.name for path in folder.glob("*.seg")] == ["000000000000000040.seg"]
    assert sources(log) == [40]


def test_a_missing_segment_is_told(log: DirectoryLog) -> None:
    for i in range(3):
        log.append("t", 0, numbered(10 * i, 10))
    (log.path / "t" / "partition-000" / "000000000000000010.seg").unlink()
    with pytest.raises(DataError) as error:
        sources(log)
    assert code(error) == "W1104"
    assert "offset 10" in str(error.value)
    assert sources(log, 0, 20) == list(range(20, 30))
