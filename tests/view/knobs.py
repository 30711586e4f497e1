"""Constants that only tests turn, so that small views take the ways of large ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from unittest.mock import patch

from whence.engine.local import live, operators
from whence.view import choice, ranked
from whence.view import live as view

KNOBS: dict[str, tuple[int, ...]] = {
    "chunk": (operators.CHUNK, 3),  # rows that go through a rule at a time
    "compact": (live.COMPACT_FLOOR, 1, 5),  # dead rows that are put up with
    "dense": (live._DENSE_FLOOR, 0),  # entries of a table from tuples to rows
    "reclaim": (view._RECLAIM[0], 1),  # times the values at first until they are reclaimed
    "thread": (ranked._WORTH_A_THREAD, 1),  # heads that are worth a thread
    "again": (choice._AGAIN, 2),  # batches until `auto` tries another strategy
    "patience": (0, 1, 2, 4),  # checks until `auto` finds a strategy too slow, 0 for ever
}
"""The values of each; the first is the one in use."""

Settings = Mapping[str, int]


@contextmanager
def turned(settings: Settings) -> Iterator[None]:
    """Turn knobs for a while."""
    patches = [
        patch.object(live, "COMPACT_FLOOR", settings.get("compact", live.COMPACT_FLOOR)),
        patch.object(ranked, "_WORTH_A_THREAD", settings.get("thread", ranked._WORTH_A_THREAD)),
        patch.object(choice, "_AGAIN", settings.get("again", choice._AGAIN)),
        patch.object(ranked.Rules, "check", _impatient(settings.get("patience", 0))),
    ]
    if settings.get("reclaim") == 1:
        patches.append(patch.object(view, "_RECLAIM", (1, 1)))
    if "dense" in settings and settings["dense"] == 0:
        patches += [patch.object(live, "_DENSE_FLOOR", 0), patch.object(live, "_DENSE_PER_ROW", 0)]
    if "chunk" in settings:
        patches += [
            patch.object(module, "CHUNK", settings["chunk"])
            for name, module in list(sys.modules.items())
            if name.startswith("whence.") and hasattr(module, "CHUNK")
        ]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in reversed(patches):
            each.stop()


def _impatient(patience: int) -> Callable[[ranked.Rules], None]:
    """A check that breaks off every so many times, where a deadline allows it."""
    check = ranked.Rules.check
    calls = 0

    def impatient(rules: ranked.Rules) -> None:
        nonlocal calls
        check(rules)
        if patience and rules.deadline is not None:
            calls += 1
            if calls % patience == 0:
                raise ranked.TooSlow

    return impatient
