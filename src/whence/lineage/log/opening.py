"""Logs by their address: a folder, or brokers of Kafka."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from whence.diagnostics import Diagnostic, UsageError
from whence.lineage.log import faults
from whence.lineage.log.base import Log

if TYPE_CHECKING:
    from os import PathLike

KAFKA: Final = "kafka://"


def open_log(address: str | PathLike[str], *, sync: bool = True) -> Log:
    """Return the log at an address: a folder, or `kafka://HOST:PORT,HOST:PORT`."""
    text = os.fspath(address)
    if text.startswith(KAFKA):
        return _kafka(text.removeprefix(KAFKA).rstrip("/"))
    if "://" in text:
        raise faults.no_log(text, "it is no folder")
    from whence.lineage.log.directory import DirectoryLog

    return DirectoryLog(Path(address).absolute(), sync)


def _kafka(servers: str) -> Log:
    if not servers:
        raise faults.no_log(KAFKA, "it names no broker")
    if find_spec("confluent_kafka") is None:
        message = "a log in Kafka needs a library that is not there: `confluent-kafka`"
        hint = 'install it: `pip install "whence[kafka]"`'
        raise UsageError(Diagnostic("W1111", message, hint=hint))
    from whence.lineage.log.kafka import KafkaLog

    return KafkaLog(servers)
