"""Traces of the paper's first job, and the pairs that are true of them, known without reducing.

A map runs for each tweet and gives its hashtags, a reduce for each hashtag; in between, workers
may combine what they have. All maps come before all reduces, as they do in MapReduce.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from whence.lineage.events import NO_GROUP, TIME, Kind, concatenate, make_batch
from whence.lineage.reduced import REDUCED, Link

Array = np.ndarray[Any, Any]

BATCH: Final = 1 << 16
EVEN: Final = (0.25, 0.25, 0.25, 0.25)
"""None to three hashtags, each as likely: the tweets of `whence lineage demo`."""
SPARSE: Final = (0.74, 0.20, 0.04, 0.02)
"""0.34 hashtags a tweet: the paper has 590 bytes of tweets for each pair, about three tweets."""
FUNCTIONS: Final = ("count/map", "count/combine", "count/reduce", "count/categories")
SPACES: Final = (*FUNCTIONS, "tweets", "count/pairs", "count/partials", "counts", "categories")
_MAP, _COMBINE, _REDUCE, _CATEGORIES, _TWEETS, _PAIRS, _PARTIALS, _COUNTS, _TOTALS = range(9)
_START: Final = 1_767_225_600_000_000


@dataclass(frozen=True, slots=True)
class Job:
    """A count of hashtags, as it is recorded."""

    tweets: int
    tags: tuple[float, ...] = EVEN
    """How likely it is that a tweet has none, one, two… hashtags."""
    combine: int = 0
    """How many tweets a worker maps before it combines their hashtags; 0: never."""
    twice: bool = False
    """Whether a second function, which adds by category, uses the same hashtags of tweets."""
    workers: int = 5
    seed: int = 1


@dataclass(frozen=True, slots=True)
class _Stage:
    """Executions of one function, in the order they come, with what they use and generate."""

    spaces: tuple[int, int, int]
    """Of the function, of what it uses, of what it generates."""
    used: tuple[Array, Array]
    """Executions and entities."""
    made: tuple[Array, Array]
    names: Array
    worker: Array
    when: Array
    """Where an execution stands in the stream."""


def recorded(job: Job) -> pa.RecordBatch:
    """Return the trace in one batch, without end markers, as the paper's simulator reads it."""
    whole = concatenate(trace(job))
    kind = whole.column("kind").to_numpy()
    return whole.filter(pa.array(kind != Kind.END))


def truth(job: Job) -> pa.Table:
    """Return the pairs of a count and a tweet that has its hashtag."""
    tweet, tag = _hashtags(job)
    found = [_distinct(_COUNTS, tag, tweet)]
    if job.twice:
        found.append(_distinct(_TOTALS, tag % 5, tweet))
    return pa.concat_tables(found).unify_dictionaries()


def _distinct(space: int, output: Array, tweet: Array) -> pa.Table:
    pairs = np.unique(output * (1 << 32) + tweet)
    texts, length = pa.array(SPACES), len(pairs)

    def spaces(code: int) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(np.full(length, code, np.int32)), texts)

    kind = pa.array(np.full(length, Link.PAIR, np.uint8))
    columns = [kind, spaces(space), pa.array(pairs >> 32)]
    columns += [spaces(_TWEETS), pa.array(pairs & 0xFFFFFFFF)]
    return pa.Table.from_arrays(columns, schema=REDUCED)


def _hashtags(job: Job) -> tuple[Array, Array]:
    """Return the tweet and the tag of each hashtag; tags follow Zipf's law."""
    random = np.random.default_rng(job.seed)
    each = random.choice(len(job.tags), job.tweets, p=job.tags)
    tweet = np.repeat(np.arange(job.tweets), each)
    tag = np.minimum(random.zipf(1.3, len(tweet)), max(10, min(20_000, job.tweets // 20))) - 1
    return tweet, tag


def trace(job: Job) -> Iterator[pa.RecordBatch]:
    """Give the trace in order, with groups and end markers, a microsecond from row to row."""
    stages = list(_stages(job))
    executions, parts = 0, []
    for stage in stages:
        parts.append(_rows(stage, executions))
        executions += len(stage.worker)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns.pop(), kind="stable")
    for begin in range(0, len(order), BATCH):
        chosen = order[begin : begin + BATCH]
        yield _batch([column[chosen] for column in columns], begin)


def _stages(job: Job) -> Iterator[_Stage]:
    tweet, tag = _hashtags(job)
    number = np.arange(job.tweets)
    block = -(-job.tweets // job.workers)
    worker, place = number // block, number % block
    every = job.combine or block
    # Workers map at the same time; after so many tweets each of them combines.
    room = 4 * (job.tweets + len(tweet) + job.workers)
    when = (place // every) * room + place * job.workers + worker
    pairs = np.arange(len(tweet))
    yield _Stage((_MAP, _TWEETS, _PAIRS), (number, number), (pairs, tweet), number, worker, when)
    used, space, by = pairs, _PAIRS, tag
    if job.combine:
        round_ = place[tweet] // every
        key = (round_ * job.workers + worker[tweet]) * (1 << 20) + tag
        known, where = np.unique(key, return_inverse=True)
        first = np.arange(len(known))
        home = known >> 20
        late = (home // job.workers) * room + room // 2 + first
        spaces = (_COMBINE, _PAIRS, _PARTIALS)
        made = (first, first)
        yield _Stage(spaces, (where, pairs), made, first, home % job.workers, late)
        used, space, by = first, _PARTIALS, known & ((1 << 20) - 1)
    ends = (-(-block // every) + 1) * room
    outputs = [(_REDUCE, _COUNTS, by)]
    if job.twice:
        outputs.append((_CATEGORIES, _TOTALS, by % 5))
    for function, output, key in outputs:
        known, where = np.unique(key, return_inverse=True)
        first = np.arange(len(known))
        made = (known, first)
        spaces = (function, space, output)
        yield _Stage(spaces, (where, used), made, known, first % job.workers, ends + first)
        ends += room


def _rows(stage: _Stage, before: int) -> tuple[Array, ...]:
    """Return the columns of a stage's rows, and at last their place in the stream."""
    count = len(stage.worker)
    whose = np.concatenate([stage.used[0], stage.made[1], np.arange(count)])
    kinds = np.array([Kind.USED, Kind.GENERATED, Kind.END], np.uint8)
    what = np.repeat(kinds, [len(stage.used[0]), len(stage.made[0]), count])
    entity = np.concatenate([stage.used[1], stage.made[0], np.zeros(count, np.int64)])
    generated, activity = what == Kind.GENERATED, stage.names[whose]
    function, inputs, outputs = stage.spaces
    return (
        what,
        np.where(generated, outputs, function).astype(np.int32),
        np.where(generated, entity, activity),
        np.where(generated, function, inputs).astype(np.int32),
        np.where(generated, activity, entity),
        np.where(what == Kind.END, NO_GROUP, 2 * (whose + before) + generated),
        stage.worker[whose].astype(np.int32),
        stage.when[whose] * 3
        + np.repeat(np.arange(3), [len(stage.used[0]), len(stage.made[0]), count]),
    )


def _batch(columns: list[Array], rows: int) -> pa.RecordBatch:
    kind, source_space, source, target_space, target, group, worker = columns
    texts, ends = pa.array(SPACES), kind == Kind.END
    return make_batch(
        kind=kind,
        source_space=pa.DictionaryArray.from_arrays(pa.array(source_space), texts),
        source=source,
        target_space=pa.DictionaryArray.from_arrays(pa.array(target_space, mask=ends), texts),
        target=pa.array(target, mask=ends),
        group=group,
        worker=worker,
        time=pa.array(_START + rows + np.arange(len(kind))).cast(TIME),
    )
