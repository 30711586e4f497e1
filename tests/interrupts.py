"""A user who presses Ctrl-C just before the n-th line of some modules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Lines:
    """How many lines were run, and whether the interrupt has come."""

    def __init__(self) -> None:
        self.count = 0
        self.came = False


@contextmanager
def interrupted(line: int, *modules: str) -> Iterator[Lines]:
    """Raise KeyboardInterrupt before the n-th line that runs in these modules, and swallow it."""
    lines = Lines()

    def enter(frame: FrameType, event: str, arg: object) -> Any:
        return step if frame.f_globals.get("__name__") in modules else None

    def step(frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            lines.count += 1
            if lines.count == line:
                lines.came = True
                sys.settrace(before)
                raise KeyboardInterrupt
        return step

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield lines
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
