"""The workflow of Suriarachchi, Withana and Plale (2018), figure 12, on generated tweets.

Job 1 counts hashtags, job 2 counts by category. Each is an ordinary PySpark job, in both APIs, and
runs alike with a session of Spark's and with a tracer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from whence.diagnostics import DataError, Diagnostic

if TYPE_CHECKING:
    from whence.lineage.repository.repository import Repository
    from whence.lineage.repository.walk import Answer

WORKFLOW: Final = "tweets"
CATEGORIES: Final = ("sports", "movies", "politics", "music", "science")
_TAG: Final = re.compile(r"#(\w+)")
_WORDS: Final = ("today", "we", "saw", "the", "game", "again", "and", "loved", "it", "so", "much")


def write_tweets(folder: Path, rows: int, seed: int = 0, files: int = 4) -> None:
    """Write tweets, of none to three hashtags each by Zipf's law, as CSV files."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    folder.mkdir(parents=True)
    random = np.random.default_rng(seed)
    words = pa.array(_WORDS)
    most = max(10, min(20_000, rows // 20))
    for file, share in enumerate(np.array_split(np.arange(rows), files)):
        n = len(share)
        pick = [words.take(pa.array(random.integers(0, len(words), n))) for _ in range(6)]
        count = random.integers(0, 4, n)
        tags = []
        for place in range(3):
            tag = pa.array((random.zipf(1.3, n) - 1) % most).cast(pa.string())
            hashtag = pc.binary_join_element_wise("#tag", tag, "")
            tags.append(pc.if_else(pa.array(count > place), hashtag, ""))
        message = pc.binary_join_element_wise(*pick[:3], *tags, *pick[3:], " ")
        user = pa.array(random.integers(0, 50_000, n)).cast(pa.string())
        second = pa.array(share % 86_400).cast(pa.string())
        lines = pc.binary_join_element_wise(
            pc.binary_join_element_wise("user", user, ""), second, "en", message, ","
        )
        text = "\n".join(lines.to_pylist())
        (folder / f"tweets-{file}.csv").write_text(f"{text}\n" if n else "", encoding="utf-8")


def write_categories(path: Path, rows: int) -> None:
    """Write which category each hashtag is in."""
    most = max(10, min(20_000, rows // 20))
    lines = (f"tag{tag},{CATEGORIES[tag % len(CATEGORIES)]}" for tag in range(most))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


# ── the jobs, with frames ──


def count_tags(spark: Any, tweets: str, counts: str) -> None:
    """Job 1: how often each hashtag occurs."""
    from pyspark.sql import functions as F

    read = spark.read.csv(tweets, schema="user string, second long, language string, text string")
    tags = read.select(F.explode(F.expr(r"regexp_extract_all(text, '#(\\w+)', 1)")).alias("tag"))
    tags.groupBy("tag").count().write.mode("overwrite").parquet(counts)


def count_categories(spark: Any, counts: str, categories: str, totals: str) -> None:
    """Job 2: how often hashtags of each category occur."""
    from pyspark.sql import functions as F

    named = spark.read.csv(categories, schema="tag string, category string")
    joined = spark.read.parquet(counts).join(named, "tag")
    total = joined.groupBy("category").agg(F.sum("count").alias("count"))
    total.coalesce(1).write.mode("overwrite").parquet(totals)


# ── the same jobs, with RDDs ──


def count_tags_rdd(spark: Any, tweets: str, counts: str) -> None:
    """Job 1 with RDDs."""
    lines = spark.sparkContext.textFile(tweets)
    pairs = lines.flatMap(_TAG.findall).map(lambda tag: (tag, 1))
    total = pairs.reduceByKey(lambda one, two: one + two)
    total.map(lambda pair: f"{pair[0]},{pair[1]}").saveAsTextFile(counts)


def count_categories_rdd(spark: Any, counts: str, categories: str, totals: str) -> None:
    """Job 2 with RDDs."""
    context = spark.sparkContext
    found = context.textFile(counts).map(lambda line: line.split(","))
    named = context.textFile(categories).map(lambda line: tuple(line.split(",")))
    joined = found.map(lambda pair: (pair[0], int(pair[1]))).join(named)
    total = joined.map(lambda row: (row[1][1], row[1][0])).reduceByKey(lambda one, two: one + two)
    total.map(lambda pair: f"{pair[0]},{pair[1]}").saveAsTextFile(totals)


def run(
    spark: Any,
    folder: Path,
    log: str | os.PathLike[str],
    *,
    rdds: bool = False,
    say: Callable[[str], None] = lambda line: None,
    **options: Any,
) -> tuple[str, str]:
    """Run both jobs traced, on `tweets` and `categories.csv` of the folder; return their topics."""
    from whence.lineage.capture import trace

    count, add = (count_tags_rdd, count_categories_rdd) if rdds else (count_tags, count_categories)
    say("job 1 counts hashtags")
    counting = trace(spark, workflow=WORKFLOW, job="hashtags", log=log, **options)
    count(counting, f"{folder}/tweets", f"{folder}/counts")
    say("job 2 counts categories")
    adding = trace(spark, workflow=WORKFLOW, job="categories", log=log, **options)
    add(adding, f"{folder}/counts", f"{folder}/categories.csv", f"{folder}/totals")
    return str(counting.topic), str(adding.topic)


def _is_parquet(folder: Path) -> bool:
    return any(folder.glob("*.parquet"))


@dataclass(frozen=True, slots=True)
class Shown:
    """What the demonstration shows: how much there was, and an answer in each direction."""

    tweets: int
    edges: int
    reduced: int
    total: str
    backward: Answer
    forward: Answer


def show(
    spark: Any,
    folder: Path,
    rows: int,
    *,
    rdds: bool = False,
    sample: float = 1.0,
    say: Callable[[str], None] = lambda line: None,
) -> Shown:
    """Generate tweets, run both jobs traced, reduce, store, and ask; all in a new folder."""
    from whence.lineage.log import open_log
    from whence.lineage.reduce.resumed import LogReduction
    from whence.lineage.repository.repository import Repository

    say(f"generating {rows:,} tweets")
    write_tweets(folder / "tweets", rows)
    write_categories(folder / "categories.csv", rows)
    log = open_log(folder / "log")
    topics = run(spark, folder, folder / "log", rdds=rdds, say=say, sample=sample)
    repository = Repository(folder / "repository")
    edges = reduced = 0
    for job, topic in zip(("hashtags", "categories"), topics, strict=True):
        say(f"reducing the lineage of {job}")
        edges += sum(log.end_offsets(topic))
        graph = list(LogReduction(log, topic).at_once())
        reduced += sum(batch.num_rows for batch in graph)
        repository.add(graph, workflow=WORKFLOW, job=job, run=topic)
    say("asking")
    name, total = _a_total(spark, folder, repository)
    backward = repository.backward([name])
    tweet = next((entity for entity in backward.ends if entity[0] == "tweets"), None)
    forward = repository.forward([tweet or next(iter(backward.ends))])
    return Shown(rows, edges, reduced, total, backward, forward)


def _a_total(spark: Any, folder: Path, repository: Repository) -> tuple[tuple[str, int], str]:
    """Return the first row of the totals that has lineage, and what it says."""
    from whence.lineage.capture import trace

    reader: Any = trace(spark, workflow=WORKFLOW, job="look", log=folder / "look").read
    path = f"{folder}/totals"
    rows = reader.parquet(path) if _is_parquet(folder / "totals") else reader.csv(path)
    hidden = rows._references[0].column
    for row in rows._frame.orderBy(hidden).collect():
        entity = ("totals", int(row[hidden]))
        if len(repository.backward([entity]).ends):
            return entity, f"{row[0]} with {int(row[1]):,} hashtags"
    raise _nothing()


def _nothing() -> DataError:
    message = "no tweet that is followed has a hashtag"
    return DataError(Diagnostic("W1182", message, hint="take more rows, or all of them"))
