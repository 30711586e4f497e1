"""backward, forward, delete and stats, as people type them."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.commands import whence
from lineage.repository.workflows import Quick
from whence.app.cli.lineage import COMMANDS
from whence.app.cli.lineage.working import Working
from whence.lineage.reduced import Link, reduced_of
from whence.lineage.repository.repository import Repository

COUNT = reduced_of(
    [
        (Link.PAIR, ("tags", 0), ("tweets", 0)),
        (Link.PAIR, ("tags", 0), ("tweets", 2)),
        (Link.OUT, ("tags", 1), ("group/count", 0)),
        (Link.OUT, ("tags", 2), ("group/count", 0)),
        (Link.IN, ("group/count", 0), ("tweets", 1)),
        (Link.IN, ("group/count", 0), ("tweets", 2)),
    ]
)
SORT = reduced_of([(Link.PAIR, ("kinds", 0), ("tags", 0)), (Link.PAIR, ("kinds", 1), ("tags", 2))])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    repository = Repository(tmp_path / "lineage", files=Quick())
    day = datetime(2026, 3, 1, tzinfo=UTC)
    repository.add(COUNT, workflow="twitter", job="count", ended=day)
    repository.add(SORT, workflow="twitter", job="sort", ended=day.replace(day=2))
    (tmp_path / "tweets.csv").write_text("id,author\n0,ann\n1,bob\n2,ann\n")
    return tmp_path / "lineage"


@pytest.mark.parametrize("command", [c.__name__.rstrip("_") for c in COMMANDS])
def test_every_command_has_help_with_an_example(command: str) -> None:
    ended = whence("lineage", command, "--help")
    assert ended.code == 0
    assert f"whence lineage {command}" in ended.out


def test_backward_prints_the_inputs_table_by_table(place: Path) -> None:
    ended = whence("lineage", "backward", place, "kinds/1")
    assert ended.code == 0
    assert ended.out == "tweets: 2 rows\n  tweets/1\n  tweets/2\n"
    assert ended.err == "on the way: 1 more, which `--all` shows\n"


def test_all_prints_what_is_on_the_way(place: Path) -> None:
    ended = whence("lineage", "backward", place, "kinds/1", "--all")
    assert ended.out == "tags: 1 row\n  tags/2\ntweets: 2 rows\n  tweets/1\n  tweets/2\n"


def test_a_job_has_its_own_inputs(place: Path) -> None:
    assert whence("lineage", "backward", place, "kinds/1", "--job", "sort").out == (
        "tags: 1 row\n  tags/2\n"
    )


def test_a_period_leaves_other_jobs_out(place: Path) -> None:
    assert whence("lineage", "backward", place, "kinds/1", "--since", "2026-03-02").out == (
        "tags: 1 row\n  tags/2\n"
    )


def test_large_answers_are_counted_first(place: Path) -> None:
    ended = whence("lineage", "backward", place, "kinds/1", "--limit", "1")
    assert ended.out == "tweets: 2 rows\n  tweets/1\n  … and 1 more\n"


def test_forward_takes_rows_by_a_predicate(place: Path) -> None:
    data = place.parent / "tweets.csv"
    ended = whence(
        *("lineage", "forward", place, "--table", "tweets"),
        *("--data", data, "--where", "author = 'bob'", "--format", "json"),
    )
    assert ended.code == 0
    found = json.loads(ended.out)
    assert found["asked"] == ["whence:tweets/1"]
    assert found["count"] == 2
    assert found["tables"] == [
        {"table": "kinds", "count": 1, "names": ["whence:kinds/1"]},
        {"table": "tags", "count": 1, "names": ["whence:tags/1"]},
    ]
    assert [run["job"] for run in found["runs"]] == ["count", "sort"]


def test_delete_only_lists_without_yes(place: Path) -> None:
    ended = whence("lineage", "delete", place, "tweets/0")
    assert (
        ended.out == "kinds: 1 row\n  kinds/0\ntags: 1 row\n  tags/0\ntweets: 1 row\n  tweets/0\n"
    )
    assert "--yes" in ended.err
    assert whence("lineage", "backward", place, "kinds/0").code == 0


def test_what_was_deleted_is_told(place: Path) -> None:
    ended = whence("lineage", "delete", place, "tweets/0", "--yes", "--format", "json")
    assert json.loads(ended.out)["count"] == 3
    ended = whence("lineage", "backward", place, "kinds/0")
    assert ended.code == 3
    assert "W1147" in ended.err


def test_stats_count_what_is_there(place: Path) -> None:
    ended = whence("lineage", "stats", place)
    assert ended.out.startswith("2 runs of jobs, 8 edges for 8 pairs\n1 groups, 0 deleted rows")
    assert "job twitter/sort (2, 2026-03-02 00:00): tags → kinds" in ended.out
    found = json.loads(whence("lineage", "stats", place, "--format", "json").out)
    assert found["tables"] == {"kinds": 2, "tags": 3, "tweets": 3}
    assert found["runs"][0]["outputs"] == {"tags": 3}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["backward", "{place}"], 2, "W1159"),
        (["backward", "{place}", "tags/1", "--table", "tags"], 2, "W1159"),
        (["backward", "{place}", "tags/1", "--where", "true"], 2, "W1159"),
        (["backward", "{place}", "--table", "tags"], 2, "W1159"),
        (["backward", "{place}", "tags/1", "--id", "id"], 2, "W1159"),
        (["backward", "{place}", "tags/1", "\udcff/1"], 2, "W1145"),
        (["delete", "{place}", "\udcff/1", "--yes"], 2, "W1145"),
        (["backward", "{place}", "tags/1", "--since", "0001-01-01T00:00+14:00"], 2, "W1155"),
        (["export", "{place}", "--until", "9999-12-31T23:59-14:00"], 2, "W1155"),
        (["backward", "{place}", "tgs/1"], 3, "did you mean the table `tags`"),
        (["backward", "{place}", "tags/1", "--job", "cuont"], 2, "did you mean `count`"),
        (["backward", "{place}", "tags/1", "--workflow", "x"], 2, "W1148"),
        (["backward", "{place}", "tags/1", "--since", "noon"], 2, "W1155"),
        (["forward", "{place}", "tags/1", "--since", "2026-02-01", "--until", "2026-01-01"], 2, "W1156"),
        (["stats", "{place}/nowhere"], 2, "W1141"),
        (["stats", "{place}/manifest.json"], 2, "W1140"),
        (["forward", "{place}", "--table", "tweets", "--data", "{place}/x.csv"], 3, "W1151"),
        (["forward", "{place}", "--table", "tweets", "--data", "{place}/lock"], 3, "W1151"),
        (["forward", "{place}", "--table", "t", "--data", "{data}", "--id", "ids"], 2, "W1152"),
        (["forward", "{place}", "--table", "t", "--data", "{data}", "--id", "author"], 2, "W1152"),
        (["forward", "{place}", "--table", "t", "--data", "{data}", "--where", "id <"], 2, "W1150"),
    ],
)  # fmt: skip
def test_mistakes_are_told(place: Path, arguments: list[str], code: int, said: str) -> None:
    data = place.parent / "tweets.csv"
    ended = whence("lineage", *(a.format(place=place, data=data) for a in arguments))
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err


def test_some_unknown_names_are_a_warning(place: Path) -> None:
    ended = whence("lineage", "backward", place, "tags/0", "tags/77")
    assert ended.code == 0
    assert ended.out == "tweets: 2 rows\n  tweets/0\n  tweets/2\n"
    assert "warning[W1146]: 1 of 2" in ended.err


def test_long_work_is_shown_on_a_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("FORCE_COLOR", "1"), ("TERM", "xterm"), ("COLUMNS", "120")):
        monkeypatch.setenv(name, value)
    with Working(enabled=True, patience=0.0) as working:
        working.say("counting [very] long")
        time.sleep(0.4)
    assert "counting [very] long" in capfd.readouterr().err
    with Working(enabled=True, patience=60.0) as working:
        working.say("short")
    assert capfd.readouterr().err == ""
