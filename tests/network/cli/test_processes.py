"""Real nodes as processes on loopback: they find routes, repair them, and shrug off attackers."""

from __future__ import annotations

import contextlib
import random
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from network.cli.routes import found, right, started
from whence.diagnostics import DataError
from whence.network.processes import Processes
from whence.network.topology.catalogue import make

pytestmark = pytest.mark.network


def test_five_processes_find_routes_repair_them_and_take_back_who_returns() -> None:
    topology = make("gnm:links=7,costs=9", 5, 3)
    with started(topology) as nodes:
        nodes.wait(quiet=0.5)
        assert found(nodes) == right(topology)
        nodes.kill("n1")
        nodes.wait(quiet=0.5)
        assert found(nodes) == right(topology, ["n1"])
        nodes.start("n1")
        nodes.wait(quiet=0.5)
        assert found(nodes) == right(topology)
    assert not nodes.alive


@pytest.mark.cluster
def test_twenty_processes_find_routes_and_repair_them() -> None:
    topology = make("gnm:links=35,costs=9", 20, 1)
    with started(topology) as nodes:
        nodes.wait(quiet=2.0, timeout=300)
        assert found(nodes) == right(topology)
        nodes.kill("n7")
        nodes.wait(quiet=2.0, timeout=300)
        assert found(nodes) == right(topology, ["n7"])


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--ride",)], ids=["flooded", "riding"])
def test_one_node_tells_the_program_to_all_others(options: tuple[str, ...]) -> None:
    topology = make("line", 4)
    with started(topology, *options, announce=True) as nodes:
        nodes.wait(quiet=0.5)
        assert found(nodes) == right(topology)
        nodes.ask({"do": "withdraw", "name": "path_vector"}, "n2")
        end = time.monotonic() + 20
        while any(one["programs"] for one in nodes.stats().values()):
            assert time.monotonic() < end
            time.sleep(0.1)


@pytest.mark.slow
def test_forged_replayed_and_random_datagrams_change_nothing_and_stop_nothing() -> None:
    """Whoever attacks here sees all datagrams and can send from the places of nodes."""
    topology = make("ring", 5)
    with started(topology) as nodes:
        attack = Attack(nodes)
        with attack:
            nodes.wait(quiet=0.5)
            assert found(nodes) == right(topology)
            before = nodes.rows("shortestPath")
            attack.replay = True
            end = time.monotonic() + 30
            while sum(one["replayed"] for one in nodes.stats().values()) < 100:
                assert time.monotonic() < end, "nothing was replayed"
                time.sleep(0.1)
            nodes.kill("n3")
            nodes.wait(quiet=0.5)
            assert found(nodes) == right(topology, ["n3"])
            nodes.start("n3")  # which remembers nothing of what is replayed to it
            nodes.wait(quiet=0.5)
            assert nodes.rows("shortestPath") == before
        stats = nodes.stats().values()
        assert sum(one["forged"] for one in stats) > 1000
        assert sum(one["strangers"] for one in stats) > 1000
        assert sorted(nodes.alive) == sorted(topology.nodes)


class Attack:
    """Sends garbage, changed and recorded datagrams to all nodes, until it is left."""

    def __init__(self, nodes: Processes) -> None:
        self._nodes = nodes
        self._rng = random.Random(1)
        self._over = threading.Event()
        self._stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._thread = threading.Thread(target=self._run)
        self._seen: list[tuple[socket.socket, tuple[str, int], bytes]] = []
        self.replay = False

    def __enter__(self) -> Attack:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        self._stranger.close()

    def _run(self) -> None:
        sockets = self._nodes._sockets
        by_place = {opened.getsockname(): opened for opened in sockets.values()}
        rng = self._rng
        while not self._over.wait(0.002):
            for opened in sockets.values():
                self._look(opened, by_place)
                garbage = rng.choice((b"", b"\1")) + rng.randbytes(rng.choice((0, 20, 300)))
                for sender in (self._stranger, rng.choice(list(sockets.values()))):
                    _send(sender, garbage, opened.getsockname())
            for sender, place, datagram in rng.sample(self._seen, min(len(self._seen), 5)):
                if self.replay:
                    _send(sender, datagram, place)
                changed = bytearray(datagram)
                changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
                _send(sender, bytes(changed), place)
                _send(sender, datagram[: rng.randrange(len(datagram))], place)

    def _look(self, opened: socket.socket, by_place: dict[tuple[str, int], socket.socket]) -> None:
        """Look at a datagram that waits for its node, without taking it away."""
        if len(self._seen) > 2000:
            return
        try:
            datagram, place = opened.recvfrom(65_507, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except OSError:
            return
        sender = by_place.get(place)
        if sender is not None and len(datagram) > 60:
            self._seen.append((sender, opened.getsockname(), datagram))


def _send(sender: socket.socket, datagram: bytes, place: tuple[str, int]) -> None:
    with contextlib.suppress(OSError):  # no room: as if it were lost
        sender.sendto(datagram, socket.MSG_DONTWAIT, place)


def test_a_process_that_ends_is_told_with_what_it_said() -> None:
    with Processes(Path("nowhere.ndlog"), make("line", 1)) as nodes:
        with pytest.raises(DataError) as raised:
            nodes.stats()
        told = raised.value.diagnostics[0]
        assert told.code == "W1414"
        assert "nowhere.ndlog" in " ".join(told.notes)


@pytest.mark.slow
def test_a_node_that_was_stopped_for_a_while_catches_up() -> None:
    """Its neighbours took it to be dead; it took them to be dead when it woke up."""
    topology = make("gnm:links=7,costs=9", 5, 4)
    with started(topology) as nodes:
        nodes.wait(quiet=0.5)
        nodes.signal("n1", signal.SIGSTOP)
        end = time.monotonic() + 60
        others = [name for name in topology.nodes if name != "n1"]
        while any("n1" in one["alive"] for one in nodes.ask({"do": "stats"}, *others).values()):
            assert time.monotonic() < end
            time.sleep(0.1)
        nodes.signal("n1", signal.SIGCONT)
        nodes.wait(quiet=1.0)
        assert found(nodes) == right(topology)
