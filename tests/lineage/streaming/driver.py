"""A driver of its own that reduces a log on Spark: `driver.py LOG STATE`."""

from __future__ import annotations

import sys

from whence import spark as on_spark
from whence.lineage.streaming import reduce_stream, segments


def main(log: str, state: str) -> None:
    """Reduce all segments that are there, a few to a batch."""
    spark = on_spark.session("local[2]", **{"spark.driver.memory": "1g"})
    query = reduce_stream(
        segments(spark, log, "job", per_batch=2),
        checkpoint=state,
        partitions=2,
        attempts=True,
        watermark=0.0,
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
