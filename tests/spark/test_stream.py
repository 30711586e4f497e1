"""Views of streams on Spark hold what evaluation of all updates gives, after every batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spark.streams import CLOSURE, SAME_GENERATION, Feed, rows_of, total
from whence import spark as on_spark
from whence.diagnostics import DataError, UsageError

pytestmark = pytest.mark.spark

NOW = {"availableNow": True}


def follow(spark: Any, text: str, feed: Feed, state: Path, **how: Any) -> Any:
    """Apply all files that are there, one to a batch."""
    frame = on_spark.updates(spark, feed.folder, files_per_batch=1)
    query = on_spark.maintain(text, frame, checkpoint=state, trigger=NOW, **how)
    query.awaitTermination()
    query.stop()
    return query


@pytest.mark.timeout(300)
def test_a_closure_follows_updates_and_goes_on_where_it_ended(spark: Any, tmp_path: Path) -> None:
    feed, state = Feed(tmp_path / "in", ["edge"]), tmp_path / "state"
    for _ in range(3):
        feed.write(20)
    query = follow(spark, CLOSURE, feed, state, tasks=2, compact_every=2)
    assert {one.role for one in query.last.tasks} == {0, 1}
    expected = feed.expected(CLOSURE, "path")
    assert expected
    assert rows_of(on_spark.view(spark, state, "path")) == expected
    feed.write(20)
    follow(spark, CLOSURE, feed, state, compact_every=2)
    assert on_spark.last_batch(state) == 3
    assert rows_of(on_spark.view(spark, state, "path")) == feed.expected(CLOSURE, "path")
    assert total(on_spark.changes(spark, state, "path")) == feed.expected(CLOSURE, "path")
    assert sorted(p.name for p in (state / "deltas").iterdir()) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_tasks_that_exchange_tuples_keep_mutual_views_exact(spark: Any, tmp_path: Path) -> None:
    relations = ["up", "down", "flat"]
    feed, state = Feed(tmp_path / "in", relations, nodes=7), tmp_path / "state"
    for _ in range(8):
        feed.write(25)
    query = follow(spark, SAME_GENERATION, feed, state, tasks=2, compact_every=3)
    assert all(one.rounds for one in query.last.tasks)
    for name in ("sg", "cousins", "alone"):
        expected = feed.expected(SAME_GENERATION, name)
        assert rows_of(on_spark.view(spark, state, name)) == expected
        assert total(on_spark.changes(spark, state, name)) == expected
    assert feed.expected(SAME_GENERATION, "sg")


@pytest.mark.timeout(300)
def test_a_bad_update_stops_the_query_or_is_put_aside(spark: Any, tmp_path: Path) -> None:
    feed = Feed(tmp_path / "in", ["edge"])
    feed.lines(["+edge(1, 2).", "+edge(1, x).", "+egde(2, 3).", "+edge(2, 3)."])
    with pytest.raises(DataError) as caught:
        follow(spark, CLOSURE, feed, tmp_path / "stop")
    first, second = caught.value.diagnostics
    assert (first.code, first.span.line) == ("W0685", 2)
    assert (second.code, second.span.line) == ("W0683", 3)
    assert first.span.source is not None
    assert first.span.source.name.endswith("000000.txt")
    follow(spark, CLOSURE, feed, tmp_path / "aside", on_bad_row="aside")
    assert rows_of(on_spark.view(spark, tmp_path / "aside", "path")) == {(1, 2), (2, 3), (1, 3)}
    (aside,) = (tmp_path / "aside" / "bad").iterdir()
    assert len(spark.read.json(str(aside)).collect()) == 2


@pytest.mark.timeout(300)
def test_mistakes_are_told_before_the_query_starts(spark: Any, tmp_path: Path) -> None:
    feed = Feed(tmp_path / "in", ["edge"])
    frame = on_spark.updates(spark, feed.folder)

    def refused(code: str, **how: Any) -> None:
        options = {"checkpoint": tmp_path / "state", **how}
        with pytest.raises(UsageError, match=code):
            on_spark.maintain(
                options.pop("program", CLOSURE), options.pop("frame", frame), **options
            )

    refused("W1042", frame=spark.range(1))
    refused("W1050", frame=spark.readStream.format("rate").load().drop("value"))
    refused("W1043", tasks=64)
    refused("W1044", checkpoint="s3://bucket/state")
    refused("W1041", outputs=["pth"])
    refused("W1041", ttl={"path": 5})
    refused("W1051", into={"topic": "changes"})
    follow(spark, CLOSURE, feed, tmp_path / "state")
    refused("W1049", program=CLOSURE + "path(1, 1).")
    with pytest.raises(UsageError, match="W1053"):
        on_spark.view(spark, tmp_path / "in", "path")
    with pytest.raises(UsageError, match="W1041"):
        on_spark.view(spark, tmp_path / "state", "pth")
