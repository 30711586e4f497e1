"""Questions in SQL over a snapshot: its `runs`, `edges` and `deleted` entities, read by DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from whence.diagnostics import WhenceError
from whence.lineage.repository import faults
from whence.lineage.repository.apart import TIMEOUT, ask_apart
from whence.lineage.repository.manifest import Run
from whence.lineage.repository.snapshot import Snapshot, Vanished
from whence.lineage.repository.writing import TOMBSTONES

RUNS: Final = pa.schema(
    [
        pa.field("run", pa.int64()),
        pa.field("workflow", pa.utf8()),
        pa.field("job", pa.utf8()),
        pa.field("name", pa.utf8()),
        pa.field("started", pa.timestamp("us", tz="UTC")),
        pa.field("ended", pa.timestamp("us", tz="UTC")),
        pa.field("edges", pa.int64()),
        pa.field("groups", pa.int64()),
    ]
)
"""The table of runs, as SQL and rules see it."""

_NO_EDGES: Final = (
    "select 0 as run, 0 as kind, '' as source_space, 0::bigint as source, "
    "'' as target_space, 0::bigint as target where false"
)


def runs_table(runs: Sequence[Run]) -> pa.Table:
    """Return runs as a table."""
    columns = [
        [run.number for run in runs],
        [run.workflow for run in runs],
        [run.job for run in runs],
        [run.run for run in runs],
        [run.started for run in runs],
        [run.ended for run in runs],
        [run.edges for run in runs],
        [run.groups for run in runs],
    ]
    arrays = [pa.array(c, field.type) for c, field in zip(columns, RUNS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=RUNS)


def ask(snapshot: Snapshot, question: str, *, timeout: float = TIMEOUT) -> pa.Table:
    """Return the answer to one `select`; anything else is refused."""
    gone = snapshot.tombstones()
    tables = {
        "runs": runs_table(snapshot.runs),
        "deleted": TOMBSTONES.empty_table() if gone is None else gone,
    }
    files = {f"edges_of_run_{run.number}": str(snapshot.checked(run)) for run in snapshot.runs}
    parts = [
        f"select {run.number} as run, kind, source_space::varchar as source_space, source, "
        f"target_space::varchar as target_space, target from edges_of_run_{run.number}"
        for run in snapshot.runs
    ]
    view = "create view edges as " + (" union all ".join(parts) or _NO_EDGES)

    def wrong(why: str) -> WhenceError:
        if snapshot.is_past():  # a file may have gone while DuckDB read it
            return Vanished(snapshot.path)
        return faults.no_question(question, why)

    asked = {"sql": question, "files": files, "view": view}
    return ask_apart(asked, tables, wrong, timeout=timeout)
