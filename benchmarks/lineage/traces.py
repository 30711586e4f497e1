"""A trace of the paper's first job: tweets are mapped to hashtags, hashtags are counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from whence.lineage.events import TIME, Kind, make_batch

Array = np.ndarray[Any, Any]

BATCH: Final = 1 << 16
EDGES_PER_TWEET: Final = 5.0
"""About: a tweet is used once, and each of its two hashtags is generated and used."""
SPACES: Final = ("hashtags/map", "tweets", "hashtags/pairs", "hashtags/count", "counts")
_START: Final = 1_767_225_600_000_000


def hashtag_trace(tweets: int, *, workers: int = 8, seed: int = 1) -> Iterator[pa.RecordBatch]:
    """Give the trace in order, with groups and end markers, a microsecond from row to row."""
    random = np.random.default_rng(seed)
    each = random.integers(1, 4, tweets)
    pairs = int(each.sum())
    tags = np.minimum(random.zipf(1.3, pairs), max(10, tweets // 20)) - 1
    block = -(-tweets // workers)
    number = np.arange(tweets)
    maps = _executions(
        used=(number, number),
        made=(np.arange(pairs), np.repeat(number, each)),
        spaces=(0, 1, 2),
        worker=(number // block).astype(np.int32),
    )
    order = np.argsort(tags, kind="stable")
    known, where = np.unique(tags[order], return_inverse=True)
    counts = _executions(
        used=(where, order),
        made=(known, np.arange(len(known))),
        spaces=(3, 2, 4),
        worker=(np.arange(len(known)) % workers).astype(np.int32),
        names=known,
    )
    rows = 0
    for stage in (maps, counts):
        for begin in range(0, len(stage[0]), BATCH):
            yield _batch(*(column[begin : begin + BATCH] for column in stage), rows=rows)
            rows += min(BATCH, len(stage[0]) - begin)


def _executions(
    *,
    used: tuple[Array, Array],
    made: tuple[Array, Array],
    spaces: tuple[int, int, int],
    worker: Array,
    names: Array | None = None,
) -> tuple[Array, ...]:
    """Return the rows of executions: used, generated, end; all of one together.

    `used` are executions and entities, `made` entities and executions, both by execution.
    """
    count = len(worker)
    whose = np.concatenate([used[0], made[1], np.arange(count)])
    what = np.repeat(
        np.array([Kind.USED, Kind.GENERATED, Kind.END], np.uint8),
        [len(used[0]), len(made[0]), count],
    )
    entity = np.concatenate([used[1], made[0], np.zeros(count, np.int64)])
    order = np.lexsort((what, whose))
    whose, what, entity = whose[order], what[order], entity[order]
    activity = whose if names is None else names[whose]
    function, inputs, outputs = spaces
    generated = what == Kind.GENERATED
    source = np.where(generated, entity, activity)
    target = np.where(generated, activity, entity)
    source_space = np.where(generated, outputs, function).astype(np.int32)
    target_space = np.where(generated, function, inputs).astype(np.int32)
    group = 2 * (whose + function * (1 << 40)) + generated
    return what, source_space, source, target_space, target, group, worker[whose]


def _batch(
    kind: Array,
    source_space: Array,
    source: Array,
    target_space: Array,
    target: Array,
    group: Array,
    worker: Array,
    *,
    rows: int,
) -> pa.RecordBatch:
    texts, ends = pa.array(SPACES), kind == Kind.END
    times = pa.array(_START + rows + np.arange(len(kind))).cast(TIME)
    return make_batch(
        kind=kind,
        source_space=pa.DictionaryArray.from_arrays(pa.array(source_space), texts),
        source=source,
        target_space=pa.DictionaryArray.from_arrays(pa.array(target_space, mask=ends), texts),
        target=pa.array(target, mask=ends),
        group=group,
        worker=worker,
        time=times,
    )
