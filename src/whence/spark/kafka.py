"""Kafka through Spark's connector: a topic of updates in, and where changes of views go out to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from whence.diagnostics import Diagnostic, UsageError
from whence.spark.streaming.updates import updates_from

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"


def updates_from_kafka(
    spark: SparkSession,
    servers: str,
    topic: str,
    *,
    starting: str = "earliest",
    per_batch: int | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the updates in the messages of a topic, present and future, as `maintain` takes them.

    A message has lines such as `+link(1, 2).` or JSON, as `whence watch` reads them. Updates of one
    fact belong into one partition of the topic, since only there they have an order. `servers` are
    `host:port`s with commas between; `starting` is where a query without a checkpoint begins,
    "earliest" or "latest"; a batch has `per_batch` messages at most. `options` are further ones of
    Spark's connector, such as `kafka.security.protocol`.
    """
    given = {
        "kafka.bootstrap.servers": servers,
        "subscribe": topic,
        "startingOffsets": starting,
        **({} if per_batch is None else {"maxOffsetsPerTrigger": str(per_batch)}),
        **(options or {}),
    }
    check_connector(spark)
    return updates_from(spark.readStream.format("kafka").options(**given).load())


def changes_to_kafka(
    spark: SparkSession, servers: str, topic: str, *, options: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return what `maintain` takes as `into`, to send the changes of views to a topic.

    Each change is a message of JSON. A batch that is repeated after a crash sends its messages
    again with the keys that they had, so a reader that keeps one message per key has each once.
    """
    check_connector(spark)
    return {"kafka.bootstrap.servers": servers, "topic": topic, **(options or {})}


def check_connector(spark: SparkSession) -> None:
    """Refuse a session that cannot speak with Kafka."""
    from pyspark.errors import AnalysisException

    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", "localhost:9092")
    try:
        reader.option("subscribe", "updates").load()  # looks the connector up, and at no broker
    except AnalysisException:
        raise UsageError(
            Diagnostic(
                "W1070",
                "this Spark session has no connector for Kafka",
                hint='start it with `whence.spark.session(**{"spark.jars.packages": '
                f'"{_CONNECTOR}:{spark.version}"}})`',
            )
        ) from None
