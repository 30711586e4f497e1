"""Letters between tasks: secrets, rounds, spilling, peers that end, ghosts of former attempts."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight
import pytest

from whence.engine.base import Round
from whence.engine.spark.gang.endpoint import FAULTS, Access, Tls
from whence.engine.spark.gang.exchange import Exchange, Patience
from whence.engine.spark.gang.inbox import Inbox, PeerLost, PeerStopped
from whence.engine.spark.gang.rendezvous import Rendezvous, Reporter, join, tell_done

ACCESS = Access(b"a secret of sixteen")
HOST = "127.0.0.1"


@pytest.fixture
def pair() -> Iterator[tuple[Exchange, Exchange]]:
    found = connected(Patience(silence=20.0))
    yield found
    for exchange in found:
        exchange.close()


def connected(patience: Patience, access: Access = ACCESS) -> tuple[Exchange, Exchange]:
    first, second = (Exchange(i, 2, host=HOST, access=access, patience=patience) for i in (0, 1))
    for exchange in (first, second):
        exchange.connect([first.location, second.location], "token")
    return first, second


def cells(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


def test_a_round_ends_when_every_peer_has_ended_it(pair: tuple[Exchange, Exchange]) -> None:
    first, second = pair
    first.send(1, {"round": 1}, cells(1, 2, 3))
    first.end({"busy": True})
    first.send(1, {"round": 2}, cells(4))
    first.end({"busy": False})
    one = [(peer, dict(header), found.tolist()) for peer, header, found in second.receive()]
    assert one == [(0, {"round": 1}, [1, 2, 3]), (0, {"end": 1, "busy": True}, [])]
    two = [found.tolist() for _, _, found in second.receive()]
    assert two == [[4], []]


def test_a_slow_reader_keeps_no_sender_waiting(pair: tuple[Exchange, Exchange]) -> None:
    first, second = pair
    block = np.arange(1 << 20, dtype=np.int64)
    for at in range(40):  # 320 MiB, far beyond what a connection holds
        first.send(1, {"at": at}, block)
        second.send(0, {"at": at}, block)
    for exchange in pair:
        exchange.end({})
    for exchange in pair:
        assert sum(found.shape[0] for _, _, found in exchange.receive()) == 40 << 20


def test_what_does_not_fit_in_memory_waits_on_disk() -> None:
    inbox = Inbox(2, 0, limit=100, silence=5.0)
    for at in range(50):
        inbox.put(1, {"at": at}, cells(*range(at, at + 7)))
    inbox.put(1, {"end": 1}, cells())
    assert inbox.spilled > 50 * 56 - 200
    found = [(header.get("at"), values.tolist()) for _, header, values in inbox.read()]
    assert found[:-1] == [(at, list(range(at, at + 7))) for at in range(50)]
    inbox.close()


def test_a_call_without_the_secret_is_refused(pair: tuple[Exchange, Exchange]) -> None:
    for secret in (b"", b"a secret of fifteen", b"a secret of sixteen!"):
        stranger = Access(secret)
        client = stranger.connect(pair[0].location)
        with pytest.raises(flight.FlightUnauthenticatedError):
            list(client.do_action(flight.Action("join", b"{}"), stranger.options(5.0)))
        with pytest.raises(FAULTS):
            list(client.list_flights(options=stranger.options(5.0)))
        client.close()
    bare = flight.FlightClient(pair[0].location)
    with pytest.raises(flight.FlightUnauthenticatedError):
        list(bare.do_action(flight.Action("join", b"{}"), flight.FlightCallOptions(timeout=5.0)))
    bare.close()


def test_a_secret_is_not_shown() -> None:
    access = Access(b"hush", Tls(b"certificate", b"key", "host"))
    assert "hush" not in repr(access)
    assert b"hush".hex() not in repr(access)
    assert "key" not in repr(access.tls)


def test_an_endpoint_listens_on_its_own_address_alone(pair: tuple[Exchange, Exchange]) -> None:
    port = int(pair[0].location.rsplit(":", 1)[1])
    with socket.socket() as other:
        other.settimeout(2)
        assert other.connect_ex(("127.0.0.2", port)) != 0


def test_a_ghost_of_another_attempt_is_not_let_in() -> None:
    patience = Patience(silence=2.0)
    first = Exchange(0, 2, host=HOST, access=ACCESS, patience=patience)
    ghost = Exchange(1, 2, host=HOST, access=ACCESS, patience=patience)
    first.connect([first.location, ghost.location], "now")
    ghost.connect([first.location, ghost.location], "before")
    ghost.send(0, {}, cells(1))
    with pytest.raises(PeerLost, match="belongs to another attempt"):
        list(ghost.receive())
    with pytest.raises(PeerLost, match="belongs to another attempt"):
        list(first.receive())
    first.close()
    ghost.close()


def test_a_peer_that_stops_for_a_mistake_stops_all(pair: tuple[Exchange, Exchange]) -> None:
    first, second = pair
    second.stop("more than 5 tuples", mistake=True)
    started = time.monotonic()
    with pytest.raises(PeerStopped, match="more than 5 tuples"):
        list(first.receive())
    assert time.monotonic() - started < 5


def test_a_peer_that_fails_says_why(pair: tuple[Exchange, Exchange]) -> None:
    first, second = pair
    second.stop("ValueError: no", mistake=False)
    with pytest.raises(PeerLost, match="ValueError: no"):
        list(first.receive())


def test_silence_is_not_waited_for_for_ever() -> None:
    first = Exchange(0, 2, host=HOST, access=ACCESS, patience=Patience(silence=0.5))
    mute = Exchange(1, 2, host=HOST, access=ACCESS, patience=Patience(silence=60.0))
    first.connect([first.location, mute.location], "t")
    mute.connect([first.location, mute.location], "t")
    with pytest.raises(PeerLost, match=r"task 1 was silent for 0\.5 s"):
        list(first.receive())
    first.close()
    mute.close()


def test_a_task_that_thinks_for_long_is_still_heard() -> None:
    first, second = connected(Patience(silence=0.8))
    later = threading.Timer(2.0, lambda: second.end({"busy": False}))
    later.start()
    assert [header["end"] for _, header, _ in first.receive()] == [1]
    later.join()
    first.close()
    second.close()


def _peer(location: str, connection: Any) -> None:
    exchange = Exchange(1, 2, host=HOST, access=ACCESS)
    connection.send(exchange.location)
    exchange.connect([location, exchange.location], "t")
    exchange.send(0, {"at": 0}, cells(1))
    connection.send("sent")
    time.sleep(60)


def test_a_peer_that_is_killed_is_missed_at_once() -> None:
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    first = Exchange(0, 2, host=HOST, access=ACCESS)
    process = context.Process(target=_peer, args=(first.location, theirs))
    process.start()
    try:
        first.connect([first.location, mine.recv()], "t")
        assert mine.recv() == "sent"
        letters = first.receive()
        assert next(letters)[1] == {"at": 0}
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        started = time.monotonic()
        with pytest.raises(PeerLost, match="task 1 ended"):
            next(letters)
        assert time.monotonic() - started < 10
    finally:
        process.kill()
        process.join()
        first.close()


# ── meeting ──


class Seen:
    def __init__(self) -> None:
        self.rounds: list[Round] = []

    def on_round(self, event: Round) -> None:
        self.rounds.append(event)


@pytest.fixture
def service() -> Iterator[Rendezvous]:
    made = Rendezvous(HOST, ACCESS, 2, patience=3.0, observer=Seen())
    yield made
    made.close()


class Joining(threading.Thread):
    """A task that joins in a thread of its own."""

    def __init__(self, service: Rendezvous, task: int, attempt: int, stage: int = 0) -> None:
        super().__init__()
        self.service, self.task, self.attempt, self.stage = service, task, attempt, stage
        self.found: Any = None
        self.start()

    def run(self) -> None:
        try:
            self.found = join(
                self.service.location,
                ACCESS,
                stage=self.stage,
                task=self.task,
                attempt=self.attempt,
                location=f"{self.stage}/{self.task}/{self.attempt}",
                wait=20.0,
            )
        except PeerLost as error:
            self.found = error

    def result(self) -> Any:
        self.join(30)
        return self.found


def test_tasks_meet_in_the_order_of_their_numbers(service: Rendezvous) -> None:
    found = [j.result() for j in (Joining(service, 1, 7), Joining(service, 0, 6))]
    assert found[0] == found[1]
    assert found[0][1] == ["0/0/6", "0/1/7"]


def test_tasks_of_two_stages_do_not_meet(service: Rendezvous) -> None:
    one, other = Joining(service, 0, 1, stage=3), Joining(service, 1, 2, stage=4)
    assert isinstance(one.result(), PeerLost)
    assert isinstance(other.result(), PeerLost)


def test_another_attempt_gets_another_token(service: Rendezvous) -> None:
    before = [j.result() for j in (Joining(service, 0, 1), Joining(service, 1, 2))]
    after = [j.result() for j in (Joining(service, 0, 3), Joining(service, 1, 4))]
    assert before[0][0] != after[0][0]
    assert after[0][1] == ["0/0/3", "0/1/4"]
    assert service.meetings == 2


def test_a_later_attempt_takes_the_place_of_a_former_one(service: Rendezvous) -> None:
    ghost = Joining(service, 0, 1)
    time.sleep(0.3)
    task = Joining(service, 0, 5)
    time.sleep(0.3)
    late = Joining(service, 0, 2)  # a ghost that comes last
    time.sleep(0.3)
    assert Joining(service, 1, 6).result()[1] == ["0/0/5", "0/1/6"]
    assert task.result()[1] == ["0/0/5", "0/1/6"]
    assert isinstance(ghost.result(), PeerLost)
    assert isinstance(late.result(), PeerLost)


def test_the_last_attempt_of_each_task_is_believed(service: Rendezvous) -> None:
    def tell(task: int, attempt: int, rows: int) -> None:
        news = pa.table({"rows": [rows]})
        tell_done(service.location, ACCESS, news, task=task, attempt=attempt)

    tell(0, 3, 30)
    tell(0, 1, 10)  # a ghost
    assert service.news() is None
    tell(1, 2, 20)
    tell(1, 4, 40)
    news = service.news()
    assert news is not None
    assert sorted(news.column("rows").to_pylist()) == [30, 40]


def test_a_driver_that_is_gone_is_not_told(service: Rendezvous) -> None:
    service.close()
    tell_done(service.location, ACCESS, pa.table({"rows": [1]}), task=0, attempt=1)


def _waiting(location: str) -> None:
    join(location, ACCESS, stage=0, task=0, attempt=1, location="dead", wait=60.0)


def test_a_task_that_died_while_it_waited_is_not_met(service: Rendezvous) -> None:
    process = multiprocessing.get_context("spawn").Process(
        target=_waiting, args=(service.location,)
    )
    process.start()
    until = time.monotonic() + 20
    while not service._waiting.get(0) and time.monotonic() < until:
        time.sleep(0.05)
    process.kill()
    process.join()
    time.sleep(0.5)
    other = Joining(service, 1, 2)
    time.sleep(0.3)
    task = Joining(service, 0, 3)
    assert task.result()[1] == other.result()[1] == ["0/0/3", "0/1/2"]


def test_rounds_are_told_to_the_driver(service: Rendezvous) -> None:
    reporter = Reporter(service.location, ACCESS, every=0.0)
    event = Round(1, 2, ("p@0", "q@1"), 3, 4, 5, 0.5)
    reporter.on_round(event)
    assert isinstance(service._observer, Seen)
    assert service._observer.rounds == [event]


def test_what_cannot_be_told_to_the_driver_is_not_missed() -> None:
    gone = Rendezvous(HOST, ACCESS, 2, patience=1.0, observer=None)
    gone.close()
    Reporter(gone.location, ACCESS, every=0.0).on_round(Round(1, 2, ("p",), 3, 4, 5, 0.5))


# ── TLS ──


def certificate(folder: Path) -> Tls:
    """Return a certificate that its owner has signed."""
    folder.mkdir()
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=gang.test"
    names = ["-addext", "subjectAltName=DNS:gang.test", "-keyout", "key", "-out", "certificate"]
    subprocess.run([*command.split(), *names], cwd=folder, check=True, capture_output=True)
    found = [(folder / name).read_bytes() for name in ("certificate", "key")]
    return Tls(found[0], found[1], "gang.test")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
def test_tasks_speak_tls_where_asked_and_only_to_their_own(tmp_path: Path) -> None:
    access = Access(b"a secret of sixteen", certificate(tmp_path / "ours"))
    first, second = connected(Patience(silence=20.0), access)
    first.send(1, {"at": 1}, cells(5))
    first.end({})
    assert [found.tolist() for _, _, found in second.receive()] == [[5], []]
    stranger = Access(b"a secret of sixteen", certificate(tmp_path / "theirs"))
    client = stranger.connect(first.location)
    with pytest.raises(FAULTS):
        list(client.do_action(flight.Action("join", b"{}"), stranger.options(5.0)))
    client.close()
    first.close()
    second.close()
