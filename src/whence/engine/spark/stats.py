"""What an evaluation on Spark cost: group by group, and task by task."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from whence.engine.base import Stats


@dataclass(frozen=True, slots=True)
class TaskStats:
    """What one task tells about itself."""

    seconds: float
    """From its tables to its relations."""
    prepare_seconds: float = 0.0
    """Loading the machine code of kernels."""
    tuples: int = 0
    """How many it has derived."""
    rounds: int = 0
    read: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The rows and bytes of each copy that it was given."""
    peak_memory_bytes: int = 0
    worker: str = ""
    """The process that did the work."""
    sent_rows: int = 0
    sent_bytes: int = 0
    """What it sent to the others."""
    received_rows: int = 0
    received_bytes: int = 0
    spilled_bytes: int = 0
    """Of what it received, how much had to wait on disk."""
    waited_seconds: float = 0.0
    """For the others."""
    relations: Mapping[str, int] = field(default_factory=dict)
    """How many tuples it has of each copy."""


def worker_name() -> str:
    """Return how this process is called in statistics."""
    return f"{socket.gethostname()}:{os.getpid()}"


@dataclass(frozen=True, slots=True)
class GroupStats:
    """What the Spark job of one group cost."""

    number: int
    strategy: str
    relations: tuple[str, ...]
    why: str
    seconds: float
    tuples: int
    broadcast_bytes: int
    """What every task was sent."""
    shuffled_rows: int
    shuffled_bytes: int
    """What tasks were given through a shuffle."""
    sent_rows: int
    sent_bytes: int
    """What tasks sent to each other while they worked."""
    output_bytes: int
    rounds: int
    tasks: tuple[TaskStats, ...]

    def as_json(self) -> dict[str, Any]:
        """Return what `--stats` writes."""
        found = asdict(self)
        found["tasks"] = [
            {
                **{k: v for k, v in asdict(task).items() if k != "read"},
                "read": {
                    name: {"rows": rows, "bytes": size} for name, (rows, size) in task.read.items()
                },
            }
            for task in self.tasks
        ]
        return found


@dataclass(slots=True)
class SparkStats(Stats):
    """What an evaluation on Spark cost."""

    master: str = ""
    tasks: int = 1
    groups: list[GroupStats] = field(default_factory=list)
