"""A log in Kafka: a message is a batch of edges, as an Arrow stream or as JSON lines of others.

Kafka keeps no notes about a topic, so a compacted topic of our own says which ones use attempts.
What a writer commits is one message or one transaction, and readers see committed ones only.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from whence.diagnostics import DataError, Diagnostic, UsageError
from whence.lineage.log import faults
from whence.lineage.log.base import Topic, agreed, check_name, check_partition, checked
from whence.lineage.log.checking import check_batch
from whence.lineage.log.kafka_messages import edges_in, values_of

if TYPE_CHECKING:
    import pyarrow as pa

NOTES: Final = "__whence_topics"
"""The topic that says what is known about the others."""


@dataclass(frozen=True, slots=True)
class KafkaLog:
    """The log that brokers keep; `settings` are further ones of librdkafka, for security mostly."""

    servers: str
    settings: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 30.0
    """How long to wait for an answer."""
    _known: dict[str, Topic] = field(default_factory=dict, repr=False, compare=False)
    _producers: dict[int, Any] = field(default_factory=dict, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return KafkaLog, (self.servers, dict(self.settings), self.seconds)

    # ── topics ──

    def create(self, topic: Topic) -> Topic:
        """Make the topic, or find it there with the same partitions."""
        from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

        checked(topic)
        with self._faults():
            if topic.name not in self._listed():
                self._make(NewTopic(NOTES, 1, config={"cleanup.policy": "compact"}))
                # The note comes first: a topic without one would be taken for one of others.
                self._note(topic)
                self._make(NewTopic(topic.name, topic.partitions))
        self._known.pop(topic.name, None)
        return agreed(self.topic(topic.name), topic)

    def topics(self) -> list[str]:
        """Return the names of all topics."""
        with self._faults():
            return sorted(name for name in self._listed() if not name.startswith("__"))

    def topic(self, name: str) -> Topic:
        """Return what is known about a topic; one that others made has no attempts."""
        if (known := self._known.get(name)) is not None:
            return known
        check_name(name)
        with self._faults():
            listed = self._listed()
            if name not in listed:
                raise faults.no_topic(name, self.topics())
            note = self._notes().get(name, {}) if NOTES in listed else {}
        found = Topic(name, listed[name], note.get("attempts", False), note.get("about", {}))
        self._known[name] = found
        return found

    def _listed(self) -> dict[str, int]:
        found = self._admin().list_topics(timeout=self.seconds).topics
        return {name: len(topic.partitions) for name, topic in found.items()}

    def _make(self, topic: Any) -> None:
        from confluent_kafka import KafkaError, KafkaException

        admin = self._admin()  # held until it has the answer
        try:
            admin.create_topics([topic])[topic.topic].result(self.seconds)
        except KafkaException as fault:
            if fault.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise

    def _note(self, topic: Topic) -> None:
        note = json.dumps({"attempts": topic.attempts, "about": dict(topic.about)})
        self._send(self._usual_producer(), NOTES, 0, [note.encode()], key=topic.name.encode())

    def _notes(self) -> dict[str, dict[str, Any]]:
        found = self._messages(NOTES, 0, *self._offsets(NOTES, 0))
        return {message.key().decode(): json.loads(message.value()) for message in found}

    # ── writing ──

    def append(self, topic: str, partition: int, batch: pa.RecordBatch) -> int:
        """Write edges, all or none; return the offset after them."""
        with self.writer(topic, partition) as writer:
            writer.add(batch)
            return writer.commit()

    def writer(self, topic: str, partition: int) -> KafkaWriter:
        """Return a writer; several may write to a partition at once."""
        check_partition(self.topic(topic), partition)
        return KafkaWriter(self, topic, partition)

    def _send(
        self, producer: Any, topic: str, partition: int, values: list[bytes], key: bytes | None
    ) -> int:
        """Send messages and wait for all of them; return the offset after the last."""
        from confluent_kafka import KafkaError, KafkaException

        refused: list[Any] = []
        offsets = [-1]

        def told(error: Any, message: Any) -> None:
            if error is not None:
                refused.append(error)
            else:
                offsets.append(message.offset())

        for value in values:
            producer.produce(topic, value=value, key=key, partition=partition, on_delivery=told)
            producer.poll(0)
        left = producer.flush(self.seconds)
        if refused:
            raise KafkaException(refused[0])
        if left:
            producer.purge()  # it must not arrive after it was told lost
            raise KafkaException(KafkaError(KafkaError._MSG_TIMED_OUT))
        return max(offsets) + 1

    # ── reading ──

    def read(
        self, topic: str, partition: int, offset: int | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Give what is there from an offset on, each batch with the offset after it."""
        check_partition(self.topic(topic), partition)
        with self._faults():
            begin, end = self._offsets(topic, partition)
        at = begin if offset is None else offset
        if not begin <= at <= end:
            raise faults.gone(topic, partition, at, begin, end)
        found = self._messages(topic, partition, at, end)
        while True:
            with self._faults():
                message = next(found, None)
            if message is None:
                return
            yield message.offset() + 1, edges_in(message)

    def begin_offsets(self, topic: str) -> list[int]:
        """Return for each partition the offset of the first message that is kept."""
        return [begin for begin, _ in self._all_offsets(topic)]

    def end_offsets(self, topic: str) -> list[int]:
        """Return for each partition the offset after the last message."""
        return [end for _, end in self._all_offsets(topic)]

    def _all_offsets(self, topic: str) -> list[tuple[int, int]]:
        partitions = self.topic(topic).partitions
        with self._faults():
            return [self._offsets(topic, partition) for partition in range(partitions)]

    def _offsets(self, topic: str, partition: int) -> tuple[int, int]:
        from confluent_kafka import TopicPartition

        with self._consumer() as consumer:
            place = TopicPartition(topic, partition)
            begin, end = consumer.get_watermark_offsets(place, timeout=self.seconds)
        return begin, end

    def _messages(self, topic: str, partition: int, offset: int, end: int) -> Iterator[Any]:
        """Give the messages between two offsets; marks of transactions have some, too."""
        from confluent_kafka import KafkaError, KafkaException, TopicPartition

        if offset >= end:
            return
        with self._consumer() as consumer:
            consumer.assign([TopicPartition(topic, partition, offset)])
            while True:
                message = consumer.poll(self.seconds)
                if message is None:
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
                if (error := message.error()) is not None:
                    if error.code() == KafkaError._PARTITION_EOF:
                        return
                    raise KafkaException(error)
                if message.offset() >= end:
                    return
                if message.value() is not None:
                    yield message
                if message.offset() + 1 >= end:
                    return

    # ── forgetting ──

    def retain(
        self, topic: str, *, newest: int | None = None, since: datetime | None = None
    ) -> list[int]:
        """Forget messages from before a time; return for each partition where it begins then."""
        from confluent_kafka import TopicPartition

        if newest is not None:
            raise UsageError(
                Diagnostic(
                    "W1116",
                    "Kafka counts the bytes that it keeps by itself",
                    hint=f"set `retention.bytes` of `{topic}`, or forget by time",
                )
            )
        partitions = range(self.topic(topic).partitions)
        if since is not None:
            with self._faults(), self._consumer() as consumer:
                when = int(since.timestamp() * 1000)
                asked = [TopicPartition(topic, partition, when) for partition in partitions]
                places = consumer.offsets_for_times(asked, timeout=self.seconds)
                admin = self._admin()
                gone = [TopicPartition(topic, p.partition, p.offset) for p in places]
                for future in admin.delete_records(gone).values():
                    future.result(self.seconds)
        return self.begin_offsets(topic)

    # ── clients ──

    def _client(self) -> dict[str, Any]:
        # What goes wrong is told by what is asked, not by a line on standard error.
        return {"bootstrap.servers": self.servers, "log_level": 0, **self.settings}

    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient(self._client())

    def _producer(self, **more: Any) -> Any:
        from confluent_kafka import Producer

        limit = {"message.timeout.ms": int(self.seconds * 1000)}
        return Producer({**limit, **self._client(), "enable.idempotence": True, **more})

    def _usual_producer(self) -> Any:
        """Return the producer of single messages; a process that was forked has its own."""
        process = os.getpid()
        if process not in self._producers:
            self._producers[process] = self._producer()
        return self._producers[process]

    @contextmanager
    def _consumer(self) -> Iterator[Any]:
        from confluent_kafka import Consumer

        consumer = Consumer(
            {
                **self._client(),
                "group.id": f"whence-{uuid.uuid4().hex}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
            }
        )
        try:
            yield consumer
        finally:
            consumer.close()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn what Kafka refuses into a diagnostic."""
        from confluent_kafka import KafkaException

        try:
            yield
        except KafkaException as fault:
            error = fault.args[0]
            why = error.str() if hasattr(error, "str") else str(error)
            raise DataError(
                Diagnostic(
                    "W1110",
                    f"Kafka at `{self.servers}` refused: {why[:1].lower()}{why[1:]}",
                    hint="see that the brokers run and can be reached from here",
                )
            ) from None


class KafkaWriter:
    """Messages on their way into a partition."""

    __slots__ = ("_log", "_over", "_partition", "_topic", "_values")

    def __init__(self, log: KafkaLog, topic: str, partition: int) -> None:
        self._log = log
        self._topic = topic
        self._partition = partition
        self._values: list[bytes] = []
        self._over = False

    def add(self, batch: pa.RecordBatch) -> None:
        """Take edges; nobody sees them yet."""
        self._check()
        self._values.extend(values_of(check_batch(batch)))

    def commit(self) -> int:
        """Make all edges visible together; return the offset after them."""
        self._check()
        self._over = True
        log, values = self._log, self._values
        with log._faults():
            if not values:
                return log._offsets(self._topic, self._partition)[1]
            if len(values) == 1:
                producer = log._usual_producer()
                return log._send(producer, self._topic, self._partition, values, None)
            return self._transaction(values)

    def _transaction(self, values: list[bytes]) -> int:
        log = self._log
        producer = log._producer(**{"transactional.id": f"whence-{uuid.uuid4().hex}"})
        producer.init_transactions(log.seconds)
        producer.begin_transaction()
        try:
            end = log._send(producer, self._topic, self._partition, values, None)
            producer.commit_transaction(log.seconds)
        except BaseException:
            producer.abort_transaction(log.seconds)
            raise
        return end

    def abort(self) -> None:
        """Leave nothing behind; after `commit` this does nothing."""
        self._over = True
        self._values = []

    def _check(self) -> None:
        if self._over:
            raise faults.over(self._topic)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and not self._over:
            self.commit()
        self.abort()
