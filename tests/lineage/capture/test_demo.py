"""The demonstration's answers are what its tweets say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from whence.lineage import demo
from whence.lineage.capture.tracer import Tracer, trace

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.parametrize("rdds", [False, True])
def test_a_total_comes_from_the_tweets_with_a_hashtag_of_its_category(
    spark: Any, tmp_path: Path, rdds: bool
) -> None:
    said: list[str] = []
    folder = tmp_path / "demo"
    shown = demo.show(spark, folder, 400, rdds=rdds, say=said.append)
    category = shown.total.split()[0]
    place = demo.CATEGORIES.index(category)
    tracer = trace(spark, workflow="w", job="look", log=tmp_path / "look")
    assert isinstance(tracer, Tracer)
    tweets = tracer.textFile(f"{folder}/tweets")._pairs().collect()
    meant = {
        number
        for number, line in tweets
        if any(int(tag) % 5 == place for tag in re.findall(r"#tag(\d+)", line))
    }
    reached = shown.backward.ends.by_space
    if not rdds:  # frames of CSV files are cut into other partitions than lines of text
        rows = tracer.read.text(f"{folder}/tweets")
        hidden = rows._references[0].column
        meant = {
            row[hidden]
            for row in rows._frame.collect()
            if any(int(tag) % 5 == place for tag in re.findall(r"#tag(\d+)", row[0]))
        }
    assert set(reached["tweets"].tolist()) == meant
    assert len(reached["categories"]) > 0
    assert ("totals", next(iter(shown.backward.asked))[1]) in shown.forward.ends
    assert shown.edges > shown.reduced > 0
    assert any("job 1" in line for line in said)
