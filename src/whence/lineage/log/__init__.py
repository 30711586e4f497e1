"""The log of PROV streams: topics and partitions, in a folder, in JSON lines or in Kafka."""

from whence.lineage.log.base import Log, Topic, Writer
from whence.lineage.log.opening import open_log

__all__ = ["Log", "Topic", "Writer", "open_log"]
