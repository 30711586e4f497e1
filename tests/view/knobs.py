"""Constants that only tests turn, so that small views take the ways of large ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

import whence.view.live
from whence.engine.local import live

Settings = Mapping[str, int]


def _homes(name: str) -> list[ModuleType]:
    """The modules of views and of the engine that know something by this name."""
    wanted = ("whence.view.", "whence.engine.local.")
    modules = [m for n, m in list(sys.modules.items()) if n.startswith(wanted)]
    found = [module for module in modules if hasattr(module, name)]
    assert found, f"there is no {name} any more: is another knob to be turned?"
    return found


def _now(name: str) -> Any:
    return getattr(_homes(name)[0], name)


KNOBS: dict[str, tuple[int, ...]] = {
    "chunk": (_now("CHUNK"), 3),  # rows that go through a rule at a time
    "compact": (_now("COMPACT_FLOOR"), 1, 5),  # dead rows that are put up with
    "dense": (live._DENSE_FLOOR, 0),  # entries of a table from tuples to rows
    "reclaim": (_now("_RECLAIM")[0], 1),  # times the values at first until they are reclaimed
    "thread": (_now("_WORTH_A_THREAD"), 1),  # heads that are worth a thread
    "turns": (0, 1, 2),  # batches until `auto` takes the other strategy, 0 by what they cost
    "patience": (0, 1, 2, 4),  # checks until `auto` finds a strategy too slow, 0 for ever
}
"""The values of each; the first is the one in use."""

CONSTANTS = {
    "chunk": "CHUNK",
    "compact": "COMPACT_FLOOR",
    "thread": "_WORTH_A_THREAD",
}


@contextmanager
def turned(settings: Settings) -> Iterator[None]:
    """Turn knobs for a while."""
    patches = [
        patch.object(module, constant, settings[knob])
        for knob, constant in CONSTANTS.items()
        if knob in settings
        for module in _homes(constant)
    ]
    patches.append(patch.object(_now("Rules"), "check", _impatient(settings.get("patience", 0))))
    if settings.get("turns"):
        patches.append(patch.object(_now("Choice"), "pick", _in_turns(settings["turns"])))
    if settings.get("reclaim") == 1:
        patches.append(patch.object(whence.view.live, "_RECLAIM", (1, 1)))
    if settings.get("dense") == 0:
        patches += [patch.object(live, "_DENSE_FLOOR", 0), patch.object(live, "_DENSE_PER_ROW", 0)]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in reversed(patches):
            each.stop()


def _in_turns(every: int) -> Callable[..., tuple[str, float]]:
    """A choice that goes by the number of batches, so that it is the same every time."""
    calls = 0

    def pick(choice: Any, gone: int, new: int) -> tuple[str, float]:
        nonlocal calls
        calls += 1
        return ("ranked", "recompute")[calls // every % 2], 1e9

    return pick


def _impatient(patience: int) -> Callable[[Any], None]:
    """A check that breaks off every so many times, where a deadline allows it."""
    check = _now("Rules").check
    too_slow = _now("TooSlow")
    calls = 0

    def impatient(rules: Any) -> None:
        nonlocal calls
        check(rules)
        if patience and rules.deadline is not None:
            calls += 1
            if calls % patience == 0:
                raise too_slow

    return impatient
