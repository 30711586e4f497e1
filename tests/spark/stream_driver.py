"""A driver of its own that keeps a view of a folder's updates: `stream_driver.py IN STATE`."""

from __future__ import annotations

import sys

from spark.streams import SAME_GENERATION
from whence import spark as on_spark


def main(folder: str, state: str) -> None:
    """Apply all files that are there, one to a batch."""
    spark = on_spark.session(
        "local[2]",
        **{"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"},
    )
    query = on_spark.maintain(
        SAME_GENERATION,
        on_spark.updates(spark, folder, files_per_batch=1),
        checkpoint=state,
        tasks=2,
        compact_every=7,
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
