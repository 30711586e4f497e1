"""Taps that Spark runs in its own process, for samples: a function of `Tap.java`, and its notes.

A note is the number of a tap, the number of a row or of a group, and a reference of it. Tasks that
succeed tell theirs by an accumulator, and the driver takes them when an action is done.
"""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import Column, DataFrame

    from whence.lineage.capture.executions import Array

_CLASS: Final = "whence.lineage.Tap"
_MARK: Final = "_whence_taps"
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Notes:
    """What tasks noted: which tap, in which partition and attempt, the number, the reference."""

    tap: Array
    worker: Array
    attempt: Array
    number: Array
    reference: Array

    def __len__(self) -> int:
        return len(self.tap)

    def __getitem__(self, which: Any) -> Notes:
        columns = (self.tap, self.worker, self.attempt, self.number, self.reference)
        return Notes(*(column[which] for column in columns))


def joined(parts: Sequence[Notes]) -> Notes:
    """Return all notes of several."""
    if len(parts) == 1:
        return parts[0]
    names = Notes.__slots__
    empty = np.empty(0, np.int64)
    return Notes(*(np.concatenate([empty, *(getattr(p, name) for p in parts)]) for name in names))


class JvmTaps:
    """The taps of a Spark context, numbered from 1."""

    def __init__(self, context: SparkContext) -> None:
        self._tap = _made(context)
        self._file = Path(context._temp_dir, "whence-notes")
        self._next = 1
        self._waiting: dict[int, list[Notes]] = {}
        self._lock = threading.Lock()

    def numbered(
        self, frame: DataFrame, number: Column | None, column: str, share: float
    ) -> DataFrame:
        """Return the frame with numbers, or positions, of the rows that are followed."""
        java: Any = None if number is None else number._jc
        made = self._tap.numbered(frame._jdf, java, column, int(share * (1 << 31)))
        return _frame(made, frame)

    def grouped(
        self, frame: DataFrame, keys: Sequence[Column], references: Sequence[str], column: str
    ) -> tuple[DataFrame, int]:
        """Return the frame with hashes of keys where a reference is, and the first of its taps."""
        first = self._taken(references)
        java: list[Any] = [key._jc for key in keys]
        made = self._tap.grouped(frame._jdf, java, ",".join(references), column, first)
        return _frame(made, frame), first

    def written(
        self, frame: DataFrame, references: Sequence[str], column: str, shown: bool
    ) -> tuple[DataFrame, int]:
        """Return what a frame shows, perhaps with positions in a column, and its first tap."""
        first = self._taken(references)
        names = ",".join(references)
        hidden = names if shown else f"{names},{column}"
        made = self._tap.written(frame._jdf, hidden, names, column, first)
        return _frame(made, frame), first

    def _taken(self, references: Sequence[str]) -> int:
        with self._lock:
            first, self._next = self._next, self._next + len(references)
        return first

    def take(self, taps: Iterable[int]) -> Notes:
        """Return what was noted at these taps since they were last asked."""
        with self._lock:
            # By a file: as an answer of the gateway it would take the longer, the larger it is.
            found = self._file.read_bytes() if self._tap.taken(str(self._file)) else b""
            for notes in _read(found):
                for tap in np.unique(notes.tap).tolist():
                    self._waiting.setdefault(tap, []).append(notes[notes.tap == tap])
            return joined([n for tap in taps for n in self._waiting.pop(tap, ())])


def _frame(made: Any, like: DataFrame) -> DataFrame:
    from pyspark.sql.classic.dataframe import DataFrame as Classic

    return Classic(made, like.sparkSession)


def jvm_taps(context: SparkContext) -> JvmTaps:
    """Return the taps of a context, which are made when they are first needed."""
    with _lock:
        found = getattr(context, _MARK, None)
        if found is None:
            found = JvmTaps(context)
            setattr(context, _MARK, found)
        return cast(JvmTaps, found)


def _made(context: Any) -> Any:
    """Compile the tap as Spark compiles its stages, and send it to the executors."""
    jvm, gateway = context._jvm, context._gateway
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(resources.files(__package__).joinpath("Tap.java").read_text("utf-8"))
    jar = Path(context._temp_dir, "whence-taps.jar")  # goes when the session does
    with zipfile.ZipFile(jar, "w") as out:
        code = compiler.getBytecodes()
        for name in code:
            out.writestr(f"{name.replace('.', '/')}.class", bytes(code[name]))
    context._jsc.addJar(str(jar))
    arguments = gateway.new_array(jvm.java.lang.Object, 1)
    arguments[0] = context._jsc.sc()
    (constructor,) = compiler.getClassLoader().loadClass(_CLASS).getConstructors()
    return constructor.newInstance(arguments)


def _read(data: bytes) -> Iterable[Notes]:
    """Give the notes of each task: its partition and attempt, then three numbers for each note."""
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "big")
        worker, attempt = np.frombuffer(data, ">i4", 2, at + 8).tolist()
        found = np.frombuffer(data, ">i8", size // 8 - 1, at + 16).reshape(-1, 3)
        tap, number, reference = found.T.astype(np.int64)
        place = (np.full(len(tap), worker), np.full(len(tap), attempt))
        yield Notes(tap, *place, number, reference)
        at += 8 + size
