"""`Repository`: lineage of all jobs of a workflow in a folder, asked backward and forward."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from whence.lineage.repository import faults
from whence.lineage.repository.compacting import MOST
from whence.lineage.repository.entities import Asked, Entities, entities_of, is_text
from whence.lineage.repository.index import reduced_table
from whence.lineage.repository.manifest import HEAD, NAME, Run
from whence.lineage.repository.snapshot import Snapshot, Vanished, open_snapshot
from whence.lineage.repository.walk import Answer, edges, walk
from whence.store.files import Files

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.lineage.repository.stats import Stats

PATIENCE: Final = 60.0
"""Seconds that a writer waits for another one."""

_Found = TypeVar("_Found")


class Repository:
    """Reduced graphs of jobs, kept in a folder and merged by the identity of entities.

    Each question sees the last commit at its beginning, whole. Writers wait for each other.
    """

    def __init__(
        self, path: Path | str, *, create: bool = True, files: Files | None = None
    ) -> None:
        self.path = Path(path)
        self._files = files or Files()
        self._snapshot = open_snapshot(self.path)
        self._seen = self._stamp()
        if not create and not self._snapshot.manifest.commit:
            raise faults.absent(self.path)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs that are there, in the order in which they were added."""
        return self.snapshot().runs

    def snapshot(self) -> Snapshot:
        """Return the last commit; it stays as it is until something is deleted."""
        stamp = self._stamp()
        if stamp != self._seen:
            later = open_snapshot(self.path)
            later.keep(self._snapshot)
            self._snapshot, self._seen = later, stamp
        return self._snapshot

    def add(
        self,
        reduced: pa.Table | pa.RecordBatch | Iterable[pa.RecordBatch],
        *,
        workflow: str,
        job: str,
        run: str | None = None,
        started: datetime | None = None,
        ended: datetime | None = None,
        patience: float = PATIENCE,
    ) -> Run:
        """Add the reduced graph of one run of a job; it is durable when this returns.

        A run of the same name is replaced, so that a writer may try again. What was deleted from
        the repository does not come back.
        """
        for what, name in (("workflow", workflow), ("job", job), ("run", run)):
            if name is not None and not (isinstance(name, str) and name.strip() and is_text(name)):
                raise faults.no_name(what, name)
        from whence.lineage.repository.writing import writing

        table = reduced_table(reduced)
        described = Run(
            number=0,
            workflow=workflow,
            job=job,
            run=run or "",
            started=started and _utc(started),
            ended=_utc(ended or datetime.now(UTC)),
            inputs={},
            outputs={},
            groups=0,
            edges=0,
            file="",
            checksum=0,
        )
        with writing(self.path, self._files, patience) as writer:
            return writer.add(table, described)

    def backward(
        self,
        ids: Asked,
        *,
        job: str | None = None,
        workflow: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Answer:
        """Return what entities depend on: the inputs of a job, or those of the whole workflow.

        Only runs of the given workflow, job and period count. An entity that none of them knows
        is in the answer's `unknown`.
        """
        return self._walk(ids, True, job, workflow, since, until)

    def forward(
        self,
        ids: Asked,
        *,
        job: str | None = None,
        workflow: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Answer:
        """Return what depends on entities: outputs of a job, or of the whole workflow."""
        return self._walk(ids, False, job, workflow, since, until)

    def edges(self, answer: Answer) -> Iterator[tuple[Run, pa.Table]]:
        """Give the edges that an answer goes through, run by run, as reduced graphs."""
        return iter(self._asked(lambda snapshot: list(edges(answer, snapshot.index))))

    def find(
        self, table: str, data: object, where: str | None = None, *, id: str | None = None
    ) -> Entities:
        """Return the rows of a table that satisfy a predicate, as entities to ask for.

        `data` is the table: a Parquet, CSV, Arrow or JSON lines file, a folder of them, or a
        frame. Its column `id` has the row ids; a folder that a traced job wrote needs none, and
        "#" is the place of a row in its file. The predicate is an expression of DuckDB's.
        """
        from whence.lineage.repository.rows import matching

        return matching(table, data, where, id=id)

    def delete(
        self, ids: Asked, *, derived: bool = True, reason: str = "", patience: float = PATIENCE
    ) -> Entities:
        """Delete entities and all that is derived from them; return what was deleted.

        They are gone from every run, and no run that is added later brings them back.
        """
        from whence.lineage.repository.writing import writing

        asked = entities_of(ids)
        with writing(self.path, self._files, patience) as writer:
            snapshot = writer.snapshot
            gone = asked
            if derived:
                answer = walk(snapshot.runs, snapshot.index, asked, backward=False)
                gone = asked.join(answer.entities)
            gone = gone.minus(snapshot.deleted())
            writer.delete(gone, reason.encode(errors="backslashreplace").decode())
        return gone

    def compact(
        self, *, before: datetime | None = None, most: int = MOST, patience: float = PATIENCE
    ) -> list[Run]:
        """Make one run of all runs of a job that ended before a time; return those made.

        Answers stay what they are, but for periods: a run that is made was at work from the
        first to the last of its runs. None of these can be replaced afterwards. A run that is
        made has no more edges than `most`.
        """
        from whence.lineage.repository.writing import writing

        with writing(self.path, self._files, patience) as writer:
            return writer.compact(before and _utc(before), most)

    def deleted(self) -> Entities:
        """Return all entities that were deleted."""
        return self._asked(lambda snapshot: snapshot.deleted())

    def sql(self, question: str) -> pa.Table:
        """Return the answer to a `select` over the tables `runs`, `edges` and `deleted`."""
        from whence.lineage.repository.sql import ask

        return self._asked(lambda snapshot: ask(snapshot, question))

    def facts(self) -> dict[str, pa.Table]:
        """Return the repository as relations, for the rules in `lineage.dl` or your own."""
        from whence.lineage.repository.datalog import facts

        return self._asked(facts)

    def query(self, goal: str, *, rules: str = "") -> pa.Table:
        """Return the tuples that match a goal of `lineage.dl`, or of more rules beside it.

        Such as `backward("tags", 3, table, row)`: only what the goal needs is derived.
        """
        from whence.lineage.repository.datalog import query

        return self._asked(lambda snapshot: query(snapshot, goal, rules))

    def stats(self) -> Stats:
        """Return what is there: runs, edges, tables, groups, bytes on disk."""
        from whence.lineage.repository.stats import stats

        return self._asked(stats)

    def _walk(
        self,
        ids: Asked,
        backward: bool,
        job: str | None,
        workflow: str | None,
        since: datetime | None,
        until: datetime | None,
    ) -> Answer:
        asked = entities_of(ids)

        def found(snapshot: Snapshot) -> Answer:
            runs = snapshot.select(
                workflow=workflow, job=job, since=since and _utc(since), until=until and _utc(until)
            )
            # The pairs of a job are closed already: one step gives all its inputs or outputs.
            steps = None if job is None else 1
            return walk(runs, snapshot.index, asked, backward=backward, steps=steps)

        return self._asked(found)

    def _asked(self, question: Callable[[Snapshot], _Found]) -> _Found:
        """Return the answer as of one commit; again if a deletion took its files away."""
        while True:
            try:
                return question(self.snapshot())
            except Vanished:
                self._seen = None

    def _stamp(self) -> tuple[int, bytes] | None:
        """Return what tells one commit from another.

        The system uses inodes again and its clock has ticks, so the checksum of the state, with
        which a manifest begins, must say it.
        """
        try:
            with (self.path / NAME).open("rb") as file:
                return os.fstat(file.fileno()).st_size, file.read(HEAD)
        except (FileNotFoundError, NotADirectoryError):
            return None


def _utc(time: datetime) -> datetime:
    """Return the time in UTC; one without a zone is in UTC already."""
    try:
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except OverflowError:  # before the first year, or after the last, in another zone
        raise faults.no_time(time.isoformat()) from None
