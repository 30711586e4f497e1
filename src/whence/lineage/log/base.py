"""What a log of PROV streams is: topics of partitions, each a sequence of edges.

An offset is a place in a partition. What it counts is the log's own affair: readers keep the
offset that came with the last batch they are done with, and read on from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol, Self, runtime_checkable

from whence.lineage.log import faults

if TYPE_CHECKING:
    import pyarrow as pa

_TOPIC: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Topic:
    """The stream of one job: how many partitions it has, and whether its attempts are told apart.

    With `attempts`, an edge counts only if the log has the end marker of its attempt.
    """

    name: str
    partitions: int = 1
    attempts: bool = False
    about: Mapping[str, str] = field(default_factory=dict)


class Writer(Protocol):
    """Edges on their way into a partition: all of them are there after `commit`, or none."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Take edges; nobody sees them yet."""

    def commit(self) -> int:
        """Make all edges visible together; return the offset after them."""

    def abort(self) -> None:
        """Leave nothing behind; after `commit` this does nothing."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit, or abort after an exception."""


@runtime_checkable
class Log(Protocol):
    """Topics and partitions of edges; a log can be sent to other processes."""

    def create(self, topic: Topic) -> Topic:
        """Make the topic, or find it there with the same partitions."""

    def topics(self) -> list[str]:
        """Return the names of all topics."""

    def topic(self, name: str) -> Topic:
        """Return what is known about a topic."""

    def append(self, topic: str, partition: int, batch: pa.RecordBatch) -> int:
        """Write edges, all or none; return the offset after them."""

    def writer(self, topic: str, partition: int) -> Writer:
        """Return a writer; several may write to a partition at once."""

    def read(
        self, topic: str, partition: int, offset: int | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Give what is there from an offset on, each batch with the offset after it.

        Without an offset from the beginning. What is appended meanwhile may or may not be given.
        """

    def begin_offsets(self, topic: str) -> list[int]:
        """Return for each partition the offset of the first edge that is kept."""

    def end_offsets(self, topic: str) -> list[int]:
        """Return for each partition the offset after the last edge."""

    def retain(
        self, topic: str, *, newest: int | None = None, since: datetime | None = None
    ) -> list[int]:
        """Forget what is old; return for each partition where it begins afterwards.

        `newest` is a number of bytes of each partition that are kept, `since` when the oldest
        that are kept were written. What is kept may be more: only whole files go.
        """


def checked(topic: Topic) -> Topic:
    """Return the topic if it can be made."""
    check_name(topic.name)
    if topic.partitions < 1:
        raise faults.no_partitions(topic.partitions)
    return topic


def check_name(name: str) -> str:
    """Return the name if a topic may have it."""
    if _TOPIC.fullmatch(name) is None:
        raise faults.bad_topic_name(name)
    return name


def check_partition(topic: Topic, partition: int) -> None:
    """See that the topic has this partition."""
    if not 0 <= partition < topic.partitions:
        raise faults.no_partition(topic.name, partition, topic.partitions)


def agreed(found: Topic, wanted: Topic) -> Topic:
    """Return the topic that is there if it is the wanted one."""
    if (found.partitions, found.attempts) != (wanted.partitions, wanted.attempts):
        raise faults.other_topic(found, wanted)
    return found
