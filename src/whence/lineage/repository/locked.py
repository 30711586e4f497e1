"""DuckDB that can do nothing but compute: no files, no network, no settings.

What it sees is registered as Arrow, so questions may come from anybody. How long they take and
what memory they need it only limits now and then, so `apart.py` has a process for them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from whence.lineage.repository import faults

if TYPE_CHECKING:
    import duckdb

_CONFIG: Final[dict[str, str | bool | int | float | list[str]]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",  # else names of Python's variables are tables
    "temp_directory": "",
    "lock_configuration": "true",
}


@contextlib.contextmanager
def locked(*, memory: str, threads: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection that is locked down."""
    try:
        import duckdb
    except ImportError:
        raise faults.missing_extra("duckdb", "this question") from None
    limits = {"memory_limit": memory, "threads": str(threads)}
    connection = duckdb.connect(":memory:", config={**_CONFIG, **limits})
    try:
        yield connection
    finally:
        connection.close()


def reason(fault: Exception) -> str:
    """Return the first line of what DuckDB says, to be read within a line."""
    text = str(fault).split("\n")[0]
    _, mark, rest = text.partition("Error: ")
    said = rest if mark else text
    # `SELECT clause …` begins with a word that is written so.
    return said if said[1:2].isupper() else said[:1].lower() + said[1:]
