"""Updates from a topic of a real broker keep views current, whose changes go to another topic."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import whence
from whence.diagnostics import DataError, UsageError

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.network,
    pytest.mark.timeout(600),
]

PROGRAM = """
.decl link(x: number, y: number)
.input link
.decl path(x: number, y: number)
.output path
path(x, y) :- link(x, y).
path(x, z) :- path(x, y), link(y, z).
"""
NODES = 12

Update = tuple[str, int, int]


def updates(count: int, seed: int) -> list[Update]:
    """Return links that come and go."""
    choose = random.Random(seed)
    there: set[tuple[int, int]] = set()
    found: list[Update] = []
    for _ in range(count):
        if there and choose.random() < 0.4:
            link = choose.choice(sorted(there))
            there.remove(link)
            found.append(("-", *link))
        else:
            link = (choose.randrange(NODES), choose.randrange(NODES))
            there.add(link)
            found.append(("+", *link))
    return found


def as_json(update: Update) -> str:
    op, x, y = update
    return json.dumps({"op": op, "relation": "link", "row": [x, y]})


def as_text(update: Update) -> str:
    op, x, y = update
    return f"{op}link({x}, {y})."


def embedded(given: Iterable[Update]) -> list[tuple[int, ...]]:
    """Return the view as the embedded engine has it after all updates."""
    database = whence.Database()
    database.load(PROGRAM)
    for op, x, y in given:
        (database.insert if op == "+" else database.delete)("link", [(x, y)])
    return sorted(database["path"])


def replayed(messages: Iterable[tuple[bytes | None, bytes | None]]) -> list[tuple[int, ...]]:
    """Return what changes in JSON come to, each key counted once; they have to fit each other."""
    seen: set[bytes] = set()
    batches: dict[int, list[dict[str, Any]]] = {}
    for key, value in messages:
        assert key is not None
        assert value is not None
        if key not in seen:
            seen.add(key)
            change = json.loads(value)
            batches.setdefault(change["batch"], []).append(change)
    there: set[tuple[int, ...]] = set()
    for number in sorted(batches):
        for change in sorted(batches[number], key=lambda c: c["op"], reverse=True):
            assert change["relation"] == "path"
            row = change["row"]
            pair = tuple(row.values()) if isinstance(row, dict) else tuple(row)
            if change["op"] == "-":
                there.remove(pair)
            else:
                assert pair not in there
                there.add(pair)
    return sorted(there)


def topic(broker: Any, partitions: int = 1) -> str:
    return str(broker.create(f"t{uuid.uuid4().hex}", partitions))


def pairs(frame: Any) -> list[tuple[int, ...]]:
    return sorted((row.x, row.y) for row in frame.collect())


def test_a_view_follows_a_topic_and_tells_its_changes_to_another(
    kafka_spark: Any, broker: Any, tmp_path: Path
) -> None:
    import whence.spark

    incoming, outgoing = topic(broker), topic(broker)
    given = updates(120, seed=1)
    broker.produce(incoming, map(as_json, given[:80]))

    def follow() -> None:
        query = whence.spark.maintain(
            PROGRAM,
            whence.spark.updates_from_kafka(kafka_spark, broker.servers, incoming, per_batch=20),
            checkpoint=tmp_path / "state",
            into=whence.spark.changes_to_kafka(kafka_spark, broker.servers, outgoing),
            trigger={"availableNow": True},
        )
        query.awaitTermination()

    follow()
    assert whence.spark.last_batch(tmp_path / "state") == 3  # 80 messages, 20 to a batch
    assert pairs(whence.spark.view(kafka_spark, tmp_path / "state", "path")) == embedded(given[:80])
    # A query that starts again goes on where the last one ended; lines are as good as JSON.
    broker.produce(incoming, map(as_text, given[80:]))
    follow()
    expected = embedded(given)
    assert expected
    assert pairs(whence.spark.view(kafka_spark, tmp_path / "state", "path")) == expected
    assert replayed(broker.consume(outgoing)) == expected


def test_partitions_of_a_topic_are_all_read(kafka_spark: Any, broker: Any, tmp_path: Path) -> None:
    import whence.spark

    incoming = topic(broker, partitions=3)
    given = updates(60, seed=2)
    for partition in range(3):
        mine = [u for u in given if (u[1] + u[2]) % 3 == partition]  # a fact has one partition
        broker.produce(incoming, map(as_json, mine), partition=partition)
    query = whence.spark.maintain(
        PROGRAM,
        whence.spark.updates_from_kafka(kafka_spark, broker.servers, incoming),
        checkpoint=tmp_path / "state",
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    assert pairs(whence.spark.view(kafka_spark, tmp_path / "state", "path")) == embedded(given)


def test_a_bad_message_is_named_by_topic_partition_and_offset(
    kafka_spark: Any, broker: Any, tmp_path: Path
) -> None:
    import whence.spark

    incoming = topic(broker)
    bad = [as_text(("+", 1, 2)), "+lnk(2, 3).", b'+link("\xff", 3).', as_text(("+", 2, 3))]
    broker.produce(incoming, bad)
    frame = whence.spark.updates_from_kafka(kafka_spark, broker.servers, incoming)
    query = whence.spark.maintain(
        PROGRAM, frame, checkpoint=tmp_path / "stop", trigger={"availableNow": True}
    )
    with pytest.raises(DataError) as caught:
        query.awaitTermination()
    first, second = caught.value.diagnostics
    assert (first.code, first.span.line) == ("W0683", 1)
    assert first.span.source is not None
    assert first.span.source.name == f"{incoming}-0"
    assert second.span.line == 2
    query = whence.spark.maintain(
        PROGRAM,
        frame,
        checkpoint=tmp_path / "aside",
        on_bad_row="aside",
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    found = pairs(whence.spark.view(kafka_spark, tmp_path / "aside", "path"))
    assert found == [(1, 2), (1, 3), (2, 3)]


def test_a_session_without_the_connector_is_told_its_coordinates(spark: Any) -> None:
    if any(
        "kafka" in jar for jar in spark.sparkContext._jsc.sc().listJars().mkString(",").split(",")
    ):
        pytest.skip("this session has the connector already")
    with pytest.raises(UsageError) as caught:
        whence.spark.updates_from_kafka(spark, "127.0.0.1:9", "updates")
    (found,) = caught.value.diagnostics
    assert found.code == "W1070"
    assert f"spark-sql-kafka-0-10_2.13:{spark.version}" in found.hint
