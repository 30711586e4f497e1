"""The partitions of a program's views in the threads of one process."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from whence.engine.spark.frames import Columns, shown
from whence.rows import tuples_of
from whence.view.base import Batch
from whence.view.partitioned import Partition
from whence.view.partitioned_exchange import Alone, Exchange, Post, Threads
from whence.view.partitioned_part import Moved
from whence.view.partitioned_plan import Kept


class Partitions:
    """All tasks of a program's views."""

    def __init__(
        self,
        groups: Sequence[Kept],
        outputs: Collection[str],
        tasks: int,
        columns: Mapping[str, Columns],
    ) -> None:
        self.tasks = tasks
        self.columns = columns
        self.held = [Partition(groups, outputs, task=t, tasks=tasks) for t in range(tasks)]
        self.posts: list[Post] = []

    def moved(self, batch: Batch) -> list[Moved]:
        """Apply a batch at all tasks; return what each tells."""
        threads = Threads(self.tasks)
        sides: Sequence[Exchange] = threads.sides if self.tasks > 1 else [Alone()]
        self.posts = [Post(side) for side in sides]

        def run(task: int) -> Moved:
            try:
                return self.held[task].apply(batch, self.posts[task])
            except BaseException:
                threads.abort()
                raise

        with ThreadPoolExecutor(self.tasks) as pool:
            futures = [pool.submit(run, task) for task in range(self.tasks)]
            errors = [e for f in futures if (e := f.exception()) is not None]
        if errors:
            raise min(errors, key=lambda e: "Barrier" in type(e).__name__)
        return [future.result() for future in futures]

    def apply(self, batch: Batch) -> dict[str, tuple[set[tuple], set[tuple]]]:
        """Apply a batch at all tasks; return what came and went, and that nothing did twice."""
        found: dict[str, tuple[set[tuple], set[tuple]]] = {}
        for moved in self.moved(batch):
            for name, (came, went) in moved.items():
                mine = found.setdefault(name, (set(), set()))
                for table, into in zip((came, went), mine, strict=True):
                    rows = [] if table is None else tuples_of(shown(table, self.columns[name]))
                    assert len(set(rows)) == len(rows)
                    assert not into & set(rows), f"{name} changed at two tasks"
                    into |= set(rows)
        return {name: change for name, change in found.items() if change[0] or change[1]}

    def table(self, relation: str) -> set[tuple]:
        """Return the tuples that all tasks hold of a relation."""
        tables = [table for p in self.held if (table := p.table(relation)) is not None]
        columns = self.columns[relation]
        return {row for table in tables for row in tuples_of(shown(table, columns))}


def net(
    before: Mapping[str, set[tuple]], after: Mapping[str, set[tuple]]
) -> dict[str, tuple[set[tuple], set[tuple]]]:
    """Return what leads from one state to another."""
    found = {}
    for name, rows in after.items():
        came, went = rows - before.get(name, set()), before.get(name, set()) - rows
        if came or went:
            found[name] = came, went
    return found
