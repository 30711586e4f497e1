"""Kill an executor in the middle of a task: at a gate, where the task waits to be killed.

A gate is a folder. The first task that comes to it writes its process number there and waits; the
driver looks at what is running, kills the executor of that process, and opens the gate.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECONDS = 300.0


def pass_gate(folder: str) -> None:
    """Wait at the gate to be killed, unless that has happened already."""
    here = Path(folder)
    if (here / "open").exists():
        return
    with contextlib.suppress(FileExistsError):
        with open(here / f"{os.getpid()}.new", "x") as out:
            out.write(str(os.getpid()))
        with contextlib.suppress(FileExistsError):
            os.link(here / f"{os.getpid()}.new", here / "reached")
    end = time.monotonic() + SECONDS
    while not (here / "open").exists():
        if time.monotonic() > end:
            raise TimeoutError("nobody opened the gate")
        time.sleep(0.02)


@dataclass(slots=True)
class Kill:
    """What was there when the executor was killed."""

    executor: int = 0
    stages: dict[int, int] = field(default_factory=dict)
    """How many tasks each stage was running."""
    fault: str = ""


@contextlib.contextmanager
def killing(spark: Any, folder: Path) -> Iterator[Kill]:
    """Kill the executor of the first task that comes to the gate while the block runs."""
    kill, over = Kill(), threading.Event()
    thread = threading.Thread(target=_kill, args=(spark, folder, kill, over), daemon=True)
    thread.start()
    try:
        yield kill
    finally:
        over.set()
        thread.join(10)


def _kill(spark: Any, folder: Path, kill: Kill, over: threading.Event) -> None:
    context = spark.sparkContext
    try:
        while not (folder / "reached").exists():
            if over.wait(0.02):
                kill.fault = "no task came to the gate"
                return
        kill.stages = _running(context)
        pid = executor_of(int((folder / "reached").read_text()), context.applicationId)
        os.kill(pid, signal.SIGKILL)
        kill.executor = pid
    except Exception as error:
        kill.fault = f"{type(error).__name__}: {error}"
    finally:
        (folder / "open").touch()


def _running(context: Any) -> dict[int, int]:
    """Return how many tasks stages run, once Spark knows of the one that waits at the gate."""
    tracker = context.statusTracker()
    end = time.monotonic() + 60.0
    while True:
        stages = map(tracker.getStageInfo, tracker.getActiveStageIds())
        found = {stage.stageId: stage.numActiveTasks for stage in stages if stage is not None}
        if any(found.values()) or time.monotonic() > end:
            return found
        time.sleep(0.05)


def executor_of(pid: int, application: str) -> int:
    """Return the executor of an application that a Python worker belongs to."""
    while pid > 1:
        command = Path(f"/proc/{pid}/cmdline").read_text()
        if "CoarseGrainedExecutorBackend" in command and application in command:
            return pid
        text = Path(f"/proc/{pid}/stat").read_text()
        pid = int(text.rpartition(")")[2].split()[1])
    raise ProcessLookupError(f"no executor of {application}")


def attempts(spark: Any, stages: dict[int, int]) -> dict[int, tuple[int, int]]:
    """Return of each stage how often it was begun anew and how many tasks failed."""
    tracker = spark.sparkContext.statusTracker()
    found = {}
    for number in stages:
        stage = tracker.getStageInfo(number)
        if stage is not None:
            found[number] = (stage.currentAttemptId, stage.numFailedTasks)
    return found
