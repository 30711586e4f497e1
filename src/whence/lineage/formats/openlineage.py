"""What a job read and wrote as events of OpenLineage: a start and an end, with its datasets."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whence.lineage.events import Kind

SCHEMA: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
PRODUCER: Final = "urn:whence:lineage"


def run_events(
    workflow: str,
    job: str,
    *,
    inputs: Iterable[str],
    outputs: Iterable[str],
    started: datetime,
    ended: datetime,
    run: uuid.UUID | None = None,
) -> list[dict[str, Any]]:
    """Return the events of one run of a job; without an id, the run is told by its start."""
    told = run or uuid.uuid5(uuid.NAMESPACE_URL, f"{PRODUCER}/{workflow}/{job}/{started}")
    given, made = (_datasets(workflow, names) for names in (inputs, outputs))
    return [
        {
            "eventType": kind,
            "eventTime": time.isoformat(),
            "run": {"runId": str(told)},
            "job": {"namespace": workflow, "name": job},
            "inputs": given,
            "outputs": made,
            "producer": PRODUCER,
            "schemaURL": SCHEMA,
        }
        for kind, time in (("START", started), ("COMPLETE", ended))
    ]


def _datasets(workflow: str, names: Iterable[str]) -> list[dict[str, str]]:
    return [{"namespace": workflow, "name": name} for name in sorted(set(names))]


def job_datasets(edges: pa.RecordBatch) -> tuple[list[str], list[str]]:
    """Return the spaces that a job only used, and those that it generated and did not use."""
    kinds = edges.column("kind").to_numpy()
    derived, member = kinds == Kind.DERIVED, kinds == Kind.MEMBER
    used = _spaces(edges, "target_space", (kinds == Kind.USED) | derived | member)
    made = _spaces(edges, "source_space", (kinds == Kind.GENERATED) | derived | member)
    return sorted(used - made), sorted(made - used)


def _spaces(edges: pa.RecordBatch, column: str, where: np.ndarray[Any, Any]) -> set[str]:
    found = edges.column(column).filter(pa.array(where))
    return set(pc.unique(found).to_pylist())
