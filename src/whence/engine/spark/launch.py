"""The JVM of a command: nothing of what it says reaches the terminal, and it can be ended any time.

PySpark's own way to start a JVM gives it away only once it runs, and leaves it behind when it is
interrupted before. A gateway that is there already is taken by PySpark from the environment, as it
is under spark-submit; so we start the same script and wait for the same file ourselves.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from whence.engine.spark.interrupt import Interrupt

_EVERY = 0.05
"""Seconds between two looks at whether the JVM runs."""

_GRACE = 10.0
"""Seconds that the JVM has to tidy up, before it is killed."""

_KEPT = 1 << 14
"""Bytes at the end of what the JVM said that are looked at."""


class NotStarted(Exception):
    """The JVM ended before it could be talked to; the lines are what it said."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__(*lines)
        self.lines = lines


class Launch:
    """A JVM with Spark that this process starts and ends."""

    def __init__(self, interrupt: Interrupt, *, shown: bool = False) -> None:
        self._interrupt = interrupt
        self._process: subprocess.Popen[bytes] | None = None
        self._shown = shown
        self._said: IO[bytes] | None = None

    def gateway(self, settings: Iterable[tuple[str, str]]) -> Any:
        """Start the JVM with settings of Spark's, and return PySpark's line to it."""
        from pyspark.java_gateway import launch_gateway

        self._interrupt.check()
        if not self._shown:  # a file without a name: whatever becomes of us, nothing is left
            self._said = tempfile.TemporaryFile()  # noqa: SIM115
        with tempfile.TemporaryDirectory(prefix="whence-jvm-") as folder:
            info = Path(folder, "gateway")
            self._process = self._start(settings, info)
            while not info.is_file():  # it appears whole, by a rename
                if self._process.poll() is not None:
                    raise NotStarted(self.said())
                if self._interrupt.noted:
                    self.end()
                    raise KeyboardInterrupt
                time.sleep(_EVERY)
            port, secret = _read(info.read_bytes())
        given = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
        with _environment(given):
            gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
        gateway.proc = self._process  # as PySpark does it: the JVM ends when this pipe does
        return gateway

    def end(self) -> None:
        """End the JVM, at once if it does not do so itself when told."""
        process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def close(self) -> None:
        """Forget what the JVM said."""
        if self._said is not None:
            self._said.close()
            self._said = None

    def said(self) -> tuple[str, ...]:
        """Return the last lines that the JVM said, without the places in its code."""
        if self._said is None:
            return ()
        handle = self._said.fileno()
        # The JVM writes at the offset that we share with it, so it must not be moved.
        text = os.pread(handle, _KEPT, max(0, os.fstat(handle).st_size - _KEPT))
        lines = (line.strip() for line in text.decode("utf-8", "replace").splitlines())
        return tuple(line for line in lines if line and not line.startswith("at "))[-8:]

    def _start(self, settings: Iterable[tuple[str, str]], info: Path) -> subprocess.Popen[bytes]:
        from pyspark.find_spark_home import _find_spark_home

        command = [str(Path(_find_spark_home(), "bin", "spark-submit"))]
        for key, value in settings:
            command += ["--conf", f"{key}={value}"]
        command += shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        said = 2 if self._said is None else self._said  # stdout is for outputs only
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=said,
            env={
                **os.environ,
                "SPARK_CONNECT_MODE": "0",
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(info),
            },
            preexec_fn=_ignore_interrupts,
        )


def _ignore_interrupts() -> None:
    """Leave it to us what an interrupt from the terminal means; runs in the child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _read(info: bytes) -> tuple[int, str]:
    """Return the port of a gateway and its secret.

    >>> _read(bytes([0, 0, 1, 2, 0, 0, 0, 2]) + b"ab")
    (258, 'ab')
    """
    port, size = struct.unpack_from(">ii", info)
    return port, info[8 : 8 + size].decode()


@contextlib.contextmanager
def _environment(given: Mapping[str, str]) -> Iterator[None]:
    os.environ.update(given)
    try:
        yield
    finally:
        for name in given:
            os.environ.pop(name, None)
