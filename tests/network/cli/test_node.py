"""`whence net node` and what it shares with others: address books, secrets, signs of life."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from whence.app.cli import app
from whence.app.cli.net.live import LiveNetwork
from whence.app.net.outcome import Point
from whence.diagnostics import DataError, UsageError
from whence.network.clock import SimulatedClock
from whence.network.monitor import Monitor
from whence.network.topology.catalogue import make
from whence.network.transport.book import (
    SECRET_VARIABLE,
    Book,
    book_of,
    read_book,
    read_secret,
    write_book,
)
from whence.network.transport.quality import Quality, uniform
from whence.network.transport.reliable import ReliableTransport
from whence.network.transport.simulated import SimulatedTransport


def test_a_book_is_read_as_it_was_written(tmp_path: Path) -> None:
    topology = make("ring", 4)
    places = {name: ("127.0.0.1", 4000 + i) for i, name in enumerate(topology.nodes)}
    book = book_of(topology, places)
    write_book(book, tmp_path / "book.json")
    assert read_book(tmp_path / "book.json") == book
    assert book.links_of("n0") == [("n0", "n1", 1), ("n0", "n3", 1)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"nodes": {}}',
        '{"nodes": {"a": "here"}}',
        '{"nodes": {"a": "127.0.0.1:0"}}',
        '{"nodes": {"a": "127.0.0.1:99999"}}',
        '{"nodes": {"a": 5}}',
        '{"nodes": {"a": "h:1", "b": "h:1"}}',
        '{"nodes": {"a": "h:1"}, "links": {}}',
        '{"nodes": {"a": "h:1"}, "links": [["a", "b", 1]]}',
        '{"nodes": {"a": "h:1"}, "links": [["a"]]}',
        '{"nodes": {"a": "h:1"}, "secret": "x"}',
        "[" * 100_000,
    ],
    ids=lambda text: text[:40] or "empty",
)
def test_what_is_no_book_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "book.json"
    path.write_text(text)
    with pytest.raises(DataError) as raised:
        read_book(path)
    assert raised.value.diagnostics[0].code == "W1411"


@given(st.binary(max_size=40))
def test_a_secret_is_long_enough_or_refused(tmp_path_factory: Any, secret: bytes) -> None:
    path = tmp_path_factory.mktemp("secret") / "secret"
    path.write_bytes(secret + b"\n")
    if len(secret.strip()) >= 16:
        assert read_secret(path) == secret.strip()
    else:
        with pytest.raises(UsageError) as raised:
            read_secret(path)
        assert raised.value.diagnostics[0].code == "W1412"


def test_a_secret_may_be_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, "sixteen bytes or more")
    assert read_secret(None) == b"sixteen bytes or more"
    monkeypatch.delenv(SECRET_VARIABLE)
    with pytest.raises(UsageError):
        read_secret(None)


def test_a_neighbour_that_is_silent_is_down_and_up_again_when_heard() -> None:
    clock = SimulatedClock()
    links = SimulatedTransport(clock, uniform(Quality(0.01)))
    transport = ReliableTransport(links, clock)
    for name in "ab":
        transport.attach(name, lambda source, payload: None)
    told: list[str] = []
    monitor = Monitor(
        clock,
        transport,
        "a",
        ["b"],
        lambda peer: told.append(f"+{peer}"),
        lambda peer: told.append(f"-{peer}"),
        beat=0.5,
        silence=2.0,
    )
    clock.run_until(3)
    assert told == ["+b"]
    links.fail_node("b")
    clock.run_until(4.4)
    assert told == ["+b"]
    clock.run_until(6)
    assert told == ["+b", "-b"]
    links.restore_node("b")
    clock.run_until(8)
    assert told == ["+b", "-b", "+b"]
    monitor.restarted("b")
    assert told == ["+b", "-b", "+b", "-b", "+b"]
    monitor.stop()
    links.fail_node("b")
    clock.run_until(20)
    assert len(told) == 5


def secret_and_book(folder: Path, book: Book) -> list[str]:
    write_book(book, folder / "book.json")
    (folder / "secret").write_text("a secret of some length")
    return ["--book", str(folder / "book.json"), "--secret", str(folder / "secret")]


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port


def test_mistakes_of_a_node_are_told(tmp_path: Path) -> None:
    options = secret_and_book(tmp_path, Book({"a": ("127.0.0.1", free_port())}))
    for args, code in (
        (["z", *options], "W1422"),
        (["a", *options, "--scheme", "magic"], "W1359"),
        (["a", *options, "--program", "pathvector"], "W1460"),
        (["a", *options[:2]], "W1412"),
    ):
        result = CliRunner().invoke(app, ["net", "node", *args], env={SECRET_VARIABLE: ""})
        assert result.exit_code == 2
        assert code in result.output
        assert "Traceback" not in result.output


@pytest.mark.network
def test_a_node_does_what_lines_of_json_say(tmp_path: Path) -> None:
    options = secret_and_book(tmp_path, Book({"a": ("127.0.0.1", free_port())}))
    program = tmp_path / "p.ndlog"
    program.write_text(
        "materialize(e, infinity, infinity, keys(1,2)).\n"
        "materialize(p, infinity, infinity, keys(1,2)).\n"
        "p(@X, Y) :- e(@X, Y).\nQuery p(@X, Y).\n"
    )
    table = "materialize(e, infinity, infinity, keys(1,2))."
    lines: list[Any] = [
        {"do": "insert", "relation": "e", "row": ["a", [1, "x"]]},
        {"do": "rows", "relation": "p"},
        {"do": "delete", "relation": "e", "row": ["a", [1, "x"]]},
        {"do": "rows", "relation": "p"},
        {"do": "insert", "relation": "nothing", "row": ["a"]},
        {"do": "insert", "relation": "e", "row": ["a"]},
        {"do": "delete", "relation": "e", "row": "a"},
        {"do": "insert", "relation": "e", "row": ["a", {"x": None}]},
        {"do": ["insert"]},
        {"do": "announce", "name": "q", "text": "wrong("},
        {"do": "announce", "name": "q", "text": "r(@X, Y) :- e(@X, Y)."},
        {"do": "announce", "name": "q", "text": table + "r(@X, Y) :- e(@X, Y)."},
        {"do": "dance"},
        "no command",
        {"do": "stats"},
        {"do": "stop"},
    ]
    command = [sys.executable, "-m", "whence", "net", "node", "a", *options, "--commands"]
    said = subprocess.run(
        [*command, "--program", str(program)],
        input="".join(json.dumps(line) + "\n" for line in lines) + "not json\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    answers = [json.loads(line) for line in said.stdout.splitlines()]
    assert answers[1] == {"rows": [["a", [1, "x"]]]}
    assert answers[3] == {"rows": []}
    assert all("error" in answers[i] for i in (4, 5, 6, 7, 8, 9, 10, 12, 13))
    assert answers[14]["programs"] == ["p", "q"]
    assert "Traceback" not in said.stderr


@pytest.mark.network
def test_two_nodes_print_what_they_find_until_they_are_interrupted(tmp_path: Path) -> None:
    ports = free_port(), free_port()
    book = Book(
        {"a": ("127.0.0.1", ports[0]), "b": ("127.0.0.1", ports[1])},
        (("a", "b", 3), ("b", "a", 3)),
    )
    options = secret_and_book(tmp_path, book)
    command = [sys.executable, "-m", "whence", "net", "node"]
    running = [
        subprocess.Popen(
            [*command, name, *options, "--program", "path_vector"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in "ab"
    ]
    try:
        assert running[0].stdout is not None
        line = running[0].stdout.readline()
        assert line == '+shortestPath("a", "b", ["a", "b"], 3).\n'
    finally:
        for process in running:
            process.send_signal(2)
        ends = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [130, 130]
    assert all("Traceback" not in errors for _, errors in ends)


def test_a_live_picture_shows_tuples_and_traffic() -> None:
    live = LiveNetwork(10)
    live.picture(Point(0.5, 100, 10, 1000))
    console = Console(file=io.StringIO(), width=100)
    console.print(live.picture(Point(1.5, 200, 30, 21_000)))
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert "1.50 s of the network" in said
    assert "200 tuples" in said
    assert "2.00 KB/s per node" in said


def test_a_live_picture_is_drawn_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with LiveNetwork(2, enabled=True) as live:
        drawn = deque[Point]()
        picture = live.picture
        monkeypatch.setattr(live, "picture", lambda point: (drawn.append(point), picture(point))[1])
        for step in range(20):
            now[0] = step / 10
            live.on_point(Point(now[0], step, step, step))
        assert 3 <= len(drawn) <= 6
    with LiveNetwork(2, enabled=False) as off:
        now[0] = 100.0
        off.on_point(Point(1, 1, 1, 1))
        assert off._live is None
