"""Streams of edges that benchmarks read: executions that use some entities and generate one."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from whence.lineage.events import Kind, make_batch


def hashtag_counts(edges: int, seed: int = 1) -> pa.RecordBatch:
    """Return about so many edges of a job that maps tweets and counts their hashtags.

    Hashtags are Zipf-distributed; every edge is about 220 bytes long as a JSON line.
    """
    rng = np.random.default_rng(seed)
    tweets = max(1, edges // 4)
    tags = np.minimum(rng.zipf(1.5, tweets), tweets).astype(np.int64)
    number = np.arange(tweets, dtype=np.int64)
    # A map uses a tweet and generates a pair; the count of a hashtag uses pairs.
    columns = {
        "kind": np.tile(np.array([Kind.USED, Kind.GENERATED, Kind.USED], np.uint8), tweets),
        "source": np.stack([number, number, tags], 1).ravel(),
        "target": np.stack([number, number, number], 1).ravel(),
    }
    sources = pa.array(["hashtags/map", "hashtags/pairs", "hashtags/count"])
    targets = pa.array(["tweets/text", "hashtags/map", "hashtags/pairs"])
    which = pa.array(np.tile(np.arange(3, dtype=np.int32), tweets))
    return make_batch(
        **columns,
        source_space=pa.DictionaryArray.from_arrays(which, sources),
        target_space=pa.DictionaryArray.from_arrays(which, targets),
        group=np.arange(3 * tweets, dtype=np.int64),
        worker=np.repeat(rng.integers(0, 8, tweets, dtype=np.int32), 3),
        time=datetime(2026, 1, 1, tzinfo=UTC),
    )
