"""Where the tasks of a stream meet: who takes which partition, and what is to be done with it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from whence.engine.spark.gang.endpoint import Access
from whence.spark.streaming.meeting import Holding, Meeting, Mode, Orders, meet
from whence.spark.streaming.state import Committed


def met(holdings: list[list[Holding]], *, together: bool, batch: int = 5) -> list[Orders]:
    access = Access(b"secret")
    service = Meeting("127.0.0.1", access, len(holdings), together=together)
    token = service.begin(Orders(batch, Committed(batch - 1), b"", False))
    try:
        with ThreadPoolExecutor(len(holdings)) as pool:
            found = [
                pool.submit(meet, service.location, access, token, slot, slot, held, f"at{slot}")
                for slot, held in enumerate(holdings)
            ]
            return [one.result(20) for one in found]
    finally:
        service.shutdown()


def test_a_task_is_given_the_partition_that_its_process_holds() -> None:
    orders = met([[Holding(1, 4, "e")], [Holding(0, 4, "e")]], together=True)
    assert [(o.role, o.mode) for o in orders] == [(1, Mode.APPLY), (0, Mode.APPLY)]
    assert orders[0].locations == ("at1", "at0")
    orders = met([[Holding(0, 4, "e"), Holding(1, 4, "e")], [Holding(0, 4, "e")]], together=True)
    assert [o.role for o in orders] == [1, 0]


def test_tasks_that_speak_all_begin_anew_when_one_holds_nothing() -> None:
    orders = met([[Holding(1, 4, "e")], []], together=True)
    assert [o.mode for o in orders] == [Mode.MAKE, Mode.MAKE]
    orders = met([[Holding(1, 4, "e")], []], together=False)
    assert [(o.role, o.mode) for o in orders] == [(1, Mode.APPLY), (0, Mode.MAKE)]
    orders = met([[Holding(1, 4, "e")], [Holding(0, 4, "f")]], together=True)
    assert {o.mode for o in orders} == {Mode.MAKE}


def test_a_batch_that_is_tried_again_is_told_again() -> None:
    orders = met([[Holding(1, 5, "e")], [Holding(0, 5, "e")]], together=True)
    assert {o.mode for o in orders} == {Mode.AGAIN}
    orders = met([[Holding(1, 5, "e")], [Holding(0, 4, "e")]], together=True)
    assert {o.mode for o in orders} == {Mode.MAKE}


def test_who_waits_for_a_former_attempt_is_sent_away() -> None:
    access = Access(b"secret")
    service = Meeting("127.0.0.1", access, 2, together=True)
    token = service.begin(Orders(1, Committed(), b"", False))
    try:
        with ThreadPoolExecutor(3) as pool:
            old = pool.submit(meet, service.location, access, token, 0, 0, (), "a")
            while 0 not in service._met:
                threading.Event().wait(0.01)
            new = [
                pool.submit(meet, service.location, access, token, 10 + slot, slot, (), "b")
                for slot in range(2)
            ]
            assert {one.result(20).role for one in new} == {0, 1}
            with pytest.raises(pa.ArrowException):
                old.result(20)
        with pytest.raises(pa.ArrowException):
            meet(service.location, Access(b"other"), token, 20, 0, (), "c")
    finally:
        service.shutdown()
