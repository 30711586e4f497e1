"""JSON lines into a log and out of it: the interchange with those who have no log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from whence.facts.outputs import Outputs
from whence.lineage.jsonl import Reading, read_lines, write_lines
from whence.lineage.log.base import Log
from whence.lineage.partitioning import Strategy, check, split

if TYPE_CHECKING:
    from whence.facts.schema import OnBadRow


def log_lines(
    log: Log,
    topic: str,
    paths: Iterable[str | Path],
    *,
    strategy: Strategy = "random",
    functions: Sequence[str] = (),
    seed: int = 0,
    on_bad_row: OnBadRow = "stop",
) -> list[Reading]:
    """Append the edges of files to a topic; return what was met in each file.

    The topic is there already. A partition has all of its edges or none.
    """
    partitions = log.topic(topic).partitions
    check(strategy, partitions)
    readings = []
    with ExitStack() as stack:
        writers = [stack.enter_context(log.writer(topic, p)) for p in range(partitions)]
        for path in paths:
            readings.append(Reading(str(path), on_bad_row))
            for batch in read_lines(path, reading=readings[-1]):
                parts = split(batch, strategy, partitions, seed=seed, functions=functions)
                for partition, part in parts:
                    writers[partition].add(part)
    return readings


def write_topic(log: Log, topic: str, folder: str | Path) -> list[Path]:
    """Write each partition of a topic to a file of lines; all files appear together."""
    places = [
        Path(folder) / f"partition-{partition:03d}.jsonl"
        for partition in range(log.topic(topic).partitions)
    ]
    with Outputs() as outputs:
        for partition, place in enumerate(places):
            with outputs.open(place) as file:
                write_lines((batch for _, batch in log.read(topic, partition)), file)
        outputs.commit()
    return places
