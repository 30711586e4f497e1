"""The closure of a graph under deleted edges, by Pathway; run by a Python that has it.

`PYTHON pathway_stream.py FILE` reads {"edges": …, "deleted": […]} and prints JSON: the seconds of
the run, from its start to its end, and what each delete changed. Each delete is a commit of its
own, at a time of its own; all are known from the start, so none waits for another to be
acknowledged, which is the kindest way to measure it.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

try:
    import pathway as pw
except ImportError as error:
    sys.exit(f"pathway cannot be imported: {error}")


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


def main() -> None:
    """Load the edges, delete some, and print what came and went."""
    with open(sys.argv[1], encoding="utf-8") as file:
        asked = json.load(file)
    stream = [(x, y, 2, 1) for x, y in asked["edges"]]
    stream += [(x, y, 4 + 2 * i, -1) for i, (x, y) in enumerate(asked["deleted"])]
    edge = pw.debug.table_from_rows(Edge, stream, is_stream=True)
    edge = edge.with_id_from(edge.x, edge.y)
    path = pw.iterate(step, path=pw.iterate_universe(edge), edge=edge).path
    changes: list[tuple[int, int, int, int]] = []

    def on_change(key: object, row: dict[str, int], time: int, is_addition: bool) -> None:
        changes.append((time, row["x"], row["y"], 1 if is_addition else -1))

    pw.io.subscribe(path, on_change=on_change)
    started = time.perf_counter()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    seconds = time.perf_counter() - started
    print(json.dumps({"version": pw.__version__, "seconds": seconds, "changes": changes}))


if __name__ == "__main__":
    main()
