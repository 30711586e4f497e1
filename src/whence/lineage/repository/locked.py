"""DuckDB that can do nothing but compute: no files, no network, no settings, no end of patience.

What it sees is registered as Arrow, so questions may come from anybody.
"""

from __future__ import annotations

import contextlib
import threading
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

TIMEOUT: Final = 60.0
MEMORY: Final = "2GB"


@contextlib.contextmanager
def locked(
    *, timeout: float = TIMEOUT, memory: str = MEMORY
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a connection that is locked down; what takes longer than `timeout` is broken off."""
    try:
        import duckdb
    except ImportError:
        raise faults.missing_extra("duckdb", "this question") from None
    connection = duckdb.connect(":memory:", config={**_CONFIG, "memory_limit": memory})
    timer = threading.Timer(timeout, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield connection
    except duckdb.InterruptException:
        raise faults.too_long(timeout) from None
    finally:
        timer.cancel()
        timer.join()
        connection.close()


def reason(fault: Exception) -> str:
    """Return the first line of what DuckDB says, to be read within a line."""
    text = str(fault).split("\n")[0]
    _, mark, rest = text.partition("Error: ")
    said = rest if mark else text
    # `SELECT clause …` begins with a word that is written so.
    return said if said[1:2].isupper() else said[:1].lower() + said[1:]
