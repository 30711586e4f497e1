"""What can be wrong with a log, in words: one function for each diagnostic."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from whence.diagnostics import DataError, Diagnostic, UsageError, nearest
from whence.store.faults import FULL, Damaged, reason

if TYPE_CHECKING:
    from whence.lineage.log.base import Topic


def unusable(path: Path | str, fault: OSError) -> DataError:
    return DataError(Diagnostic("W1103", f"cannot use `{path}` as a log: {reason(fault)}"))


def no_log(path: Path | str, why: str) -> UsageError:
    hint = "give a folder, or `kafka://HOST:PORT`"
    return UsageError(Diagnostic("W1103", f"`{path}` holds no log: {why}", hint=hint))


def damaged(path: Path, damage: Damaged) -> DataError:
    return DataError(
        Diagnostic(
            "W1104",
            f"`{path}` is damaged at byte {damage.offset}: {damage.why}",
            hint="restore a copy of the file; segments before and after it are whole",
        )
    )


def missing_segment(folder: Path, offset: int, found: int) -> DataError:
    return DataError(
        Diagnostic(
            "W1104",
            f"`{folder}` lacks the segment that begins with offset {offset}",
            notes=(f"the next one there begins with {found}",),
            hint="restore a copy of the file; segments before and after it are whole",
        )
    )


def no_topic(name: str, known: Iterable[str]) -> UsageError:
    close = nearest(name, known)
    hint = f"did you mean `{close}`?" if close else "make the topic first"
    return UsageError(Diagnostic("W1105", f"the log has no topic `{name}`", hint=hint))


def no_partition(name: str, partition: int, partitions: int) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1105",
            f"topic `{name}` has no partition {partition}",
            hint=f"it has {partitions}, counted from 0",
        )
    )


def gone(name: str, partition: int, offset: int, begin: int, end: int) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1106",
            f"partition {partition} of `{name}` has no offset {offset}",
            hint=f"it has those from {begin} to {end}",
        )
    )


def other_topic(found: Topic, wanted: Topic) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1107",
            f"topic `{wanted.name}` is there already, and is another one",
            notes=(f"there: {_told(found)}", f"wanted: {_told(wanted)}"),
            hint="take another name, or what is there",
        )
    )


def _told(topic: Topic) -> str:
    attempts = "with" if topic.attempts else "without"
    return f"{topic.partitions} partitions, {attempts} attempts"


def bad_topic_name(name: str) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1108",
            f"`{name}` cannot be the name of a topic",
            hint="up to 200 letters, digits, `.`, `_` and `-`, the first a letter or a digit",
        )
    )


def no_partitions(count: int) -> UsageError:
    return UsageError(
        Diagnostic("W1108", f"a topic cannot have {count} partitions", hint="give at least 1")
    )


def no_edges(why: str) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1109",
            f"a batch holds no edges: {why}",
            hint="make it with `whence.lineage.events.make_batch`",
        )
    )


def newer(path: Path, version: int, known: int) -> DataError:
    return DataError(
        Diagnostic(
            "W1114",
            f"`{path}` has format {version}, and this version of Whence knows up to {known}",
            hint="use the version that wrote it, or a newer one",
        )
    )


def unwritten(path: Path, fault: OSError) -> DataError:
    return DataError(
        Diagnostic(
            "W1117",
            f"edges were not written to `{path}`: {reason(fault)}",
            notes=("nothing of them is kept; what was committed before is untouched",),
            hint="make room and try again" if fault.errno in FULL else "",
        )
    )


def over(path: Path | str) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1117",
            f"a writer to `{path}` was used after its end",
            hint="a writer commits once; take another for more edges",
        )
    )
