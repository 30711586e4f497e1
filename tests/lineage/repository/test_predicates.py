"""Rows are chosen by a predicate that sees them and nothing else."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from lineage.repository.workflows import Quick
from whence.diagnostics import LimitError, UsageError, WhenceError
from whence.lineage.reduced import Link, reduced_of
from whence.lineage.repository.apart import ask_apart
from whence.lineage.repository.repository import Repository
from whence.lineage.repository.rows import POSITION, matching

ROWS = pa.table({"id": [4, 5, 6], "author": ["ann", "bob", "ann"], "stars": [1, None, 3]})


def test_a_predicate_chooses_rows() -> None:
    assert list(matching("tweets", ROWS, "author = 'ann'")) == [("tweets", 4), ("tweets", 6)]
    assert list(matching("tweets", ROWS, "stars > 1 or author like 'b%'")) == [
        ("tweets", 5),
        ("tweets", 6),
    ]
    assert len(matching("tweets", ROWS, None)) == 3
    assert not len(matching("tweets", ROWS, "false"))


def test_rows_come_from_files_of_many_kinds(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "a.parquet")
    csv.write_csv(ROWS, tmp_path / "a.csv")
    csv.write_csv(ROWS, tmp_path / "a.tsv", csv.WriteOptions(delimiter="\t"))
    feather.write_feather(ROWS, tmp_path / "a.feather")
    (tmp_path / "a.jsonl").write_text("".join(f'{{"id": {n}, "stars": {n}}}\n' for n in (4, 5)))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "_SUCCESS").touch()
    pq.write_table(ROWS.slice(0, 2), tmp_path / "out" / "part-0.parquet")
    pq.write_table(ROWS.slice(2), tmp_path / "out" / "part-1.parquet")
    for name in ("a.parquet", "a.csv", "a.tsv", "a.feather", "a.jsonl", "out"):
        assert list(matching("t", tmp_path / name, "id = 4")) == [("t", 4)], name
    assert list(matching("t", ROWS.to_pandas(), "id = 6")) == [("t", 6)]


def test_row_ids_may_be_names() -> None:
    named = pa.table({"id": ["tweets/4", "tweets/5"], "n": [1, 2]})
    assert list(matching("tweets", named, "n = 2")) == [("tweets", 5)]
    with pytest.raises(WhenceError, match="W1152"):
        matching("tags", named, "n = 2")


def marked(folder: Path, column: str | None) -> Path:
    folder.mkdir()
    mark = {"dataset": "t", "workflow": "w", "job": "j", "column": column}
    (folder / "_whence.json").write_text(json.dumps(mark))
    for part in (0, 3):
        rows = pa.table({"n": [part, part + 1], "key": [7, 8]})
        pq.write_table(rows, folder / f"part-0000{part}-abc.snappy.parquet")
    return folder


def test_rows_that_a_traced_job_wrote_are_known_by_part_and_place(tmp_path: Path) -> None:
    folder = marked(tmp_path / "out", None)
    assert list(matching("t", folder, "n = 4")) == [("t", (3 << 33) + 1)]
    assert list(matching("t", folder, "n = 4", id="key")) == [("t", 8)]
    (folder / "_whence.json").write_text("{")
    with pytest.raises(WhenceError, match="W1151"):
        matching("t", folder, "n = 4")


def test_rows_that_a_traced_job_wrote_are_known_by_their_column(tmp_path: Path) -> None:
    assert list(matching("t", marked(tmp_path / "out", "key"), "n = 4")) == [("t", 8)]


def test_a_csv_file_of_a_traced_job_needs_a_column_of_ids(tmp_path: Path) -> None:
    folder = marked(tmp_path / "out", None)
    for path in folder.glob("*.parquet"):
        path.unlink()
    (folder / "part-00000.csv").write_text("a,b\n")
    with pytest.raises(WhenceError, match="first line"):
        matching("t", folder, None)


def test_rows_are_known_by_their_place() -> None:
    assert list(matching("t", ROWS, "author = 'bob'", id="#")) == [("t", 1)]


@pytest.mark.parametrize(
    "ids", [pa.array([1.5]), pa.array([None], pa.int64()), pa.array([2**63], pa.uint64()), pa.array([-1])]
)  # fmt: skip
def test_what_is_no_row_id_is_refused(ids: pa.Array) -> None:
    with pytest.raises(WhenceError, match="W1152"):
        matching("t", pa.table({"id": ids}), None)


HOSTILE = (
    "id in (select 1 from read_text('{secret}'))",
    "id in (select 1 from read_csv('{secret}'))",
    "id in (select 1 from '{secret}')",
    "id in (select 1 from glob('{folder}/*'))",
    "id in (select 1 from read_parquet('http://127.0.0.1:9/a.parquet'))",
    "id in (select 1 from query('copy rows to ''{folder}/out.csv'''))",
    "id in (select 1 from secret)",
    "true; copy rows to '{folder}/out.csv'",
    "true; attach '{folder}/out.db'",
    "true) union select (42",
    "true) or (select count(*) from read_text('{secret}')) > (0",
    "id > (copy rows to '{folder}/out.csv')",
    "1 from rows",
    "id, author",
    "getenv('HOME') = 'x'",
    "set_config('enable_external_access', true)",
    "load_extension('httpfs')",
    "nosuch = 1",
    "author",
    "",
    "\x00",
    "'",
    "(" * 5000,
)


@pytest.mark.parametrize("where", HOSTILE, ids=range(len(HOSTILE)))
def test_a_predicate_reaches_nothing_but_its_rows(where: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("id\n4\n")
    where = where.replace("{secret}", str(secret)).replace("{folder}", str(tmp_path))
    with pytest.raises(WhenceError, match="W1150"):
        matching("tweets", ROWS, where)
    assert [p.name for p in tmp_path.iterdir()] == ["secret.csv"]


def test_a_predicate_that_never_ends_is_broken_off() -> None:
    with pytest.raises(LimitError, match="W1153"):
        matching("tweets", ROWS, "pg_sleep(60) is null", timeout=0.3)


@pytest.mark.parametrize(
    "where",
    [
        "levenshtein(repeat('a', 200000), repeat('b', 200000)) > 0",  # hears no interrupt
        "(select count(*) from range(1000000000000)) > 0",
    ],
)
def test_no_predicate_takes_longer_than_it_may(where: str) -> None:
    begun = time.monotonic()
    with pytest.raises(LimitError, match="W1153"):
        matching("tweets", ROWS, where, timeout=2)
    assert time.monotonic() - begun < 30


def test_a_question_ends_with_whoever_asked_it() -> None:
    program = """
import pyarrow as pa
from whence.lineage.repository.rows import matching
print(flush=True)
matching("t", pa.table({"id": [1]}), "(select count(*) from range(1000000000000)) > 0")
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as asking:
        assert asking.stdout is not None
        asking.stdout.readline()
        children = Path(f"/proc/{asking.pid}/task/{asking.pid}/children")
        until = time.monotonic() + 20
        while not children.read_text() and time.monotonic() < until:
            time.sleep(0.05)
        (child,) = map(int, children.read_text().split())
        time.sleep(1)
        asking.kill()
    while _runs(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _runs(child)


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # nobody may have asked how it ended


def test_a_question_that_ends_before_its_rows_are_read_is_told() -> None:
    many = pa.table({"id": pa.array(range(300_000)), "text": ["x" * 40] * 300_000})
    with pytest.raises(LimitError, match="W1153"):
        matching("tweets", many, "id = 1", timeout=0.02)


@pytest.mark.parametrize(
    "where",
    [
        "len(range(2000000000)) > id",  # 16 GB that no limit of DuckDB's counts
        "(select len(list(i)) from range(2000000000) t(i)) > 0",
    ],
)
def test_no_predicate_takes_more_memory_than_it_may(where: str) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    with pytest.raises(LimitError, match="W1203"):
        ask(where)
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert most < max(before, 1_500_000)  # kB


def _wrong(why: str) -> WhenceError:
    raise AssertionError(why)


def ask(where: str) -> pa.Table:
    rows = {"rows": ROWS.append_column("place", pa.array([0, 1, 2]))}
    asked = {"where": where, "place": "place"}
    return ask_apart(asked, rows, _wrong, timeout=20, memory=100_000_000)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    found = Repository(tmp_path / "r", files=Quick())
    found.add(reduced_of([(Link.PAIR, ("b", 1), ("a", 1))]), workflow="w", job="j")
    found.add(reduced_of([(Link.PAIR, ("c", 1), ("b", 1))]), workflow="w", job="k")
    return found


def test_edges_and_runs_are_asked_in_sql(repository: Repository) -> None:
    found = repository.sql(
        "select job, source_space, target_space from edges join runs using (run) order by job"
    )
    assert [tuple(row.values()) for row in found.to_pylist()] == [("j", "b", "a"), ("k", "c", "b")]
    repository.delete("c/1", reason="wrong")
    assert repository.sql("select reason from deleted")["reason"].to_pylist() == ["wrong"]


def test_an_empty_repository_is_asked_in_sql(tmp_path: Path) -> None:
    assert Repository(tmp_path / "r").sql("select count(*) as n from edges")["n"].to_pylist() == [0]


@pytest.mark.parametrize(
    "question",
    [
        "drop view edges",
        "select 1; select 2",
        "copy edges to 'out.csv'",
        "select * from nothing",
        "selct",
        "",
        "select * from read_text('/etc/hostname')",
        "set threads = 1",
        "pragma database_list",
    ],
)
def test_sql_only_reads_the_repository(repository: Repository, question: str) -> None:
    with pytest.raises(WhenceError, match="W1154"):
        repository.sql(question)


def test_columns_of_nearly_one_name_are_told_apart() -> None:
    table = pa.table({"id": [1, 2], "ID": [3, 4], "__whence_row_0": [7, 8], "#": [9, 9]})
    for column, expected in (("id", 2), ("ID", 4), ("__whence_row_0", 8), (POSITION, 1)):
        assert list(matching("t", table, '"__whence_row_0" = 8', id=column)) == [("t", expected)]
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["id", "id"])
    with pytest.raises(UsageError, match=r"W1152.*several"):
        matching("t", twice, None)
