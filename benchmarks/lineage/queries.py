"""Questions to a repository of ten million reduced edges: backward and forward, and DuckDB's way.

Run as a process of its own: `python -m benchmarks.lineage.queries '{…}'` prints JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from benchmarks import measured
from benchmarks.report import Table
from benchmarks.told import Told, at_most, ms

if TYPE_CHECKING:
    from whence.lineage.repository.repository import Repository

MEDIAN_MS: Final = 50.0
ASKED: Final = 200
EDGES: Final = 10_100_000
"""Of which some are the same: ten million stay."""


def _space(name: str, length: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(length, np.int32)), [name])


def _links(kind: int, source: str, sources: Any, target: str, targets: Any) -> pa.Table:
    from whence.lineage.reduced import REDUCED

    columns = [
        pa.array(np.full(len(sources), kind, np.uint8)),
        _space(source, len(sources)),
        pa.array(sources),
        _space(target, len(targets)),
        pa.array(targets),
    ]
    return pa.Table.from_arrays(columns, schema=REDUCED)


def jobs(edges: int) -> dict[str, pa.Table]:
    """Return the reduced graphs of two jobs: tags of tweets by Zipf's law, categories of tags.

    A tenth of the edges are those of a total over tweets, which is a group.
    """
    random = np.random.default_rng(7)
    pairs, total = edges * 7 // 10, edges // 10
    tags = edges // 20
    weights = 1.0 / np.arange(1, tags + 1)
    tag = random.choice(tags, pairs, p=weights / weights.sum())
    tweet = random.integers(0, edges * 2 // 5, pairs)
    first = pa.concat_tables(
        [
            _links(0, "tags", tag, "tweets", tweet),
            _links(1, "totals", np.arange(10), "group/total", np.zeros(10, np.int64)),
            _links(2, "group/total", np.zeros(total, np.int64), "tweets", np.arange(total)),
        ]
    )
    rest = edges - pairs - total - 10
    second = _links(
        0, "kinds", random.integers(0, edges // 500, rest), "tags", random.integers(0, tags, rest)
    )
    return {"count": first, "sort": second}


def _median(ask: Callable[[int], int], asked: list[int]) -> dict[str, float]:
    seconds, rows = [], []
    for number in asked:
        started = time.perf_counter()
        rows.append(ask(number))
        seconds.append(time.perf_counter() - started)
    return {
        "median": statistics.median(seconds),
        "slowest": max(seconds),
        "rows": statistics.median(rows),
        "most": max(rows),
    }


def _duckdb(repository: Repository) -> tuple[Callable[[int], int], Callable[[], None]]:
    """Return the question for the inputs of a tag, asked of the Parquet file that is sorted so."""
    import duckdb

    run = repository.runs[0]
    connection = duckdb.connect()
    connection.execute("set threads = 1")
    text = (
        f"select target from read_parquet('{repository.path / run.file}.parquet') "
        "where source_space = 'tags' and source = ?"
    )
    return lambda n: len(connection.execute(text, [n]).fetchall()), connection.close


def measure(quick: bool) -> dict[str, Any]:
    """Build the repository, then ask for entities at random."""
    from whence.lineage.repository.repository import Repository

    edges = 50_000 if quick else EDGES
    with tempfile.TemporaryDirectory(prefix="whence-bench-") as folder:
        repository = Repository(folder + "/lineage")
        started = time.perf_counter()
        for job, table in jobs(edges).items():
            repository.add(table, workflow="twitter", job=job)
        added = time.perf_counter() - started
        measured.progress(f"{edges:,} edges added in {added:.1f} s")
        random = np.random.default_rng(11)
        tags, tweets, kinds = (
            random.integers(0, most, ASKED).tolist()
            for most in (edges // 20, edges * 2 // 5, edges // 500)
        )

        def ask(space: str, *, backward: bool, **options: Any) -> Callable[[int], int]:
            question = repository.backward if backward else repository.forward
            return lambda n: len(question((space, n), **options).entities)

        duck, close = _duckdb(repository)
        of_tags = ask("tags", backward=True, job="count")
        first = time.perf_counter()
        of_tags(tags[0])
        first = time.perf_counter() - first
        exact = all(duck(n) == of_tags(n) for n in tags[:20])
        found = {
            "backward, one job": _median(of_tags, tags),
            "backward, workflow": _median(ask("kinds", backward=True), kinds),
            "forward, one job": _median(ask("tweets", backward=False, job="count"), tweets),
            "forward, workflow": _median(ask("tweets", backward=False), tweets),
            "backward of a total": _median(ask("totals", backward=True), list(range(5))),
            "DuckDB on Parquet, one job": _median(duck, tags[:30]),
        }
        close()
        stats = repository.stats()
    return {
        "edges": stats.edges,
        "added": added,
        "bytes": stats.bytes,
        "first": first,
        "found": found,
        "exact": exact,
    }


def tell(found: dict[str, Any]) -> Told:
    """Milliseconds for each kind of question."""
    rows = tuple(
        (name, ms(row["median"]), ms(row["slowest"]), f"{row['rows']:,.0f}", f"{row['most']:,}")
        for name, row in found["found"].items()
    )
    table = Table(
        f"Questions to a repository of {found['edges']:,} reduced edges",
        ("question", "median ms", "slowest ms", "rows (median)", "rows (most)"),
        rows,
        notes=(
            f"{ASKED} entities at random each, in one process that has the index mapped;",
            f"mapping and checking it took {ms(found['first'])} ms",
            f"adding the edges took {found['added']:.1f} s; {found['bytes'] / 1e6:,.0f} MB on disk",
        ),
    )
    bars = tuple(
        at_most(f"{name}, median", MEDIAN_MS, row["median"] * 1e3, "ms")
        for name, row in found["found"].items()
        if name.startswith(("backward,", "forward,"))
    )
    failures = () if found["exact"] else ("a repository and DuckDB differ about the same edges",)
    return Told((table,), bars, failures)


if __name__ == "__main__":
    measured.tell(measure(json.loads(sys.argv[1])["quick"]))
