"""Edges on their way from tasks into the log: each task attempt writes a segment that nobody sees.

Attempts that succeed tell the driver by an accumulator, which Spark adds up for those alone; after
the action the driver makes their segments visible. What failed attempts wrote is never seen.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

from whence.lineage.capture.executions import Place
from whence.lineage.log.base import Log, Topic
from whence.lineage.log.directory import DirectoryLog
from whence.lineage.names import INNER

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext

    from whence.lineage.capture.notebook import Notebook


class Numbers(Enum):
    """How an operator numbers what it makes, which says what counts when it runs again."""

    SAME = "same"
    """Alike whenever it runs: the first complete run counts, others would repeat it."""
    OWN = "own"
    """By position or by task attempt: every attempt that succeeds counts."""


@dataclass(frozen=True, slots=True)
class Operator:
    """A function of a job: the space of its activities, and how it numbers."""

    name: str
    numbers: Numbers = Numbers.SAME
    part: int = 0
    """The place among the operators of its job, by which edges may be partitioned."""

    @property
    def inner(self) -> str:
        """The space of entities that it makes for others of the job."""
        return f"{INNER}{self.name}"


@dataclass(frozen=True, slots=True)
class Staged:
    """A segment that a task attempt wrote: of which operator, by which task, where."""

    operator: str
    stage: int
    partition: int
    attempt: int
    into: int
    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class Desk:
    """What tasks need to write edges; it is sent to them."""

    log: DirectoryLog
    topic: str
    partitions: int
    horizontal: bool
    told: Any
    """The accumulator of `Staged`."""

    def place(self) -> Place:
        """Return where this task runs."""
        task = _task()
        return Place(task.partitionId(), task.attemptNumber(), datetime.now(UTC))

    def stage(self, operator: Operator, batches: Iterable[pa.RecordBatch]) -> None:
        """Write the edges of an operator in this task, and tell the driver if the task succeeds."""
        task = _task()
        found = [batch for batch in batches if batch.num_rows]
        if not found:
            self.told.add([Staged(operator.name, task.stageId(), task.partitionId(), 0, 0, "", 0)])
            return
        into = (operator.part if self.horizontal else task.partitionId()) % self.partitions
        writer = self.log.writer(self.topic, into)
        try:
            for batch in found:
                writer.add(batch)
            name, rows = writer.hand_over()
        finally:
            writer.abort()
        number = (task.stageId(), task.partitionId(), task.taskAttemptId())
        self.told.add([Staged(operator.name, *number, into, name, rows)])


def _task() -> Any:
    from pyspark import TaskContext

    return TaskContext.get()


class Publisher:
    """The driver's side: knows what is published, and publishes what an action has added."""

    def __init__(
        self,
        context: SparkContext,
        log: Log,
        topic: Topic,
        horizontal: bool,
        notebook: Notebook | None = None,
    ) -> None:
        from pyspark.accumulators import AccumulatorParam

        class Listed(AccumulatorParam[list[Staged]]):
            def zero(self, value: list[Staged]) -> list[Staged]:
                return []

            def addInPlace(self, one: list[Staged], other: list[Staged]) -> list[Staged]:
                one.extend(other)
                return one

        self._told = context.accumulator([], Listed())
        self._lock = threading.Lock()
        self._done: set[str] = set()
        self.log = log
        self.topic = topic
        self.notebook = notebook
        self._own = log if isinstance(log, DirectoryLog) else _beside(context, topic)
        self.desk = Desk(self._own, topic.name, topic.partitions, horizontal, self._told)

    def publish(self, operators: Sequence[Operator]) -> int:
        """Make visible what tasks of these operators staged; return the number of edges."""
        kinds = {operator.name: operator.numbers for operator in operators}
        with self._lock:
            mine = [staged for staged in self._told.value if staged.operator in kinds]
            self._told.value = [s for s in self._told.value if s.operator not in kinds]
            edges = 0
            for name, numbers in kinds.items():
                found = [staged for staged in mine if staged.operator == name]
                chosen = _once(found) if numbers is Numbers.SAME else found
                if numbers is Numbers.SAME and name in self._done:
                    chosen = []
                edges += sum(self._take(staged) for staged in chosen if staged.rows)
                for staged in found:
                    if staged.rows and staged not in chosen:
                        self._drop(staged)
                if chosen:
                    self._done.add(name)
            return edges + self._note(operators)

    def _note(self, operators: Sequence[Operator]) -> int:
        """Write what taps noted for the driver; return the number of edges."""
        if self.notebook is None:
            return 0
        noted = self.notebook.written(operators, self.topic.partitions, self.desk.horizontal)
        for into, batches in noted.items():
            with self.log.writer(self.topic.name, into) as writer:
                for batch in batches:
                    writer.add(batch)
        return sum(batch.num_rows for batches in noted.values() for batch in batches)

    def forget(self, operators: Sequence[Operator]) -> None:
        """Leave out what an action that failed has staged."""
        names = {operator.name for operator in operators}
        with self._lock:
            for staged in self._told.value:
                if staged.operator in names and staged.rows:
                    self._drop(staged)
            self._told.value = [s for s in self._told.value if s.operator not in names]
        if self.notebook is not None:
            self.notebook.forget(operators)

    def append(self, batch: pa.RecordBatch) -> None:
        """Write edges that the driver itself knows."""
        if batch.num_rows:
            self.log.append(self.topic.name, 0, batch)

    def _take(self, staged: Staged) -> int:
        own = self._own
        end = own.take_over(self.topic.name, staged.into, staged.name, staged.rows)
        if own is not self.log:
            for _, batch in own.read(self.topic.name, staged.into, end - staged.rows):
                self.log.append(self.topic.name, staged.into, batch)
            own.retain(self.topic.name, newest=0)
        return staged.rows

    def _drop(self, staged: Staged) -> None:
        self._own.leave(self.topic.name, staged.into, staged.name)


def _once(found: Sequence[Staged]) -> list[Staged]:
    """Return one attempt of each task of one evaluation.

    A plan may hold an operator twice, each time with partitions of its own: then tasks of one
    stage belong together. Jobs that look at some partitions after others have no task in common.
    """
    first: dict[tuple[int, int], Staged] = {}
    for staged in found:
        first.setdefault((staged.stage, staged.partition), staged)
    stages = {stage for stage, _ in first}
    partitions = [partition for _, partition in first]
    if len(set(partitions)) == len(partitions):
        return list(first.values())
    return [staged for (stage, _), staged in first.items() if stage == min(stages)]


def _beside(context: SparkContext, topic: Topic) -> DirectoryLog:
    """Return a log in a folder of the session, for edges on their way to another log."""
    from pathlib import Path

    own = DirectoryLog(Path(context._temp_dir) / "lineage", sync=False)
    own.create(topic)
    return own
