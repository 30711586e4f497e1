"""The closure of a graph under deleted edges, by Pathway; run by a Python that has it.

`PYTHON pathway_stream.py FILE` reads {"edges": …, "deleted": […], "answered": …} and prints JSON.
Each delete is a commit of its own. Without `answered` all are known from the start, so none waits
for another: the seconds are those of the whole run. With it each is sent when the one before has
been answered: the seconds are those of each delete, from sending it to the end of its changes.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

try:
    import pathway as pw
except ImportError as error:
    sys.exit(f"pathway cannot be imported: {error}")

Edges = list[tuple[int, int]]


class Edge(pw.Schema):
    """A pair of nodes, each pair once."""

    x: int = pw.column_definition(primary_key=True)
    y: int = pw.column_definition(primary_key=True)


def step(path: Any, edge: Any) -> dict[str, Any]:
    """One round of the closure: the edges, and every path made longer by an edge."""
    longer = path.join(edge, path.y == edge.x).select(x=path.x, y=edge.y)
    both = pw.Table.concat_reindex(edge.select(edge.x, edge.y), longer)
    pairs = both.groupby(both.x, both.y).reduce(both.x, both.y)
    return {"path": pairs.with_id_from(pairs.x, pairs.y)}


def closure(edge: Any) -> Any:
    """The closure as a table that follows the edges."""
    edge = edge.with_id_from(edge.x, edge.y)
    return pw.iterate(step, path=pw.iterate_universe(edge), edge=edge).path


def known(edges: Edges, deleted: Edges) -> dict[str, Any]:
    """Replay all updates, each at a time of its own."""
    stream = [(x, y, 2, 1) for x, y in edges]
    stream += [(x, y, 4 + 2 * i, -1) for i, (x, y) in enumerate(deleted)]
    changes: list[tuple[int, int, int, int]] = []

    def on_change(key: object, row: dict[str, int], time: int, is_addition: bool) -> None:
        changes.append((time, row["x"], row["y"], 1 if is_addition else -1))

    pw.io.subscribe(
        closure(pw.debug.table_from_rows(Edge, stream, is_stream=True)), on_change=on_change
    )
    started = time.perf_counter()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return {"seconds": time.perf_counter() - started, "changes": changes}


def answered(edges: Edges, deleted: Edges) -> dict[str, Any]:
    """Send a delete when the one before has been answered."""
    times: list[float] = []
    counts: list[int] = []
    changed = 0
    told = threading.Event()

    class Source(pw.io.python.ConnectorSubject):  # type: ignore[misc]
        def run(self) -> None:
            for x, y in edges:
                self.next(x=x, y=y)
            self.commit()
            told.wait()
            for x, y in deleted:
                told.clear()
                before = changed
                started = time.perf_counter()
                self.delete(x=x, y=y)
                self.commit()
                told.wait()
                times.append(time.perf_counter() - started)
                counts.append(changed - before - 1)

    def on_change(key: object, row: dict[str, int], time: int, is_addition: bool) -> None:
        nonlocal changed
        changed += 1

    edge = pw.io.python.read(Source(), schema=Edge, autocommit_duration_ms=None)
    path = closure(edge)
    # A time ends at the sink only if something arrives there: the edge itself always does.
    both = pw.Table.concat_reindex(
        path.select(path.x, path.y, kind=0), edge.select(edge.x, edge.y, kind=1)
    )
    pw.io.subscribe(both, on_change=on_change, on_time_end=lambda time: told.set())
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return {"times": times, "counts": counts}


def main() -> None:
    """Load the edges, delete some, and print what that took and changed."""
    with open(sys.argv[1], encoding="utf-8") as file:
        asked = json.load(file)
    run = answered if asked["answered"] else known
    print(json.dumps({"version": pw.__version__, **run(asked["edges"], asked["deleted"])}))


if __name__ == "__main__":
    main()
