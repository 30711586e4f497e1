"""Commands run in fresh processes, with their wall time and peak memory.

Linux starts a child's peak memory at that of the process it came from, so this process must stay
smaller than those it measures: it never imports NumPy, Numba or DuckDB.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

ROOT: Final = Path(__file__).parents[1]
DEADLINE: Final = 300.0
"""Seconds after which a command is stopped and counts as failed."""


class Failed(Exception):
    """A command did not do what it was asked; the message says why in one line."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one command printed and cost."""

    stdout: str
    wall_seconds: float
    peak_bytes: int


def python(*arguments: str) -> tuple[str, ...]:
    """Return a command for this Python."""
    return (sys.executable, *arguments)


def run(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    deadline: float = DEADLINE,
) -> Run:
    """Run a command to its end; raise `Failed` unless it succeeds in time."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
        )
        late = threading.Event()

        def stop() -> None:
            late.set()
            _kill(child.pid)

        timer = threading.Timer(deadline, stop)
        timer.start()
        try:
            # Popen.wait would throw away the resource usage.
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            _kill(child.pid)
            child.wait()
            raise
        finally:
            timer.cancel()
        wall = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        if late.is_set():
            raise Failed(f"took longer than {deadline:g} s")
        if child.returncode:
            raise Failed(_reason(child.returncode, _text(err)))
        peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return Run(_text(out), wall, peak)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", errors="replace")


def _reason(code: int, stderr: str) -> str:
    """Return the line that says most: the last of a traceback, else the first error."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()] or [""]
    traced = any(line.startswith("Traceback") for line in lines)
    said = lines[-1] if traced else next((x for x in lines if "rror" in x), lines[0])
    return f"exit code {code}: {said}".rstrip(": ")
