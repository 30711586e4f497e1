"""A stream of link updates through `whence.spark.maintain`, beside batches that do nothing."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.figures import spread
from benchmarks.inputs import Pair
from benchmarks.measured import progress, tell
from benchmarks.spark.sessions import Asked, asked, started, table
from whence import session as whence

NODES, BATCHES, UPDATES = 2000, 200, 500
SCHEMA: Final = "op string, relation string, values array<string>, time double"

NETWORK: Final = """
.decl link(x: number, y: number)
.input link
.decl reach(x: number, y: number)
reach(x, y) :- link(x, y), x % 20 = 0.
reach(x, z) :- reach(x, y), link(y, z).
.output reach
"""
"""What every twentieth node reaches."""


class Links:
    """Links of a network that come and go, one per node at any time after the first batch."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._rng = Random(23)
        self.there: list[Pair] = []
        self._held: set[Pair] = set()

    def comes(self) -> Pair:
        """Insert a link that is not there."""
        while True:
            link = self._rng.randrange(self._nodes), self._rng.randrange(self._nodes)
            if link[0] != link[1] and link not in self._held:
                self._held.add(link)
                self.there.append(link)
                return link

    def goes(self) -> Pair:
        """Delete one of the links."""
        place = self._rng.randrange(len(self.there))
        self.there[place], self.there[-1] = self.there[-1], self.there[place]
        link = self.there.pop()
        self._held.discard(link)
        return link


def write_batches(folder: Path, nodes: int, batches: int, updates: int) -> list[Pair]:
    """Write a file of updates per batch; return the links that are there in the end."""
    links = Links(nodes)
    for number in range(batches):
        lines = []
        for _ in range(updates):
            goes = len(links.there) >= nodes and len(lines) % 2
            op, link = ("-", links.goes()) if goes else ("+", links.comes())
            row = {"op": op, "relation": "link", "values": [str(end) for end in link]}
            lines.append(json.dumps(row))
        file = folder / f"{number:05d}.json"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        # Spark takes the oldest files first.
        stamp = 1_600_000_000 + number
        os.utime(file, (stamp, stamp))
    return links.there


def source(spark: Any, folder: Path) -> Any:
    """Return the files as a stream, one in each batch."""
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder))


def batch_seconds(query: Any) -> list[float]:
    """Return the seconds of each batch, whether or not somebody read its rows."""
    return [
        p["durationMs"]["triggerExecution"] / 1e3
        for p in query.recentProgress
        if "addBatch" in p["durationMs"]
    ]


def bytes_under(folder: Path, *, without: tuple[str, ...]) -> int:
    """Return the bytes of the files in a folder."""
    found = 0
    for path in folder.rglob("*"):
        if without and path.relative_to(folder).parts[0] in without:
            continue
        try:
            found += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # it was compacted away
            continue
    return found


LOGS: Final = ("changes", "views", "sources", "offsets", "commits", "spark", "metadata")
"""What is written for others, and Spark's own log of batches."""


class Sampling:
    """Looks at the size of the state while batches go by."""

    def __init__(self, query: Any, state: Path) -> None:
        self._query = query
        self._state = state
        self._over = threading.Event()
        self.seen: list[tuple[int, int]] = []
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._over.wait(0.5):
            last = self._query.lastProgress
            if last is not None:
                at = last["batchId"]
                if not self.seen or self.seen[-1][0] != at:
                    self.seen.append((at, bytes_under(self._state, without=LOGS)))

    def __enter__(self) -> Sampling:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def measure(given: Asked) -> dict[str, Any]:
    """Return the spread of batch times of both, the size of the state, and whether it is right."""
    from whence.spark import maintain, view

    nodes, batches, updates = (100, 6, 40) if given.quick else (NODES, BATCHES, UPDATES)
    conf = {"spark.sql.streaming.numRecentProgressUpdates": "2000"}
    with tempfile.TemporaryDirectory(prefix="whence-stream-") as made:
        folder = Path(made)
        files = folder / "updates"
        files.mkdir()
        links = write_batches(files, nodes, batches, updates)
        with started(given.threads, **conf) as spark:
            empty = (
                source(spark, files)
                .writeStream.foreachBatch(lambda frame, number: None)
                .option("checkpointLocation", str(folder / "empty"))
                .trigger(availableNow=True)
                .start()
            )
            empty.awaitTermination()
            nothing = batch_seconds(empty)
            progress(f"  empty: {spread(nothing)}")
            state = folder / "state"
            begun = time.perf_counter()
            query = maintain(
                NETWORK, source(spark, files), checkpoint=str(state), trigger={"availableNow": True}
            )
            with Sampling(query, state) as sampling:
                query.awaitTermination()
            seconds = time.perf_counter() - begun
            ours = batch_seconds(query)
            progress(f"  views: {spread(ours)}, {seconds:.1f} s in all")
            kept = {tuple(row) for row in view(spark, str(state), "reach").collect()}
    expected = whence.evaluate(whence.parse(NETWORK), {"link": table(links)}).table("reach")
    fresh = set(zip(*(c.to_pylist() for c in expected.columns), strict=True))
    return {
        "nodes": nodes,
        "batches": batches,
        "updates": updates,
        "empty": spread(nothing),
        "ours": spread(ours),
        "seconds": seconds,
        "state": sampling.seen,
        "tuples": len(kept),
        "exact": kept == fresh and len(ours) == batches,
    }


if __name__ == "__main__":
    tell(measure(asked()))
