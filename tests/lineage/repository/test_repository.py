"""What a repository keeps, who may write to it, and what it refuses."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from zlib import crc32

import pyarrow as pa
import pytest

from lineage.repository.workflows import Quick
from whence.diagnostics import WhenceError
from whence.lineage.reduced import REDUCED, Link, reduced_of
from whence.lineage.repository.entities import entities_of
from whence.lineage.repository.repository import Repository
from whence.lineage.repository.writing import writing

ONE = reduced_of([(Link.PAIR, ("b", 1), ("a", 1)), (Link.PAIR, ("b", 2), ("a", 2))])
TWO = reduced_of([(Link.PAIR, ("c", 1), ("b", 1)), (Link.PAIR, ("c", 1), ("b", 2))])


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    found = Repository(tmp_path / "r", files=Quick())
    found.add(ONE, workflow="w", job="one", ended=datetime(2026, 1, 1))
    found.add(
        TWO, workflow="w", job="two", started=datetime(2026, 1, 2), ended=datetime(2026, 1, 4)
    )
    return found


def test_opening_for_reading_makes_nothing(tmp_path: Path) -> None:
    assert Repository(tmp_path / "r").runs == ()
    assert not (tmp_path / "r").exists()
    with pytest.raises(WhenceError, match="W1141"):
        Repository(tmp_path / "r", create=False)


def test_a_run_of_the_same_name_is_replaced(repository: Repository) -> None:
    repository.add(ONE, workflow="w", job="three", run="r1")
    repository.add(TWO, workflow="w", job="three", run="r1")
    assert [(run.job, run.run) for run in repository.runs] == [
        ("one", "1"),
        ("two", "2"),
        ("three", "r1"),
    ]
    assert repository.runs[-1].inputs.keys() == {"b"}


def test_runs_are_chosen_by_the_time_they_were_at_work(repository: Repository) -> None:
    def jobs(since: datetime | None, until: datetime | None) -> list[str]:
        chosen = repository.snapshot().select(
            since=since and since.replace(tzinfo=UTC), until=until and until.replace(tzinfo=UTC)
        )
        return [run.job for run in chosen]

    assert jobs(None, datetime(2026, 1, 2)) == ["one"]
    assert jobs(datetime(2026, 1, 3), None) == ["two"]
    assert jobs(datetime(2026, 1, 3), datetime(2026, 1, 3, 1)) == ["two"]
    assert jobs(datetime(2026, 1, 5), None) == []
    assert set(repository.backward("c/1", since=datetime(2026, 1, 2)).ends) == {("b", 1), ("b", 2)}


def test_writers_wait_for_each_other(tmp_path: Path) -> None:
    def work(name: str) -> None:
        for number in range(5):
            Repository(tmp_path / "r", files=Quick()).add(
                ONE, workflow="w", job=name, run=str(number)
            )

    threads = [threading.Thread(target=work, args=(f"job{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    runs = Repository(tmp_path / "r").runs
    assert {(run.job, run.run) for run in runs} == {
        (f"job{n}", str(m)) for n in range(4) for m in range(5)
    }
    assert len({run.number for run in runs}) == 20


def test_a_writer_without_patience_is_refused(repository: Repository) -> None:
    with (
        writing(repository.path, Quick(), 1.0),
        pytest.raises(WhenceError, match="W1143"),
    ):
        repository.add(ONE, workflow="w", job="late", patience=0.05)


def test_readers_see_whole_commits_and_survive_deletions(repository: Repository) -> None:
    reader = Repository(repository.path)
    before = reader.snapshot()
    assert set(reader.backward("c/1").ends) == {("a", 1), ("a", 2)}
    repository.delete("a/1", derived=False)
    assert len(before.index(before.runs[0]).targets) == 2, "what is mapped stays"
    assert set(reader.backward("c/1").ends) == {("a", 2), ("b", 1)}
    late = Repository(repository.path)  # nothing is mapped yet when its files vanish
    late.snapshot()
    repository.delete("a/2", derived=False)
    late._seen = late._stamp()  # as if the deletion came just after the look at the manifest
    assert set(late.backward("c/1").ends) == {("b", 1), ("b", 2)}
    for ask in (lambda r: r.stats().deleted, lambda r: r.sql("select * from deleted").num_rows):
        late = Repository(repository.path)
        late.snapshot()
        repository.delete(("x", repository.snapshot().manifest.commit), derived=False)
        repository.add(ONE, workflow="w", job="one", run="1")  # takes the place of its files
        late._seen = late._stamp()
        assert ask(late) == len(repository.deleted())


def test_deleted_data_is_in_no_file(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "r", files=Quick())
    secret = reduced_of([(Link.PAIR, ("b", 1), ("customer-4711", 7))])
    repository.add(secret, workflow="w", job="j")
    repository.delete(("customer-4711", 7), reason="asked")
    left = [p for p in repository.path.iterdir() if b"customer-4711" in p.read_bytes()]
    assert [p.name for p in left] == [repository.snapshot().manifest.tombstones]


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def test_a_damaged_index_is_made_again_from_the_edges(repository: Repository) -> None:
    for path in repository.path.glob("*.index"):
        flipped(path)
    assert set(Repository(repository.path).backward("c/1").ends) == {("a", 1), ("a", 2)}
    for path in repository.path.glob("*.index"):
        path.unlink()
    assert set(Repository(repository.path).backward("c/1").ends) == {("a", 1), ("a", 2)}


def test_an_index_that_is_no_file_is_made_again(repository: Repository) -> None:
    for path in repository.path.glob("*.index"):
        path.unlink()
        path.mkdir()
    assert set(Repository(repository.path).backward("c/1").ends) == {("a", 1), ("a", 2)}


def test_every_flipped_bit_of_the_edges_is_seen(repository: Repository) -> None:
    path = next(repository.path.glob("*.parquet"))
    whole = path.read_bytes()
    for place in range(0, len(whole) * 8, 97):
        data = bytearray(whole)
        data[place // 8] ^= 1 << place % 8
        path.write_bytes(data)
        for ask in (Repository.facts, lambda r: r.sql("select * from edges")):
            with pytest.raises(WhenceError, match="W1142"):
                ask(Repository(repository.path))


def test_a_repository_of_the_first_format_is_read(repository: Repository) -> None:
    place = repository.path / "manifest.json"
    state = json.loads(place.read_text())["state"]
    del state["tombstones_checksum"]
    for run in state["runs"]:
        del run["edges_checksum"]
    body = json.dumps(state, sort_keys=True, separators=(",", ":")).encode()
    place.write_text(json.dumps({"format": 1, "checksum": crc32(body), "state": state}))
    old = Repository(repository.path, files=Quick())
    assert set(old.backward("c/1").ends) == {("a", 1), ("a", 2)}
    assert old.facts()["pair"].num_rows
    old.delete("a/1")
    assert set(Repository(repository.path).backward("c/1").unknown) == {("c", 1)}


def test_damage_is_told(repository: Repository) -> None:
    for path in repository.path.glob("*.index"):
        path.unlink()
    for path in repository.path.glob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(WhenceError, match="W1142"):
        Repository(repository.path).backward("c/1")
    for path in repository.path.glob("*.parquet"):
        path.unlink()
    with pytest.raises(WhenceError, match="W1142"):
        Repository(repository.path).backward("c/1")
    place = repository.path / "manifest.json"
    text = place.read_text()
    place.write_text(text.replace('"job":"one"', '"job":"onf"'))
    with pytest.raises(WhenceError, match="W1142"):
        Repository(repository.path)
    place.write_text(text.replace('"format": 2', '"format": 9'))
    with pytest.raises(WhenceError, match="W1144"):
        Repository(repository.path)
    place.write_text("{")
    with pytest.raises(WhenceError, match="W1142"):
        Repository(repository.path)


def test_a_folder_of_something_else_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(WhenceError, match="W1140"):
        Repository(tmp_path).add(ONE, workflow="w", job="j")
    with pytest.raises(WhenceError, match="W1140"):
        Repository(tmp_path / "notes.txt")


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"kind": [0]}),
        ONE.set_column(0, "kind", pa.array([7, 0], pa.uint8())),
        ONE.set_column(2, "source", pa.array(["x", "y"])),
        ONE.set_column(2, "source", pa.array([1, None])),
        "edges",
        [1],
    ],
)
def test_what_is_no_reduced_graph_is_refused(repository: Repository, table: pa.Table) -> None:
    with pytest.raises(WhenceError, match="W1149"):
        repository.add(table, workflow="w", job="j")
    assert len(repository.runs) == 2


def test_graphs_may_come_in_any_coding(repository: Repository) -> None:
    plain = pa.table(
        {
            "target": pa.array([5], pa.int32()),
            "source_space": ["d"],
            "kind": [0],
            "source": [1],
            "target_space": ["c"],
        }
    )
    repository.add(plain, workflow="w", job="plain")
    assert set(repository.backward("d/1").ends) == {("c", 5)}
    for nothing in (REDUCED.empty_table(), iter(())):
        repository.add(nothing, workflow="w", job="nothing")
        assert repository.runs[-1].edges == 0
    repository.add(iter(plain.to_batches()), workflow="w", job="batches")
    assert repository.runs[-1].edges == 1


@pytest.mark.parametrize("name", ["", " ", 3])
def test_jobs_have_names(repository: Repository, name: str) -> None:
    with pytest.raises(WhenceError, match="W1158"):
        repository.add(ONE, workflow="w", job=name)


@pytest.mark.parametrize("asked", [17, [17], [("a", "b")], [("a", -2)], "", pa.table({"x": [1]})])
def test_what_names_no_entity_is_refused(repository: Repository, asked: object) -> None:
    with pytest.raises(WhenceError, match="W1145"):
        repository.backward(asked)  # type: ignore[arg-type]


def test_entities_are_named_in_several_ways() -> None:
    table = pa.table({"space": ["a", "b", "a"], "number": [2, 1, 2]})
    for asked in (["a/2", "b/1"], [("a", 2), "whence:b/1"], table, entities_of(["b/1", "a/2"])):
        assert list(entities_of(asked)) == [("a", 2), ("b", 1)]
    assert entities_of(table).to_arrow()["number"].to_pylist() == [2, 1]


def test_rules_of_the_user_stand_beside_the_shipped_ones(repository: Repository) -> None:
    rules = """
    .decl reads(job: symbol, table: symbol)
    reads(j, t) :- run(r, _, j), depends(r, _, _, t, _).
    """
    found = repository.query('reads("two", t)', rules=rules)
    assert found.to_pylist() == [{"job": "two", "table": "b"}]
