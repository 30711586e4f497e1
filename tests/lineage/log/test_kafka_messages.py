"""Messages of Kafka hold edges in pieces that brokers take; what is in them is checked."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from lineage.log.writers import segment
from whence.diagnostics import DataError
from whence.lineage.events import Kind, concatenate, make_batch
from whence.lineage.log import kafka_messages
from whence.lineage.log.kafka_messages import edges_in, values_of


@dataclass(frozen=True)
class Message:
    """What the client gives."""

    content: bytes

    def value(self) -> bytes:
        return self.content

    def topic(self) -> str:
        return "job"

    def partition(self) -> int:
        return 2

    def offset(self) -> int:
        return 17


def test_large_batches_are_halved_until_brokers_take_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_messages, "LARGEST", 10_000)
    numbers = [n * n * 7919 % 1_000_003 for n in range(20_000)]
    batch = make_batch(
        kind=Kind.USED, source_space="f", source=numbers, target_space="t", target=numbers
    )
    values = list(values_of(batch))
    assert len(values) > 2
    assert max(map(len, values)) <= 10_000
    assert concatenate(edges_in(Message(value)) for value in values).equals(batch)


def test_messages_that_hold_no_edges_are_refused() -> None:
    (value,) = values_of(segment(1, 7))
    for changed, code in ((value[: len(value) // 2], "W1104"), (b"wrong", "W1100")):
        with pytest.raises(DataError) as error:
            edges_in(Message(changed))
        assert error.value.diagnostics[0].code == code
        assert "job[2] at offset 17" in str(error.value)
