"""The broker that tests of Spark use, for logs in Kafka."""

from __future__ import annotations

from spark.kafka.conftest import broker

__all__ = ["broker"]
