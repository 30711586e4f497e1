"""A question to DuckDB in a process of its own, which is ended when it takes too long.

A single function of DuckDB's heeds neither an interrupt nor its limit of memory: `range(300000000)`
took minutes and 15 GB. A process can be killed, and the system refuses it memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Final

import pyarrow as pa

from whence.diagnostics import WhenceError
from whence.lineage.repository import faults
from whence.lineage.repository.questioned import write_table

TIMEOUT: Final = 60.0
MEMORY: Final = 2 << 30

_ENVIRONMENT: Final = {
    # Neither library is to reserve addresses for many threads: they are limited.
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}


def ask_apart(
    question: Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    wrong: Callable[[str], WhenceError],
    *,
    timeout: float = TIMEOUT,
    memory: int = MEMORY,
) -> pa.Table:
    """Return the answer to a question about tables; `wrong` makes the error of one that is none.

    The limits are hard: whatever the question is, there is an answer or an error in that time.
    """
    if find_spec("duckdb") is None:
        raise faults.missing_extra("duckdb", "this question")
    limits = {"timeout": timeout, "memory": memory, "parent": os.getpid()}
    asked = {**question, "tables": list(tables), **limits}
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(
        [sys.executable, "-m", "whence.lineage.repository.questioned"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **_ENVIRONMENT, **paths},
    ) as process:
        timer = threading.Timer(timeout, process.kill)
        timer.daemon = True
        timer.start()
        try:
            told, found = _exchange(process, asked, tables)
        except (OSError, ValueError, pa.ArrowException):  # it ended before it was done
            told, found = {"fault": "ended"}, None
        finally:
            late = not timer.is_alive()
            timer.cancel()
            process.kill()
            assert process.stdin is not None
            with contextlib.suppress(OSError):  # what it did not read goes nowhere
                process.stdin.close()
    if told["fault"] is None and found is not None:
        return found
    if told["fault"] == "question":
        raise wrong(told["why"])
    raise faults.too_long(timeout) if late else faults.too_much(memory)


def _exchange(
    process: subprocess.Popen[bytes], asked: Mapping[str, Any], tables: Mapping[str, pa.Table]
) -> tuple[dict[str, Any], pa.Table | None]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    for table in tables.values():
        write_table(table, process.stdin)
    process.stdin.flush()
    told: dict[str, Any] = json.loads(process.stdout.readline())
    found = pa.ipc.open_stream(process.stdout).read_all() if told["fault"] is None else None
    return told, found
