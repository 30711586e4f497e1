"""Limits on time, memory and tuples, checked between chunks; and the way to stop worker threads."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

from whence.diagnostics import Diagnostic, LimitError
from whence.engine.base import Limits
from whence.engine.local.compile import WORK_WORTH_COMPILING
from whence.engine.local.warm import prepare_kernels

_MEMORY_EVERY = 0.02
"""Seconds between two looks at the resident memory."""

_STATM = Path("/proc/self/statm")
_PAGE = resource.getpagesize()


def resident_bytes() -> int:
    """Return the resident memory of the process, its peak where the system does not say."""
    try:
        return int(_STATM.read_bytes().split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return peak_bytes()


def peak_bytes() -> int:
    """Return the highest resident memory of the process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class Stopped(Exception):
    """A worker thread ends because the evaluation is over."""


class Guard:
    """Raises `LimitError` from `check` once a limit is passed; compiles kernels once work is."""

    __slots__ = (
        "_compiled",
        "_deadline",
        "_limits",
        "_look",
        "_memory",
        "_tuples",
        "prepared",
        "stopped",
        "tuples",
        "work",
    )

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._memory = limits.max_memory
        self._tuples = limits.max_tuples
        self._compiled = False
        self.tuples = 0
        self.work = 0
        self.prepared = 0.0
        self.restart()

    def restart(self) -> None:
        """Begin the time limit anew, for the next transaction."""
        now = time.perf_counter()
        limits = self._limits
        self._deadline = None if limits.timeout is None else now + limits.timeout
        self._look = now
        self.stopped = False

    def check(self) -> None:
        """Raise when a limit is passed, or when the evaluation was stopped from another thread."""
        if self.stopped:
            raise Stopped
        if not self._compiled and self.work > WORK_WORTH_COMPILING:
            self._compiled = True
            self.prepared += prepare_kernels()
        if self._tuples is not None and self.tuples > self._tuples:
            raise _error(
                "W0704",
                f"more than {self._tuples:,} tuples were derived",
                "raise `--max-tuples`, or ask for less with `whence query`",
            )
        if self._deadline is None and self._memory is None:
            return
        now = time.perf_counter()
        if self._deadline is not None and now > self._deadline:
            raise _error(
                "W0702",
                f"the evaluation took longer than {self._limits.timeout:g} s",
                "raise `--timeout`; a recursion through arithmetic may never end",
            )
        if self._memory is not None and now >= self._look:
            self._look = now + _MEMORY_EVERY
            used = resident_bytes()
            if used > self._memory:
                raise _error(
                    "W0703",
                    f"the evaluation used {used / 2**20:,.0f} MiB, "
                    f"more than the {self._memory / 2**20:,.0f} MiB allowed",
                    "raise `--max-memory`, or ask for less with `whence query`",
                )


def _error(code: str, message: str, hint: str) -> LimitError:
    return LimitError(Diagnostic(code, message, hint=hint, notes=("nothing was written",)))
