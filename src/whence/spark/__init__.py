"""Whence on Spark: the same programs over frames, and views of streams.

Names load on first use: nothing of Spark is imported before a function is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from whence.engine.spark.session import session
    from whence.spark.batch import Relations, evaluate
    from whence.spark.kafka import changes_to_kafka, updates_from_kafka
    from whence.spark.streaming.maintain import maintain
    from whence.spark.streaming.updates import updates, updates_from
    from whence.spark.streaming.views import changes, last_batch, view

_HOMES: Final = {
    "Relations": "whence.spark.batch",
    "evaluate": "whence.spark.batch",
    "changes": "whence.spark.streaming.views",
    "changes_to_kafka": "whence.spark.kafka",
    "last_batch": "whence.spark.streaming.views",
    "maintain": "whence.spark.streaming.maintain",
    "session": "whence.engine.spark.session",
    "updates": "whence.spark.streaming.updates",
    "updates_from": "whence.spark.streaming.updates",
    "updates_from_kafka": "whence.spark.kafka",
    "view": "whence.spark.streaming.views",
}

__all__ = [
    "Relations",
    "changes",
    "changes_to_kafka",
    "evaluate",
    "last_batch",
    "maintain",
    "session",
    "updates",
    "updates_from",
    "updates_from_kafka",
    "view",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'whence.spark' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
