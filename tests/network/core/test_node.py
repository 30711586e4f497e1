"""A node tells what it does, takes no harm from what it gets, and shares a processor."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import pytest

from network.core.small import network, tables
from whence.diagnostics import DataError, LimitError, UsageError
from whence.network.model import DEAD, Control
from whence.network.placement import dealt
from whence.network.protocols.library import protocol
from whence.network.simulation import Network, Settings
from whence.syntax.ndlog import parse_ndlog

TEXT = tables("e", "v") + "watch(v).\nr1 v(@Y,X) :- e(@X,Y).\n"


def test_what_is_watched_is_logged() -> None:
    net = network(TEXT, log=3)
    net.insert("e", ("a", "b"))
    net.settle()
    net.delete("e", ("a", "b"))
    net.settle()
    entries = [(e.what, e.subject, e.detail) for e in net.node("b").log.entries]
    assert entries == [("+", "v", ("b", "a")), ("-", "v", ("b", "a"))]


def test_a_node_can_be_watched_for_a_while() -> None:
    net = network(TEXT)
    heard: list[tuple[int, str, object]] = []
    traced: list[str] = []
    end = net.node("c").watch("v", lambda *change: heard.append(change))
    net.node("a").watch(None, lambda _sign, relation, _row: traced.append(relation))
    net.insert("e", ("a", "c"), ("a", "a"))
    net.settle()
    end()
    net.delete("e", ("a", "c"))
    net.settle()
    assert heard == [(1, "v", ("c", "a"))]
    assert traced == ["e", "e", "v", "e"]


def test_a_node_tells_its_numbers() -> None:
    net = network(TEXT)
    net.insert("e", ("a", "b"), ("a", "c"), ("a", "a"))
    net.settle()
    numbers = net.node("a").snapshot().as_json()
    assert numbers["rows"] == {"e": 3, "v": 1}
    assert numbers["firings"] == {"r1": 3}
    assert (numbers["updates_sent"], numbers["updates_received"]) == (2, 0)
    assert net.node("b").snapshot().updates_received == 1
    assert net.firings() == {"r1": 3}


def test_garbage_changes_nothing() -> None:
    net = network(TEXT)
    node = net.node("a")
    sender = net.node("b")
    node.receive("b", b"\xff\x00garbage")
    sender.send("a", [(1, "v", ("a",), None)])  # a column is missing
    sender.send("a", [(1, "nobody", ("a", 1), None)])
    net.settle()
    assert set(node.rows("v")) == set()
    assert [entry.what for entry in node.log.entries] == ["malformed", "malformed"]
    assert list(node.parked) == ["nobody"]


def test_messages_of_other_schemes_change_nothing() -> None:
    net = network(TEXT, scheme="absorption")
    node, sender = net.node("a"), net.node("b")
    net.insert("e", ("c", "a"))
    net.settle()
    sender.send("a", [(-1, "v", ("a", "c"), None), (1, "v", ("a", "x"), None)])
    for body in ("nonsense", 5, [["no", "variable"]]):
        sender.send("a", Control(DEAD, body))
    sender.send("a", Control("nobody knows", None))
    net.settle()
    assert set(node.rows("v")) == {("a", "c")}
    assert len(node.log.entries) >= 4


def test_values_without_an_order_do_not_stop_a_node() -> None:
    net = network(tables("e", "v") + "r v(@X,min<Y>) :- e(@X,Y).")
    net.insert("e", ("a", 2), ("a", "text"), ("a", ("a", "list")), ("a", 1))
    assert net.rows("v") == {("a", 1)}
    assert net.node("a").log.faults == {"r": 2}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_addresses_may_share_processors(count: int) -> None:
    names = [f"n{i}" for i in range(6)]
    links = [(a, b, 1) for a, b in pairwise(names)]
    links += [(b, a, c) for a, b, c in links]
    alone = Network(protocol("best_path"), names)
    shared = Network(protocol("best_path"), names, placement=dealt(names, count))
    for net in (alone, shared):
        net.insert("link", *links)
        net.settle()
    assert alone.rows("bestPath") == shared.rows("bestPath")
    assert len(shared.nodes) == count
    traffic = shared.transport.counters.sent_bytes
    assert (traffic == 0) == (count == 1)


def test_rows_of_different_addresses_are_no_rivals_on_one_processor() -> None:
    text = "materialize(s, infinity, 1, keys(2)).\nr h(@X) :- s(@X,Y)."
    net = Network(parse_ndlog(text), "ab", placement=dealt("ab", 1))
    net.insert("s", ("a", 1), ("b", 1), ("a", 2))
    assert net.rows("s") == {("a", 2), ("b", 1)}


@pytest.mark.parametrize(
    ("relation", "row", "code"),
    [("e", ("a",), "W1362"), ("e", ("z", "a"), "W1363"), ("nope", ("a", "b"), "W1364")],
)
def test_tuples_that_belong_nowhere_are_refused(
    relation: str, row: tuple[str, ...], code: str
) -> None:
    with pytest.raises(DataError, match=code):
        network(TEXT).insert(relation, row)


def test_a_network_with_timers_never_rests() -> None:
    net = network(tables("t") + "r1 t(@X,E) :- periodic(@X,E,1).")
    with pytest.raises(LimitError, match="W1365"):
        net.settle(steps=100)


@pytest.mark.parametrize(("what", "code"), [("scheme", "W1359"), ("ship", "W1361")])
def test_unknown_names_are_told(what: str, code: str) -> None:
    with pytest.raises(UsageError, match=code):
        network(TEXT, **{what: "nonsense"})


def test_a_failed_node_is_gone_with_what_it_held() -> None:
    net = network(TEXT)
    net.insert("e", ("a", "b"))
    net.settle()
    net.fail("b")
    assert net.rows("v") == set()
    net.insert("e", ("c", "b"))
    net.settle()
    assert net.transport.counters.dropped == 1


PROBE = """
from whence.network.protocols.library import protocol
from whence.network.simulation import Network, Settings
import hashlib
net = Network(protocol("chord"), "abcd", settings=Settings(seed=5))
for i, name in enumerate("abcd"):
    net.insert("env", (name, "node", i << 150), (name, "landmark", "a" if i else "NIL"))
seen = hashlib.sha256()
send = net.transport.send
def recorded(source, target, payload):
    seen.update(repr((source, target, payload, net.clock.now())).encode())
    send(source, target, payload)
net.transport.send = recorded
net.run(60)
print(seen.hexdigest(), net.transport.counters.sent)
"""


def test_the_same_seed_gives_the_same_bytes_in_every_process() -> None:
    outputs = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", PROBE],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert int(outputs[0].split()[1]) > 100
    assert Settings().seed == 0
