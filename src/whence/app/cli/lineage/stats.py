"""`whence lineage stats`: what a repository holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from whence.app.cli.explaining import print_lines
from whence.app.cli.lineage import asking
from whence.app.cli.lineage.working import Working
from whence.app.cli.options import Form, Format
from whence.app.cli.outcome import reported

if TYPE_CHECKING:
    from whence.lineage.repository.stats import Stats


def stats(repository: asking.Place, format: Format = Form.text) -> None:
    """Print what a repository holds: its jobs, tables, edges and what was deleted.

    Example:  whence lineage stats lineage
    """
    with reported():
        from whence.lineage.repository.repository import Repository

        with Working() as working:
            working.say("counting")
            found = Repository(repository, create=False).stats()
        if format is Form.json:
            print_lines([json.dumps(_as_json(found), indent=2, ensure_ascii=False)])
        else:
            print_lines(_as_text(found))


def _as_json(found: Stats) -> dict[str, object]:
    return {
        "commit": found.commit,
        "edges": found.edges,
        "pairs": found.pairs,
        "groups": found.groups,
        "deleted": found.deleted,
        "bytes": found.bytes,
        "tables": dict(found.tables),
        "runs": [
            {
                "workflow": run.workflow,
                "job": run.job,
                "run": run.run,
                "started": run.started and run.started.isoformat(),
                "ended": run.ended.isoformat(),
                "edges": run.edges,
                "groups": run.groups,
                "inputs": {space: extent.count for space, extent in run.inputs.items()},
                "outputs": {space: extent.count for space, extent in run.outputs.items()},
            }
            for run in found.runs
        ],
    }


def _as_text(found: Stats) -> Iterator[str]:
    from whence.explain.text import harmless

    yield f"{len(found.runs):,} runs of jobs, {found.edges:,} edges for {found.pairs:,} pairs"
    yield f"{found.groups:,} groups, {found.deleted:,} deleted rows, {found.bytes:,} bytes"
    for space, count in found.tables.items():
        yield harmless(f"table {space}: {count:,} rows")
    for run in found.runs:
        tables = f"{', '.join(run.inputs) or 'nothing'} → {', '.join(run.outputs) or 'nothing'}"
        when = f"{run.ended:%Y-%m-%d %H:%M}"
        yield harmless(f"job {run.workflow}/{run.job} ({run.run}, {when}): {tables}")
