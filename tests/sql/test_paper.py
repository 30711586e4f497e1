"""The paper's queries in SQL give what their rules give, here and on Spark, also after updates."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sql import queries
from whence import Database
from whence.app.sql import run_script
from whence.sql import script

LINK = "create table link(src text, dst text);"
COSTS = "create table link(src text, dst text, cost int);"
SENSORS = """
create table sensor(sensorid int, coord text);
create table mainSensorInRegion(regionid int, sensorid int);
create table isTriggered(sensorid int);
create function distance(a text, b text) returns double;
"""
NAMES = "abcdefg"


def links(seed: int, count: int) -> list[tuple[str, str]]:
    r = Random(seed)
    return sorted({(r.choice(NAMES), r.choice(NAMES)) for _ in range(count)})


def same(ours: Database, rules: Database, names: list[str]) -> None:
    for name in names:
        assert sorted(ours[name]) == sorted(rules[name]), name
        assert len(ours[name]) > 0


@pytest.mark.parametrize("seed", range(5))
def test_reachability(seed: int) -> None:
    ours, rules = Database(), Database()
    ours.sql(LINK + queries.REACHABLE)
    rules.load(queries.REACHABLE_RULES)
    for part in (links(seed, 12), links(seed + 100, 6)):
        for db in (ours, rules):
            db.insert("link", part)
        same(ours, rules, ["reachable"])
    gone = links(seed, 12)[::2]
    ours.sql("; ".join(f"delete from link where src = '{x}' and dst = '{y}'" for x, y in gone))
    rules.delete("link", gone)
    same(ours, rules, ["reachable"])


@pytest.mark.parametrize("seed", range(5))
def test_shortest_and_cheapest_paths_on_graphs_with_cycles(seed: int) -> None:
    ours, rules = Database(), Database()
    ours.sql(COSTS + queries.PATHS)
    rules.load(queries.PATHS_RULES)
    r = Random(seed)
    rows = [(x, y, r.randint(1, 5)) for x, y in links(seed, 14)]
    names = ["minCost", "cheapestPath", "fewestHops", "shortestCheapestPath"]
    for db in (ours, rules):
        db.insert("link", rows)
    same(ours, rules, names)
    ours.sql("update link set cost = cost + 3 where src < 'd'; delete from link where dst = 'g'")
    rules.delete("link", rows)
    changed = [(x, y, c + 3 if x < "d" else c) for x, y, c in rows if y != "g"]
    rules.insert("link", changed)
    same(ours, rules, names)


def distance(a: str, b: str) -> float:
    first, second = (tuple(map(float, text.split(","))) for text in (a, b))
    return math.dist(first, second)


@pytest.mark.parametrize("seed", range(3))
def test_largest_region(seed: int) -> None:
    ours, rules = Database(), Database()
    for db in (ours, rules):
        db.functor("distance", distance)
    ours.sql(SENSORS + queries.REGIONS)
    rules.load(queries.REGIONS_RULES)
    r = Random(seed)
    sensors = [(i, f"{r.randint(0, 99)},{r.randint(0, 99)}") for i in range(40)]
    for db in (ours, rules):
        db.insert("sensor", sensors)
        db.insert("mainSensorInRegion", [(100 + i, i) for i in range(5)])
        db.insert("isTriggered", [(i,) for i in range(0, 40, 2)] + [(1,), (3,)])
    names = ["activeRegion", "regionSizes", "largestRegion", "largestRegions"]
    same(ours, rules, names)
    ours.sql("delete from isTriggered where sensorid > 20")
    rules.delete("isTriggered", [(i,) for i in range(22, 40, 2)])
    same(ours, rules, names)


@pytest.mark.spark
def test_on_spark_before_and_after_updates(spark: Any, tmp_path: Path) -> None:
    rows = [(x, y, Random(3).randint(1, 5)) for x, y in links(3, 10)]
    lines = [f"{x}\t{y}\t{c}" for x, y, c in rows]
    (tmp_path / "link.facts").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ask = "select * from shortestCheapestPath; select src, count(*) as n from minCost group by src;"
    change = "insert into link values ('a', 'g', 2); delete from link where dst = 'b';"
    said = script(COSTS + queries.PATHS + ";" + ask + change + ask)
    here = [table.rows() for _, table in run_script(said, facts=tmp_path)]
    there = [table.rows() for _, table in run_script(said, facts=tmp_path, engine="spark")]
    assert len(here) == 4
    assert here[:2] != here[2:]
    assert [sorted(rows) for rows in there] == [sorted(rows) for rows in here]
