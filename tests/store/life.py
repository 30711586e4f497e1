"""A store whose snapshots hold every batch so far, so that its whole history can be read back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from whence.store import Reader, Recovered, Store
from whence.store.files import Files


def pack(history: Iterable[bytes]) -> bytes:
    """Return a history as the body of a snapshot."""
    return json.dumps([body.decode("latin-1") for body in history]).encode()


def unpack(body: bytes) -> list[bytes]:
    """Return the history that a snapshot holds."""
    return [text.encode("latin-1") for text in json.loads(body)]


def read(recovered: Recovered, before: list[bytes] | None = None) -> list[bytes]:
    """Return the history after what was recovered; numbers must be without a gap."""
    if recovered.afresh:
        before = [] if recovered.snapshot is None else unpack(recovered.snapshot)
        assert len(before) == recovered.snapshot_commit
    history = list(before or [])
    for number, body in recovered.batches:
        assert number == len(history) + 1
        history.append(body)
    return history


def reopened(path: Path, files: Files | None = None) -> list[bytes]:
    """Open for writing, close, and return the history."""
    with Store.open(path, files=files) as store:
        history = read(store.recovered)
        assert store.commit == len(history)
        return history


def looked_at(path: Path) -> list[bytes]:
    """Return the history that a reader sees."""
    with Reader.open(path) as reader:
        history = read(reader.recovered)
        assert reader.commit == len(history)
        return history
