"""A real Kafka broker for tests: one node in KRaft mode, on the loopback, from Maven's jars."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import subprocess
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from spark.kafka.maven import resolve
from spark.processes import Started, start, wait_for
from whence.engine.spark.jvm import find_jvm, java_home

KAFKA = "org.apache.kafka:kafka_2.13:4.1.0"
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that is running, and what a test does with it."""

    servers: str
    process: Started

    def create(self, topic: str, partitions: int = 1) -> str:
        """Make a topic and return its name."""
        admin = _admin(self.servers)  # held until it has the answer
        admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(SECONDS)
        return topic

    def produce(
        self, topic: str, values: Iterable[str | bytes | None], *, partition: int = 0
    ) -> None:
        """Send messages in their order and wait until the broker has them."""
        refused: list[object] = []
        producer = Producer({**_client(self.servers), "enable.idempotence": True})
        for value in values:
            producer.produce(
                topic,
                value=value,
                partition=partition,
                on_delivery=lambda error, _: refused.append(error) if error else None,
            )
            producer.poll(0)
        assert producer.flush(SECONDS) == 0, "the broker did not take all messages"
        assert not refused, refused[0]

    def consume(self, topic: str, partitions: int = 1) -> list[tuple[bytes | None, bytes | None]]:
        """Return the keys and values of all messages that are there now."""
        consumer = Consumer({**_client(self.servers), "group.id": str(uuid.uuid4())})
        found = []
        try:
            for partition in range(partitions):
                _, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), SECONDS)
                consumer.assign([TopicPartition(topic, partition, 0)])
                while high > 0:
                    message = consumer.poll(SECONDS)
                    assert message is not None, f"{topic} gave no message within {SECONDS} s"
                    if message.error():
                        raise KafkaException(message.error())
                    found.append((message.key(), message.value()))
                    if message.offset() >= high - 1:
                        break
        finally:
            consumer.close()
        return found


@contextlib.contextmanager
def broker(folder: Path) -> Iterator[Broker]:
    """Start a broker whose files are in `folder`; it is stopped at the end."""
    jars = resolve([KAFKA], whole=True)
    for _ in range(3):  # a port may be taken between finding it and using it
        found = _started(folder, jars)
        if found is not None:
            break
    else:
        raise AssertionError("no broker came up in three attempts")
    try:
        yield found
    finally:
        found.process.stop()


def _started(folder: Path, jars: Sequence[Path]) -> Broker | None:
    port, controller = _free_ports(2)
    home = folder / f"broker-{port}"
    home.mkdir(parents=True)
    settings = home / "server.properties"
    settings.write_text(_settings(port, controller, home / "log"), encoding="utf-8")
    java = str(java_home(find_jvm()) / "bin" / "java")
    lead = [java, "-Xmx256m", "-cp", os.pathsep.join(map(str, jars))]
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    subprocess.run(
        [*lead, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings)],
        check=True,
        capture_output=True,
        timeout=SECONDS,
    )
    process = start([*lead, "kafka.Kafka", str(settings)], home / "out.txt")
    servers = f"127.0.0.1:{port}"
    if wait_for(lambda: process.process.poll() is not None or _answers(port), SECONDS):
        with contextlib.suppress(KafkaException):
            if process.process.poll() is None and _admin(servers).list_topics(timeout=SECONDS):
                return Broker(servers, process)
    process.stop()
    return None


def _settings(port: int, controller: int, log: Path) -> str:
    return f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={log}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _client(servers: str) -> dict[str, object]:
    return {"bootstrap.servers": servers, "log_level": 0}


def _admin(servers: str) -> AdminClient:
    return AdminClient(_client(servers))
