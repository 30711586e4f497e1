"""Real nodes in one process, each with its own clock and socket: links follow who is alive."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from whence.diagnostics import UsageError
from whence.network.protocols.library import protocol_path
from whence.network.real import RealNode
from whence.network.transport.book import Book

pytestmark = pytest.mark.network

SECRET = b"a secret of real nodes"
LINKS = [("a", "b", 1), ("b", "c", 1), ("a", "c", 5)]
TEXT = protocol_path("path_vector").read_text(encoding="utf-8")


class Nodes:
    """Nodes by name, which take turns."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.live: dict[str, RealNode] = {}
        held = {name: socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for name in "abc"}
        for opened in held.values():
            opened.bind(("127.0.0.1", 0))
        both = [*LINKS, *((target, source, cost) for source, target, cost in LINKS)]
        self.book = Book({n: opened.getsockname() for n, opened in held.items()}, tuple(both))
        for opened in held.values():
            opened.close()

    def start(self, name: str) -> RealNode:
        made = RealNode(name, self.book, SECRET, beat=0.05, silence=0.6, **self.options)
        self.live[name] = made
        return made

    def until(self, done: Callable[[], bool], seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, "not done in time"
            for node in self.live.values():
                turn = time.monotonic() + 0.005
                node.run(lambda turn=turn: time.monotonic() > turn)  # type: ignore[misc]

    def routes(self, name: str) -> dict[str, int]:
        answer = self.live[name].do({"do": "rows", "relation": "shortestPath"})
        rows: Any = answer["rows"]
        return {target: cost for _, target, _, cost in rows if target != name}


@contextmanager
def running(names: str = "abc", **options: Any) -> Iterator[Nodes]:
    nodes = Nodes(**options)
    try:
        for name in names:
            nodes.start(name)
        yield nodes
    finally:
        for node in nodes.live.values():
            node.close()


@pytest.mark.parametrize("options", [{}, {"ride": True}, {"scheme": "relative"}], ids=str)
def test_a_network_finds_routes_loses_a_node_and_takes_it_back(options: dict[str, Any]) -> None:
    with running(**options) as nodes:
        assert nodes.live["a"].do({"do": "announce", "name": "pv", "text": TEXT}) == {}
        nodes.until(lambda: nodes.routes("a") == {"b": 1, "c": 2})
        nodes.until(lambda: nodes.routes("c") == {"a": 2, "b": 1})
        nodes.live.pop("b").close()
        nodes.until(lambda: nodes.routes("a") == {"c": 5} and nodes.routes("c") == {"a": 5})
        nodes.start("b")
        if options.get("ride"):  # it is told with the first tuples
            nodes.until(lambda: nodes.live["b"].node.installed.programs != {})
        nodes.until(lambda: nodes.routes("a") == {"b": 1, "c": 2})
        nodes.until(lambda: nodes.routes("b") == {"a": 1, "c": 1})
        nodes.live["c"].do({"do": "withdraw", "name": "pv"})
        nodes.until(lambda: all(not n.node.installed.programs for n in nodes.live.values()))


def test_links_without_a_column_for_costs_are_pairs() -> None:
    text = (
        "materialize(#link, infinity, infinity, keys(1,2)).\n"
        "materialize(near, infinity, infinity, keys(1,2)).\n"
        "near(@X, Y) :- #link(@X, Y).\n"
    )
    with running("ab") as nodes:
        nodes.live["b"].do({"do": "announce", "name": "p", "text": text})
        near = {"do": "rows", "relation": "near"}
        nodes.until(lambda: nodes.live["a"].do(near) == {"rows": [["a", "b"]]})
        stats: Any = nodes.live["a"].stats()
        assert stats["alive"] == ["b"]
        assert stats["programs"] == ["p"]
        assert stats["datagrams"]["sent"] > 0


def test_tuples_for_nodes_that_do_not_exist_go_nowhere() -> None:
    text = (
        "materialize(e, infinity, infinity, keys(1,2)).\n"
        "materialize(p, infinity, infinity, keys(1,2)).\n"
        "fullyConnected.\n"
        "p(@Y, X) :- e(@X, Y).\n"
    )
    with running("a") as nodes:
        node = nodes.live["a"]
        node.do({"do": "announce", "name": "p", "text": text})
        for target in ("nobody", "somebody"):
            node.do({"do": "insert", "relation": "e", "row": ["a", target]})
        assert node.transport.counters.dropped == 2
        assert node.do({"do": "stop"}) == {}
        node.run()
        assert node.stopped


def test_schemes_and_ways_to_ship_must_be_known_and_fit() -> None:
    for options, code in (
        ({"scheme": "magic"}, "W1359"),
        ({"ship": "magic"}, "W1361"),
        ({"scheme": "counting", "ship": "lazy"}, "W1425"),
    ):
        with pytest.raises(UsageError) as raised:
            Nodes(**options).start("a")
        assert raised.value.diagnostics[0].code == code
    with running("a", scheme="dred", ship="auto") as nodes:
        assert nodes.live["a"].node.scheme.name == "dred"
