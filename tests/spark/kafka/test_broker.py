"""The broker of the tests keeps what it is sent, in order, and ends when it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spark.kafka.maven import Unavailable, resolve

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.network,
    pytest.mark.timeout(600),
]


def test_messages_come_back_in_their_order(broker: Any) -> None:
    topic = broker.create("ordered")
    sent = [f"message {n}" for n in range(1000)]
    broker.produce(topic, sent)
    assert [value.decode() for _, value in broker.consume(topic)] == sent


def test_a_stopped_broker_leaves_no_process(broker: Any, tmp_path: Path) -> None:
    from spark.kafka.broker import broker as run
    from spark.processes import members

    with run(tmp_path) as second:
        assert members(second.process.process.pid)
        assert second.servers != broker.servers
    assert not members(second.process.process.pid)


def test_what_maven_cannot_fetch_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="`mvn` is not on the PATH"):
        resolve(["org.apache.kafka:kafka_2.13:4.1.0"], whole=True)
