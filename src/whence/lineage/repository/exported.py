"""Runs and answers as documents of others: PROV in its forms, DOT, OpenLineage, facts for rules.

A group becomes a collection, of which outputs are derived and whose members are inputs.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from whence.facts.outputs import Outputs
from whence.lineage.reduced import Link
from whence.lineage.repository import faults
from whence.lineage.repository.datalog import RULES, facts
from whence.lineage.repository.manifest import Run
from whence.lineage.repository.repository import Repository
from whence.lineage.repository.snapshot import Snapshot
from whence.lineage.repository.walk import Answer

READABLE: Final = 1_000_000
"""The most edges that a document may have that is written whole."""


def export_answer(repository: Repository, answer: Answer, form: str) -> Iterator[str]:
    """Give an answer as a document: the edges it goes through, or the jobs."""
    if form == "openlineage":
        return openlineage(answer.runs)
    return document(repository.edges(answer), form)


def export_runs(snapshot: Snapshot, runs: Iterable[Run], form: str) -> Iterator[str]:
    """Give whole runs as a document."""
    if form == "openlineage":
        return openlineage(runs)
    return document(((run, snapshot.edges(run)) for run in runs), form)


def document(parts: Iterable[tuple[Run, pa.Table]], form: str) -> Iterator[str]:
    """Give reduced graphs of runs as one document in a format of `whence.lineage.formats`."""
    from whence.lineage.events import concatenate
    from whence.lineage.formats import export

    batches, edges = [], 0
    for batch in prov_edges(parts):
        edges += batch.num_rows
        if edges > READABLE:
            raise faults.too_large(form, READABLE)
        batches.append(batch)
    return export(concatenate(batches), form)


def write_json_lines(snapshot: Snapshot, runs: Iterable[Run], file: IO[bytes]) -> int:
    """Write whole runs as our JSON lines, of any number; return how many edges there are."""
    from whence.lineage.jsonl import write_lines

    return write_lines(prov_edges((run, snapshot.edges(run)) for run in runs), file)


def write_facts(snapshot: Snapshot, folder: Path, runs: Sequence[Run]) -> None:
    """Write runs as relations, and the rules about them, into a folder; files appear together."""
    found = facts(snapshot, runs)
    with Outputs() as outputs:
        for name, table in found.items():
            with outputs.open(folder / f"{name}.parquet") as file:
                pq.write_table(table, file)
        with outputs.open(folder / RULES.name) as file:
            file.write(RULES.read_bytes())
        outputs.commit()


def prov_edges(parts: Iterable[tuple[Run, pa.Table]]) -> Iterator[pa.RecordBatch]:
    """Give reduced graphs of runs as batches of `EDGES`."""
    from whence.lineage.formats.exporting import of_reduced

    for run, table in parts:
        for batch in table.unify_dictionaries().combine_chunks().to_batches():
            yield of_reduced(_apart(run, batch))


def openlineage(runs: Iterable[Run]) -> Iterator[str]:
    """Give the events of runs, one in a line."""
    from whence.lineage.formats import run_events

    for run in runs:
        # The same run has the same id, however often it is told.
        told = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([run.workflow, run.job, run.run]))
        started: datetime = run.started or run.ended
        for event in run_events(
            run.workflow,
            run.job,
            inputs=run.inputs,
            outputs=run.outputs,
            started=started,
            ended=run.ended,
            run=told,
        ):
            yield json.dumps(event, ensure_ascii=False) + "\n"


def _apart(run: Run, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return edges whose groups are named by their run: another may have groups of those names."""
    kind = batch.column("kind").to_numpy()
    columns = batch.columns
    for place, grouped in ((1, kind >= Link.IN), (3, (kind & 1) == 1)):
        spaces = columns[place]
        texts = spaces.dictionary.to_pylist()
        # A name of a foreign vocabulary loses its colon: the prefix is ours here.
        named = [f"run/{run.number}/{text.replace(':', '/')}" for text in texts]
        codes = spaces.indices.to_numpy() + np.where(grouped, len(texts), 0)
        columns[place] = pa.DictionaryArray.from_arrays(
            pa.array(codes.astype(np.int32)), pa.array([*texts, *named], pa.utf8())
        )
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
