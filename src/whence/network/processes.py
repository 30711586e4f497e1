"""Many real nodes on this machine, each a process of its own: started, asked, killed, watched.

Each is `whence net node` with commands on its standard input, one line of JSON each, and an answer
to each on its standard output. Nodes end when their input does, so none outlives who started it.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from whence.diagnostics import DataError, Diagnostic, LimitError
from whence.network.model import Row
from whence.network.topology.model import Topology, neighbours
from whence.network.transport.book import book_of, write_book

ANSWER: Final = 120.0
"""Seconds in which a node that is alive answers, however busy the machine is."""


class Processes:
    """The nodes of a topology as processes on loopback."""

    def __init__(
        self,
        program: Path,
        topology: Topology,
        *,
        options: Iterable[str] = (),
        announce: bool = False,
    ) -> None:
        """Take a program; with `announce` only the first node has it, and the others are told.

        `options` are passed on to each `whence net node`.
        """
        self.topology = topology
        self._program = program.absolute()
        self._options = tuple(options)
        self._announce = announce
        self._folder = tempfile.TemporaryDirectory(prefix="whence-net-")
        self._sockets: dict[str, socket.socket] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._unread: dict[str, bytes] = {}
        self._logs: dict[str, Path] = {}

    def __enter__(self) -> Processes:
        try:
            self._open()
            for name in self.topology.nodes:
                self.start(name)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _open(self) -> None:
        """Open the sockets here and write the book: so no port is taken by someone else."""
        for name in self.topology.nodes:
            opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._sockets[name] = opened
            opened.bind(("127.0.0.1", 0))
        places = {name: opened.getsockname() for name, opened in self._sockets.items()}
        folder = Path(self._folder.name)
        write_book(book_of(self.topology, places), folder / "book.json")
        secret = os.open(folder / "secret", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(secret, "wb") as file:
            file.write(secrets.token_hex(32).encode())

    def start(self, name: str) -> None:
        """Start the node of a name, or start it again."""
        folder = Path(self._folder.name)
        opened = self._sockets[name]
        told = self._announce and name != self.topology.nodes[0]
        command = [sys.executable, "-m", "whence", "net", "node", name]
        command += ["--book", str(folder / "book.json"), "--secret", str(folder / "secret")]
        command += [] if told else ["--program", str(self._program)]
        command += ["--announce"] if self._announce and not told else []
        command += ["--socket", str(opened.fileno()), "--commands", *self._options]
        self._logs[name] = folder / f"{self.topology.nodes.index(name)}.log"
        with open(self._logs[name], "wb") as errors:
            self._running[name] = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                pass_fds=(opened.fileno(),),
            )
        self._unread[name] = b""

    @property
    def places(self) -> Mapping[str, tuple[str, int]]:
        """Return where nodes are."""
        return {name: opened.getsockname() for name, opened in self._sockets.items()}

    @property
    def alive(self) -> list[str]:
        """Return the nodes whose processes run."""
        return [name for name, process in self._running.items() if process.poll() is None]

    def kill(self, name: str) -> None:
        """Kill a node: it has no time to tell anybody."""
        process = self._running.pop(name)
        process.kill()
        _end(process)

    def signal(self, name: str, number: int) -> None:
        """Send a signal to the process of a node."""
        self._running[name].send_signal(number)

    def ask(self, command: Mapping[str, object], *names: str) -> dict[str, dict[str, Any]]:
        """Give a command to some nodes, or all; return their answers."""
        asked = names or tuple(self._running)
        line = json.dumps(command).encode() + b"\n"
        for name in asked:
            pipe = self._running[name].stdin
            assert pipe is not None
            try:
                pipe.write(line)
                pipe.flush()
            except OSError:
                raise self._died(name) from None
        return {name: self._answer(name) for name in asked}

    def rows(self, relation: str) -> set[Row]:
        """Return the tuples of a relation at all nodes that run."""
        answers = self.ask({"do": "rows", "relation": relation})
        return {_frozen(row) for answer in answers.values() for row in answer["rows"]}

    def stats(self) -> dict[str, dict[str, Any]]:
        """Return the counters of each node."""
        return self.ask({"do": "stats"})

    def wait(
        self,
        *,
        quiet: float = 1.0,
        timeout: float = 120.0,
        until: float | None = None,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """Wait until a time, or until tuples have not moved for `quiet` seconds; `look` often.

        Nodes are not quiet before they know which of their neighbours run.
        """
        begun = since = time.monotonic()
        around = neighbours(self.topology)
        last: object = None
        while time.monotonic() - begun < (timeout if until is None else until):
            stats = self.stats()
            now = time.monotonic()
            running = set(stats)
            state = {
                name: (one["updates_sent"], one["updates_received"], one["rows"])
                for name, one in stats.items()
            }
            settled = all(
                one["idle"]
                and set(one["alive"]) == {a.target for a in around[name] if a.target in running}
                for name, one in stats.items()
            )
            if state != last or not settled:
                last, since = state, now
            elif until is None and now - since >= quiet:
                return
            look()
            time.sleep(min(0.1, quiet / 4))
        if until is None:
            message = f"the nodes have not come to rest in {timeout:g} seconds"
            raise LimitError(Diagnostic("W1413", message))

    def stop(self) -> None:
        """End all nodes and remove what they shared."""
        for process in self._running.values():
            process.kill()
        for process in self._running.values():
            _end(process)
        self._running.clear()
        for opened in self._sockets.values():
            opened.close()
        self._folder.cleanup()

    def _answer(self, name: str) -> dict[str, Any]:
        pipe = self._running[name].stdout
        assert pipe is not None
        end = time.monotonic() + ANSWER
        while b"\n" not in self._unread[name]:
            left = end - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                raise self._died(name)
            part = os.read(pipe.fileno(), 1 << 16)
            if not part:
                raise self._died(name)
            self._unread[name] += part
        line, _, self._unread[name] = self._unread[name].partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _died(self, name: str) -> DataError:
        code = self._running[name].poll()
        what = "does not answer" if code is None else f"has ended with code {code}"
        said = self._logs[name].read_text(encoding="utf-8", errors="replace")
        notes = tuple(said.strip().splitlines()[-8:])
        return DataError(Diagnostic("W1414", f"the process of node `{name}` {what}", notes=notes))


def _end(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):  # it had not read everything
                pipe.close()


def _frozen(row: list[Any]) -> Row:
    return tuple(_frozen(value) if isinstance(value, list) else value for value in row)
