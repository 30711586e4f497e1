"""Processes that tests start and surely stop: none outlives its test, whatever becomes of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Started:
    """A process with a session of its own, so that all it starts can be found."""

    process: subprocess.Popen[bytes]
    log: Path
    command: tuple[str, ...] = field(repr=False)

    def said(self) -> str:
        """Return what it has written so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def stop(self) -> None:
        """End it and everything that it started."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            found = members(self.process.pid)
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            if wait_for(lambda: not self._lives(), 5.0):
                break
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)

    def _lives(self) -> bool:
        self.process.poll()  # a child that has ended is no longer there once it was waited for
        return bool(members(self.process.pid))


def start(command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> Started:
    """Start a command that dies with this process where the system can see to that."""
    guarded = list(command)
    if (setpriv := shutil.which("setpriv")) is not None:
        guarded = [setpriv, "--pdeathsig", "KILL", *command]
    with log.open("wb") as out:
        process = subprocess.Popen(
            guarded,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=dict(os.environ if env is None else env),
            start_new_session=True,
        )
    return Started(process, log, tuple(command))


@contextlib.contextmanager
def started(
    command: Sequence[str], log: Path, env: Mapping[str, str] | None = None
) -> Iterator[Started]:
    """Start a command and stop it at the end."""
    found = start(command, log, env)
    try:
        yield found
    finally:
        found.stop()


def members(session: int) -> list[int]:
    """Return the processes of a session that are no zombies."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has just ended
            continue
        state, _, _, its_session = text.rpartition(")")[2].split()[:4]
        if int(its_session) == session and state != "Z":
            found.append(int(folder.name))
    return found


def command_line(pid: int) -> str:
    """Return the command of a process, empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def wait_for(holds: Callable[[], object], seconds: float, pause: float = 0.05) -> bool:
    """Wait until something holds; return whether it did in time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True
