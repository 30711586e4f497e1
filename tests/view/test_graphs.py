"""Closures and shortest paths of middling graphs under updates, judged by other systems."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from view.judge import rows_of
from whence.session import maintain, parse
from whence.view.base import STRATEGIES, Update

NODES = 300
CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
CLOSURE_SQL = """
WITH RECURSIVE path(x, y) AS (
    SELECT x, y FROM edge UNION SELECT path.x, edge.y FROM path JOIN edge ON path.y = edge.x
)
SELECT x, y FROM path
"""
NEAREST = """
.decl edge(x: number, y: number, c: number)
.decl root(x: number)
.decl near(r: number, x: number, c: number) btree_delete
near(r, r, 0) :- root(r).
near(r, y, c + d) :- near(r, x, c), edge(x, y, d).
near(r, x, c) <= near(r, x, d) :- d < c.
"""
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)

Rows = set[tuple[int, ...]]


def table(rows: Rows, names: str) -> pa.Table:
    columns = zip(*sorted(rows), strict=True) if rows else [()] * len(names)
    arrays = [pa.array(column, pa.int64()) for column in columns]
    return pa.table(arrays, names=list(names))


def random_edges(rng: Random, count: int) -> Rows:
    return {(rng.randrange(NODES), rng.randrange(NODES)) for _ in range(count)}


@every_strategy
def test_the_closure_under_updates_is_what_duckdb_finds(strategy: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    rng = Random(11)
    edges = random_edges(rng, 420)
    view = maintain(parse(CLOSURE), {"edge": table(edges, "xy")}, strategy=strategy)
    held = set(rows_of(view.table("path")))
    with duckdb.connect() as connection:
        for size in (1, 1, 5, 1, 40, 1, 120):
            gone = set(rng.sample(sorted(edges), size))
            come = random_edges(rng, size) - edges
            update = Update(inserted=table(come, "xy"), deleted=table(gone, "xy"))
            change = view.apply({"edge": update})["path"]
            edges = edges - gone | come
            connection.register("edge", table(edges, "xy"))
            needed = set(connection.execute(CLOSURE_SQL).fetchall())
            came, went = set(rows_of(change.inserted)), set(rows_of(change.deleted))
            assert (came, went) == (needed - held, held - needed)
            assert set(rows_of(view.table("path"))) == needed
            held = needed


@every_strategy
def test_shortest_distances_under_updates_are_what_networkx_finds(strategy: str) -> None:
    networkx = pytest.importorskip("networkx")
    rng = Random(12)
    costs = {edge: rng.choice([0, 0, 1, 2, 5, 9]) for edge in random_edges(rng, 800)}
    roots = {(rng.randrange(NODES),) for _ in range(6)}

    def rows(edges: Rows) -> pa.Table:
        return table({(*edge, costs[edge]) for edge in edges}, "xyc")

    inputs = {"edge": rows(set(costs)), "root": table(roots, "x")}
    view = maintain(parse(NEAREST), inputs, strategy=strategy)
    for size in (1, 1, 5, 1, 40, 200):
        gone = set(rng.sample(sorted(costs), size))
        deleted = rows(gone)
        dearer = set(rng.sample(sorted(gone), size // 2))
        for edge in gone - dearer:
            del costs[edge]
        come = random_edges(rng, size) - set(costs) | dearer
        costs |= {edge: rng.choice([0, 1, 2, 5, 30]) for edge in come}
        view.apply({"edge": Update(inserted=rows(come), deleted=deleted)})
        graph = networkx.DiGraph()
        graph.add_nodes_from(x for (x,) in roots)
        graph.add_weighted_edges_from((x, y, c) for (x, y), c in costs.items())
        needed = {
            (root, node, cost)
            for (root,) in roots
            for node, cost in networkx.single_source_dijkstra_path_length(graph, root).items()
        }
        assert set(rows_of(view.table("near"))) == needed
