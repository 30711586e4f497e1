"""The formats that facts are read from and written to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, BinaryIO, Final, TypeAlias

from whence.facts import arrow, delimited, jsonl, parquet
from whence.facts.badrows import BadRows
from whence.facts.content import Content
from whence.facts.schema import Column, Layout

if TYPE_CHECKING:
    import pyarrow as pa

Read: TypeAlias = "Callable[[Content, Sequence[Column], Layout, BadRows], pa.Table]"
Write: TypeAlias = "Callable[[pa.Table, BinaryIO, Sequence[Column], Layout], None]"


@dataclass(frozen=True, slots=True)
class Format:
    """How to read and write one kind of file; `suffixes` are the file names that mean it."""

    read: Read
    write: Write
    suffixes: tuple[str, ...] = ()


FORMATS: Final[dict[str, Format]] = {
    "file": Format(delimited.read, delimited.write),
    "parquet": Format(parquet.read, parquet.write, (".parquet", ".pq")),
    "jsonl": Format(jsonl.read, jsonl.write, (".jsonl", ".ndjson")),
    "arrow": Format(arrow.read, arrow.write, (".arrow", ".feather", ".ipc")),
}
"""By the value of `IO=`; `file` is delimited text, as in Soufflé."""


def format_of(filename: str) -> str:
    """Return the format that a file name means; delimited text when it means none.

    >>> format_of("edge.parquet"), format_of("edge.facts")
    ('parquet', 'file')
    """
    suffix = PurePath(filename).suffix.lower()
    for name, format in FORMATS.items():
        if suffix in format.suffixes:
            return name
    return "file"
