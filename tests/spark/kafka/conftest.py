"""A broker and Spark's connector for it, once for all tests; without Maven's jars they are skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from spark.kafka.maven import Unavailable, resolve

CLIENTS = "org.apache.kafka:kafka-clients:3.9.1"
POOL = "org.apache.commons:commons-pool2:2.12.0"


def connector(version: str) -> tuple[Any, ...]:
    """Return the jars of Spark's connector: of its own version, else of the nearest there is."""
    # A repository may lag behind; 4.2's connector runs on Spark 4.3, 4.0's does not.
    last = None
    for sql, token in ((version, version), ("4.2.0", "4.2.0"), ("4.2.0", "4.0.0")):
        wanted = (
            f"org.apache.spark:spark-sql-kafka-0-10_2.13:{sql}",
            f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{token}",
            CLIENTS,
            POOL,
        )
        try:
            return resolve(wanted, whole=False)
        except Unavailable as fault:
            last = fault
    assert last is not None
    raise last


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A running broker."""
    pytest.importorskip("confluent_kafka", reason="the Kafka client confluent-kafka is missing")
    from spark.kafka.broker import broker as run

    try:
        with run(tmp_path_factory.mktemp("kafka")) as found:
            yield found
    except Unavailable as fault:
        pytest.skip(f"no Kafka broker: {fault}")


@pytest.fixture(scope="session")
def kafka_spark(spark: Any) -> Any:
    """The tests' Spark session, with the connector for Kafka."""
    try:
        jars = connector(spark.version)
    except Unavailable as fault:
        pytest.skip(f"no connector of Spark for Kafka: {fault}")
    for jar in jars:
        spark.sql(f"ADD JAR '{jar}'")
    return spark
