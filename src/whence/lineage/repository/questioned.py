"""The process in which DuckDB answers one question; `apart.py` starts it and ends it.

On stdin are a line of JSON and Arrow streams of tables, on stdout a line of JSON and, if there is
an answer, its stream. What the process may use is limited by the system, which nothing escapes.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import resource
import signal
import sys
from typing import IO, Any, Final

import pyarrow as pa

THREADS: Final = 4
_PR_SET_PDEATHSIG: Final = 1
_ROOM: Final = 1 << 30
"""Addresses that threads and libraries take besides."""


def main() -> None:
    """Answer the question on stdin."""
    given, answer = sys.stdin.buffer, sys.stdout.buffer
    asked = json.loads(given.readline())
    _end_with(asked["parent"])
    tables = {name: pa.ipc.open_stream(given).read_all() for name in asked["tables"]}
    _limit(asked, sum(table.nbytes for table in tables.values()))
    found, fault = _answer(asked, tables)
    answer.write(json.dumps(fault or {"fault": None}).encode() + b"\n")
    if found is not None:
        write_table(found, answer)
    answer.flush()


def write_table(table: pa.Table, file: IO[bytes]) -> None:
    """Write a table as a stream of Arrow."""
    with pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)


def _end_with(parent: int) -> None:
    """Have the system end this process when its parent is no more, however that ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def _limit(asked: dict[str, Any], given: int) -> None:
    """Let the system refuse more memory and more time."""
    import duckdb  # noqa: F401 - what it maps is not the question's

    with open("/proc/self/statm", encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    most = mapped + 2 * given + asked["memory"] + _ROOM
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    seconds = math.ceil(asked["timeout"] + 1) * (THREADS + 1)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def _answer(
    asked: dict[str, Any], tables: dict[str, pa.Table]
) -> tuple[pa.Table | None, dict[str, str] | None]:
    """Return the answer, or what is wrong with the question."""
    import duckdb

    from whence.lineage.repository.locked import locked, reason

    try:
        with locked(memory=f"{asked['memory']}B", threads=THREADS) as connection:
            for name, table in tables.items():
                connection.register(name, table)
            if "where" in asked:
                return _filtered(connection, asked), None
            return _selected(connection, asked), None
    except (MemoryError, duckdb.OutOfMemoryException):
        return None, {"fault": "memory", "why": ""}
    except (duckdb.Error, RuntimeError, ValueError, pa.ArrowException) as fault:
        return None, {"fault": "question", "why": reason(fault)}


def _filtered(connection: Any, asked: dict[str, Any]) -> pa.Table:
    import duckdb

    # `filter` parses an expression, so no text can become another statement.
    found = connection.table("rows").filter(asked["where"])
    return found.project(duckdb.ColumnExpression(asked["place"])).to_arrow_table()


def _selected(connection: Any, asked: dict[str, Any]) -> pa.Table:
    import duckdb
    import pyarrow.dataset

    statements = connection.extract_statements(asked["sql"])
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ValueError("it is no single `select`")
    for name, path in asked["files"].items():
        connection.register(name, pyarrow.dataset.dataset(path, format="parquet"))
    connection.execute(asked["view"])
    return connection.sql(asked["sql"]).to_arrow_table()


if __name__ == "__main__":
    main()
