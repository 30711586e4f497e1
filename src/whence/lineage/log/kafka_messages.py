"""Messages of Kafka: batches of edges as Arrow streams, and JSON lines that others wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from whence.diagnostics import DataError, Diagnostic
from whence.lineage.log.checking import check_batch
from whence.lineage.log.segment import from_bytes, to_bytes
from whence.store.faults import Damaged

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST: Final = 900_000
"""Bytes of a message; brokers take 1 MB unless they are told otherwise."""
_ROWS: Final = 1 << 14
_STREAM: Final = b"\xff\xff\xff\xff"  # how an Arrow stream begins, and no text


def values_of(batch: pa.RecordBatch) -> Iterator[bytes]:
    """Give the batch as messages that brokers take."""
    for start in range(0, batch.num_rows, _ROWS):
        yield from _halved(batch.slice(start, _ROWS))


def _halved(batch: pa.RecordBatch) -> Iterator[bytes]:
    value = bytes(to_bytes(batch))
    if len(value) <= LARGEST or batch.num_rows == 1:
        yield value
        return
    half = batch.num_rows // 2
    yield from _halved(batch.slice(0, half))
    yield from _halved(batch.slice(half))


def edges_in(message: Any) -> pa.RecordBatch:
    """Return the edges of a message, or say what is wrong with it."""
    value = message.value()
    name = f"{message.topic()}[{message.partition()}] at offset {message.offset()}"
    if value[:4] == _STREAM:
        try:
            return check_batch(from_bytes(value, 0))
        except Damaged as damage:
            raise DataError(Diagnostic("W1104", f"message `{name}`: {damage.why}")) from None
    from whence.lineage.jsonl import Reading, read_block

    reading = Reading(name)
    batch = read_block(value, reading)
    reading.stop()
    return batch
