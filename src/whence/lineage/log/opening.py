"""Logs by their address: a folder, or brokers of Kafka."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from whence.lineage.log.base import Log

if TYPE_CHECKING:
    from os import PathLike

KAFKA: Final = "kafka://"


def open_log(address: str | PathLike[str], *, sync: bool = True) -> Log:
    """Return the log at an address: a folder, or `kafka://HOST:PORT,HOST:PORT`."""
    from whence.lineage.log.directory import DirectoryLog

    return DirectoryLog(Path(address).absolute(), sync)
