"""A log in Kafka is a log like any other."""

from __future__ import annotations

import pickle
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from whence.diagnostics import DataError, UsageError, WhenceError
from whence.lineage.events import Edge, Kind, batch_of, concatenate, edges_of, make_batch
from whence.lineage.log import Log, Topic, open_log

with_broker = [
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.network,
    pytest.mark.timeout(600),
]


def many(first: int, count: int) -> Any:
    numbers = list(range(first, first + count))
    return make_batch(
        kind=Kind.DERIVED, source_space="a", source=numbers, target_space="b", target=numbers
    )


def sources(log: Log, topic: str, partition: int = 0, offset: int | None = None) -> list[int]:
    batches = [batch for _, batch in log.read(topic, partition, offset)]
    return concatenate(batches).column("source").to_pylist()


@pytest.fixture
def log(broker: Any) -> Log:
    return open_log(f"kafka://{broker.servers}")


@pytest.fixture
def topic(log: Log) -> str:
    name = f"job-{uuid.uuid4().hex[:8]}"
    log.create(Topic(name, 2))
    return name


def code(error: pytest.ExceptionInfo[WhenceError]) -> str:
    return error.value.diagnostics[0].code


class TestWithABroker:
    pytestmark = with_broker

    def test_what_is_appended_is_read_in_its_order_and_its_partition(
        self, log: Log, topic: str
    ) -> None:
        log.append(topic, 0, many(0, 3))
        log.append(topic, 1, many(100, 2))
        after = log.append(topic, 0, many(3, 4))
        assert sources(log, topic) == list(range(7))
        assert sources(log, topic, 1) == [100, 101]
        assert log.end_offsets(topic)[0] == after
        assert sources(log, topic, 0, after) == []

    def test_all_of_an_edge_is_kept(self, log: Log, topic: str) -> None:
        edges = [
            Edge(Kind.USED, ("f", 1), ("ex:é\n", -1), 7, 2, 3, datetime.now(UTC)),
            Edge(Kind.END, ("f", 1), None, -1, 2),
        ]
        log.append(topic, 0, batch_of(edges))
        ((_, found),) = log.read(topic, 0)
        assert list(edges_of(found)) == edges

    def test_many_edges_are_one_transaction_and_can_be_read_on_from(
        self, log: Log, topic: str
    ) -> None:
        with log.writer(topic, 0) as writer:
            writer.add(many(0, 100_000))
            writer.add(many(100_000, 50_000))
            assert sources(log, topic) == []
        log.append(topic, 0, many(150_000, 1))
        assert sources(log, topic) == list(range(150_001))
        done = 0
        for after, batch in log.read(topic, 0):
            done += batch.num_rows
            if done > 60_000:
                assert sources(log, topic, 0, after) == list(range(done, 150_001))
                break

    def test_a_writer_that_fails_leaves_nothing(self, log: Log, topic: str) -> None:
        with pytest.raises(ZeroDivisionError), log.writer(topic, 0) as writer:
            writer.add(many(0, 100_000))
            raise ZeroDivisionError
        assert log.append(topic, 0, many(0, 0)) == 0
        assert sources(log, topic) == []
        with pytest.raises(UsageError) as error:
            writer.add(many(0, 1))
        assert code(error) == "W1117"

    def test_topics_are_what_they_were_made_as(self, log: Log, broker: Any) -> None:
        wanted = Topic(f"job-{uuid.uuid4().hex[:8]}", 3, attempts=True, about={"workflow": "w"})
        assert log.create(wanted) == log.create(wanted) == wanted
        again = pickle.loads(pickle.dumps(open_log(f"kafka://{broker.servers}")))
        assert again.topic(wanted.name) == wanted
        assert wanted.name in again.topics()
        assert not any(name.startswith("__") for name in again.topics())
        with pytest.raises(UsageError) as error:
            log.create(Topic(wanted.name, 3))
        assert code(error) == "W1107"

    def test_lines_of_others_are_read(self, log: Log, broker: Any) -> None:
        name = broker.create(f"lines-{uuid.uuid4().hex[:8]}")
        line = '{"used":{"_:1":{"prov:activity":"f/1","prov:entity":"t/2"}}}'
        broker.produce(name, [line, f"{line}\n{line}\n", None, "wrong"])
        found = log.read(name, 0)
        assert [next(found)[1].num_rows, next(found)[1].num_rows] == [1, 2]
        with pytest.raises(DataError) as error:
            next(found)
        assert code(error) == "W1100"
        assert "at offset 3" in str(error.value)
        assert log.topic(name) == Topic(name, 1)

    def test_old_messages_are_forgotten(self, log: Log, topic: str) -> None:
        end = log.append(topic, 0, many(0, 5))
        assert log.retain(topic, since=datetime.now(UTC) - timedelta(hours=1)) == [0, 0]
        assert log.retain(topic, since=datetime.now(UTC) + timedelta(hours=1)) == [end, 0]
        assert sources(log, topic) == []
        with pytest.raises(UsageError) as error:
            sources(log, topic, 0, 0)
        assert code(error) == "W1106"
        with pytest.raises(UsageError) as refused:
            log.retain(topic, newest=10)
        assert code(refused) == "W1116"

    def test_what_is_not_there_is_told(self, log: Log, topic: str) -> None:
        for name, partition, offset, expected in (
            ("nowhere", 0, None, "W1105"),
            (topic, 2, None, "W1105"),
            (topic, 0, 10, "W1106"),
        ):
            with pytest.raises(UsageError) as error:
                sources(log, name, partition, offset)
            assert code(error) == expected


@pytest.mark.network
def test_a_broker_that_is_not_there_is_told() -> None:
    pytest.importorskip("confluent_kafka", reason="the Kafka client confluent-kafka is missing")
    from whence.lineage.log.kafka import KafkaLog

    with pytest.raises(DataError) as error:
        KafkaLog("127.0.0.1:1", seconds=1.0).topics()
    assert code(error) == "W1110"


@pytest.mark.parametrize("address", ["kafka://", "s3://bucket/log"])
def test_addresses_of_no_log_are_told(address: str) -> None:
    with pytest.raises(UsageError) as error:
        open_log(address)
    assert code(error) == "W1103"
