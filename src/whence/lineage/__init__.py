"""Row-level lineage: W3C PROV streams of pipelines captured, logged, reduced, kept and asked.

Names load on first use: nothing of Spark, Numba, DuckDB or Arrow is imported before.
"""

from __future__ import annotations

from typing import Final

_HOMES: Final = {
    "EDGES": "whence.lineage.events",
    "Kind": "whence.lineage.events",
    "Log": "whence.lineage.log.base",
    "Topic": "whence.lineage.log.base",
    "open_log": "whence.lineage.log.opening",
    "Repository": "whence.lineage.repository.repository",
    "trace": "whence.lineage.capture.tracer",
}

__all__ = ["EDGES", "Kind", "Log", "Topic", "open_log", "Repository", "trace"]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'whence.lineage' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
