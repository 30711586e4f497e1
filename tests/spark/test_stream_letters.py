"""Letters between the tasks of a stream: they arrive, or their absence is noticed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from whence.engine.spark.gang.endpoint import Access
from whence.spark.streaming.mailbox import Correspondence, Mailbox, PeerLost, PeerStopped


def test_letters_of_any_size_arrive_in_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.spark.streaming.mailbox._PART", 1000)
    access = Access(b"secret")
    boxes = [Mailbox("127.0.0.1", access) for _ in range(3)]
    places = [box.location for box in boxes]
    for box in boxes:
        box.open("t")

    def run(task: int) -> list[list[int]]:
        side = Correspondence(boxes[task], access, "t", task, places)
        try:
            return [
                [len(b) for b in side.swap([bytes(999 * round_ + 10 * task + p) for p in range(3)])]
                for round_ in range(5)
            ]
        finally:
            side.close()

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(run, range(3)))
    for task in range(3):
        assert found[task] == [[999 * r + 10 * s + task for s in range(3)] for r in range(5)]
    for box in boxes:
        box.shutdown()


def test_a_peer_that_stops_or_is_lost_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.spark.streaming.mailbox._PATIENCE", 0.1)
    access = Access(b"secret")
    boxes = [Mailbox("127.0.0.1", access) for _ in range(2)]
    places = [box.location for box in boxes]
    for box in boxes:
        box.open("t")
    first, second = (Correspondence(box, access, "t", i, places) for i, box in enumerate(boxes))
    second.stop()
    with pytest.raises(PeerStopped):
        first.swap([b"", b""])
    boxes[1].shutdown()
    with pytest.raises(PeerLost):
        first.swap([b"", b""])
    boxes[0].shutdown()
