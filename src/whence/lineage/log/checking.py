"""Whether a batch may go into a log: its columns are those of edges, with values in all of them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from whence.lineage.events import EDGES, Kind, as_edges
from whence.lineage.log import faults


def check_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch in the schema of edges, or say why it is none."""
    if not batch.schema.equals(EDGES):
        missing = [name for name in EDGES.names[:5] if name not in batch.schema.names]
        if missing:
            raise faults.no_edges(f"it has no column `{missing[0]}`")
        try:
            batch = as_edges(batch)
        except (pa.ArrowException, TypeError) as fault:
            raise faults.no_edges(str(fault)) from None
    for field in EDGES:
        if not field.nullable and batch.column(field.name).null_count:
            raise faults.no_edges(f"column `{field.name}` has a null")
    kinds, target = batch.column("kind"), batch.column("target")
    spaces = batch.column("target_space")
    if batch.num_rows and pc.max(kinds).as_py() > Kind.END:
        raise faults.no_edges(f"there is no kind {pc.max(kinds).as_py()}")
    if target.null_count or spaces.null_count:
        untold = pc.or_(target.is_null(), spaces.is_null())
        if pc.any(pc.and_(untold, pc.not_equal(kinds, int(Kind.END)))).as_py():
            raise faults.no_edges("an edge has no target")
    return batch
