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


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_facts_leave_windows_by_the_times_of_any_frame(spark: Any, tmp_path: Path) -> None:
    feed, state = Feed(tmp_path / "in", ["edge"]), tmp_path / "state"
    row = '{{"op": "+", "relation": "edge", "values": [{}, {}], "time": "2026-01-01T00:00:{}Z"}}'
    feed.lines([row.format(1, 2, "00"), row.format(2, 3, "20")])
    feed.lines([row.format(3, 4, "40"), row.format(9, 9, "19")])
    feed.lines([row.format(4, 5, "41"), row.format(8, 8, "19")])
    schema = "op string, relation string, values array<string>, time timestamp"
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    query = on_spark.maintain(
        CLOSURE,
        source.json(str(feed.folder)),
        checkpoint=state,
        ttl={"edge": 15},
        watermark=10,
        trigger=NOW,
    )
    query.awaitTermination()
    query.stop()
    assert query.last.late == 1  # the watermark was 10 after the first batch, and 30 by then
    expected = {(2, 3), (3, 4), (4, 5), (2, 4), (3, 5), (2, 5), (9, 9)}
    assert rows_of(on_spark.view(spark, state, "path")) == expected
    told = on_spark.changes(spark, state, "path")
    assert total(told) == expected
    assert rows_of(told.where("op = '-'")) == {("-", 1, 2, 1), ("-", 1, 3, 1)}
