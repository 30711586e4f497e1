"""Gangs on Spark: barrier stages whose tasks are processes of their own."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from whence.diagnostics import DataError, LimitError, UsageError
from whence.engine.base import Limits, Round
from whence.engine.local.engine import LocalEngine
from whence.engine.spark.engine import SparkEngine
from whence.engine.spark.gang.endpoint import FAULTS, Access
from whence.engine.spark.gang.rendezvous import Rendezvous
from whence.engine.spark.model import Strategy
from whence.engine.spark.shuffle import few_bytes, summarise
from whence.functor.user import UserFunctors
from whence.session import compile, parse

pytestmark = pytest.mark.spark

CLOSURE = compile(
    parse(
        """
        .decl edge(x: number, y: number)
        .decl path(x: number, y: number)
        .input edge
        .output path
        path(x, y) :- edge(x, y).
        path(x, z) :- path(y, z), path(x, y), x != z + 1000000.
        """
    )
).plan

NEXT = compile(
    parse(
        """
        .functor next(x: number): number
        .decl start(x: number)
        .decl seen(x: number, y: number)
        .input start
        .output seen
        seen(x, @next(x)) :- start(x).
        seen(y, @next(y)) :- seen(x, y).
        """
    )
).plan


def edges(count: int = 300, nodes: int = 150) -> dict[str, pa.Table]:
    rng = random.Random(5)
    columns = [[rng.randrange(nodes) for _ in range(count)] for _ in range(2)]
    return {"edge": pa.table({"x": columns[0], "y": columns[1]})}


def gang(spark: Any, **options: Any) -> SparkEngine:
    return SparkEngine(spark, strategy=Strategy.GANG, **options)


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_a_gang_gives_what_the_embedded_engine_gives(spark: Any) -> None:
    expected = rows(LocalEngine().evaluate(CLOSURE, edges()).table("path"))
    with gang(spark).evaluate(CLOSURE, edges()) as found:
        assert rows(found.table("path")) == expected
        (group,) = found.stats.groups
        assert group.strategy == "gang"
        assert len({task.worker for task in group.tasks}) == 2
        assert sum(task.tuples for task in group.tasks) == len(expected)
        assert group.sent_rows == sum(task.received_rows for task in group.tasks) > 0
        assert group.sent_bytes == 16 * group.sent_rows
        # What a user does with the frame need not be a barrier stage again.
        frame = found.frame("path")
        assert len(frame.take(3)) == 3
        assert frame.limit(2).count() == 2
        assert frame.coalesce(1).count() == len(expected)


def test_more_tasks_than_slots_are_not_waited_for(spark: Any) -> None:
    with gang(spark, tasks=5).evaluate(CLOSURE, edges()) as found:
        (group,) = found.stats.groups
        assert len(group.tasks) == 2
        assert found.size("path") == LocalEngine().evaluate(CLOSURE, edges()).size("path")


def test_one_task_is_a_gang_of_its_own(spark: Any) -> None:
    with gang(spark, tasks=1).evaluate(CLOSURE, edges()) as found:
        assert found.stats.groups[0].sent_rows == 0
        assert found.size("path") == LocalEngine().evaluate(CLOSURE, edges()).size("path")


def test_a_limit_is_told_as_such_and_the_session_goes_on(spark: Any) -> None:
    with pytest.raises(LimitError, match="more than 100 tuples"):
        gang(spark).evaluate(CLOSURE, edges(), limits=Limits(max_tuples=100))
    with gang(spark).evaluate(CLOSURE, edges(40)) as found:
        assert found.size("path")


def test_a_function_that_fails_in_a_task_is_told_as_it_is(spark: Any) -> None:
    def following(x: int) -> int:
        if x > 50:
            raise ValueError("too far")
        return x + 1

    functors = UserFunctors().add("next", following)
    with pytest.raises(DataError, match="too far"):
        gang(spark, functors=functors).evaluate(NEXT, {"start": pa.table({"x": [1]})})


def test_a_recursion_that_never_ends_is_ended_by_the_time_limit(spark: Any) -> None:
    functors = UserFunctors().add("next", lambda x: (x * 6364136223846793005 + 1) % (1 << 62))
    with pytest.raises(LimitError, match="took longer than 3 s"):
        gang(spark, functors=functors).evaluate(
            NEXT, {"start": pa.table({"x": list(range(50))})}, limits=Limits(timeout=3.0)
        )


def test_rounds_are_seen_while_they_run(spark: Any) -> None:
    seen: list[Round] = []

    class Observer:
        def on_round(self, event: Round) -> None:
            seen.append(event)

    chain = {"edge": pa.table({"x": list(range(200)), "y": list(range(1, 201))})}
    with gang(spark).evaluate(CLOSURE, chain, observer=Observer()) as found:
        assert found.size("path") == 200 * 201 // 2
    assert seen[0].round == 0
    assert seen[0].total_tuples >= 200
    assert seen[0].relations == ("path",)


def test_what_tasks_tell_at_their_end_is_what_spark_would_say(spark: Any) -> None:
    with gang(spark).evaluate(CLOSURE, edges()) as found:
        (made,), (held,) = found.gangs, found.held
        told, asked = made.summary(), summarise(held.frame, few_bytes(2))
        assert told is not None
        assert told.rows == asked.rows
        assert told.sizes == asked.sizes
        assert told.few == asked.few
        assert told.told == asked.told
        assert told.size(0) == found.size("path") > 0


def test_what_tasks_cannot_tell_is_asked_of_spark(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = LocalEngine().evaluate(CLOSURE, edges()).size("path")
    monkeypatch.setattr(Rendezvous, "news", lambda _: None)
    with gang(spark).evaluate(CLOSURE, edges()) as found:
        assert found.size("path") == expected


def test_the_service_ends_with_the_evaluation(spark: Any) -> None:
    found = gang(spark).evaluate(CLOSURE, edges())
    (made,) = found.gangs
    assert made.service.meetings == 1
    location = made.service.location
    before = threading.active_count()
    found.close()
    assert threading.active_count() <= before
    client = Access(b"").connect(location)
    with pytest.raises(FAULTS):
        list(client.list_actions(Access(b"").options(2.0)))
    client.close()


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"spark.whence.gang.silence": "soon"}, "W1012"),
        ({"spark.whence.gang.inboxBytes": "0"}, "W1012"),
        ({"spark.whence.tls.certificate": "here.pem"}, "W1013"),
        (
            {
                "spark.whence.tls.certificate": "nowhere.pem",
                "spark.whence.tls.key": "nowhere.pem",
                "spark.whence.tls.hostname": "gang.test",
            },
            "W1014",
        ),
    ],
)
def test_settings_that_make_no_sense_are_told(
    spark: Any, settings: dict[str, str], code: str
) -> None:
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        with pytest.raises(UsageError) as error:
            gang(spark).evaluate(CLOSURE, edges())
        assert error.value.diagnostics[0].code == code
    finally:
        for name in settings:
            spark.conf.unset(name)


def test_tasks_with_a_small_inbox_and_a_certificate_agree(spark: Any, tmp_path: Path) -> None:
    import shutil

    from spark.gang.test_exchange import certificate

    settings = {"spark.whence.gang.inboxBytes": "1000"}
    if shutil.which("openssl") is not None:
        made = certificate(tmp_path / "made")
        settings |= {
            "spark.whence.tls.certificate": str(tmp_path / "made" / "certificate"),
            "spark.whence.tls.key": str(tmp_path / "made" / "key"),
            "spark.whence.tls.hostname": made.hostname,
        }
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        with gang(spark).evaluate(CLOSURE, edges()) as found:
            assert found.size("path") == LocalEngine().evaluate(CLOSURE, edges()).size("path")
            assert sum(task.spilled_bytes for task in found.stats.groups[0].tasks) > 0
    finally:
        for name in settings:
            spark.conf.unset(name)
