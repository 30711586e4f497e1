"""Connected components and shortest ways beside GraphX, and GraphFrames where its jar is there."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.inputs import Pair
from benchmarks.measured import progress, tell
from benchmarks.spark.graphframes import GraphFrames
from benchmarks.spark.graphx import GraphX
from benchmarks.spark.sessions import (
    Asked,
    asked,
    best_in_turns,
    embedded,
    frames,
    on_spark,
    started,
    table,
)

NODES: Final = 20_000
DEGREES: Final = (1, 5)
"""Edges per node."""
LANDMARKS: Final = (0, 17, 4711)

COMPONENTS: Final = """
.type Node <: number
.decl edge(x: Node, y: Node)
.input edge
.decl link(x: Node, y: Node)
link(x, y) :- edge(x, y).
link(y, x) :- edge(x, y).
.decl component(x: Node, c: Node) btree_delete
component(x, x) :- link(x, _).
component(y, c) :- component(x, c), link(x, y).
component(x, c) <= component(x, d) :- d < c.
.output component
"""

WAYS: Final = """
.type Node <: number
.decl edge(x: Node, y: Node)
.input edge
.decl landmark(x: Node)
.input landmark
.decl way(x: Node, to: Node, hops: number) btree_delete
way(x, x, 0) :- landmark(x).
way(x, z, h + 1) :- edge(x, y), way(y, z, h).
way(x, y, h) <= way(x, y, g) :- g < h.
.output way
"""


def drawn(nodes: int, degree: int) -> list[Pair]:
    """Draw so many edges per node; of one, a large component with long ways and many small ones."""
    rng = Random(17)
    found: set[Pair] = set()
    while len(found) < nodes * degree:
        x, y = rng.randrange(nodes), rng.randrange(nodes)
        if x != y:
            found.add((x, y))
    return sorted(found)


def rows_on_spark(spark: Any, text: str, there: Any, output: str) -> set[tuple[int, ...]]:
    """Return the rows that Spark gives, for the judge."""
    from whence.spark import evaluate

    with evaluate(spark, text, there) as found:
        return {tuple(row) for row in found[output].collect()}


def measure(given: Asked) -> dict[str, Any]:
    """Return the best seconds of each system for both problems, and whether all agree."""
    nodes = 400 if given.quick else NODES
    conf = {"spark.jars": given.jars} if given.jars else {}
    with (
        tempfile.TemporaryDirectory(prefix="whence-graphs-") as folder,
        started(given.threads, **conf) as spark,
    ):
        graphs = []
        for degree in DEGREES:
            place = Path(folder, str(degree))
            place.mkdir()
            graphs.append(_graph(given, spark, place, nodes, degree))
    return {"nodes": nodes, "graphs": graphs}


def _graph(given: Asked, spark: Any, folder: Path, nodes: int, degree: int) -> dict[str, Any]:
    """Return the figures of one graph."""
    edges = drawn(nodes, degree)
    marks = [mark % nodes for mark in LANDMARKS]
    facts = {"edge": table(edges), "landmark": table([(mark,) for mark in marks])}
    there = frames(spark, facts)
    others: dict[str, Any] = {"GraphX": GraphX(spark, edges, folder, given.threads)}
    if given.jars:
        others["GraphFrames"] = GraphFrames(spark, there["edge"], folder)
    problems = {}
    for problem, text, output in (("components", COMPONENTS, "component"), ("ways", WAYS, "way")):
        wanted = {n: there[n] for n in (("edge",) if problem == "components" else there)}
        used = {n: facts[n] for n in wanted}
        turns: dict[str, Any] = {
            "embedded": lambda t=text, f=used, o=output: embedded(t, f, (o,), given.threads),
            "spark": lambda t=text, w=wanted, o=output: on_spark(spark, t, w, (o,)),
            **{
                name: lambda other=other, p=problem: other.run(p, marks)
                for name, other in others.items()
            },
        }
        progress(f"{problem}, {len(edges):,} edges")
        best, _ = best_in_turns(turns, min(3, given.runs))
        ours = rows_on_spark(spark, text, wanted, output)
        agree = {name: other.rows(problem, marks) == ours for name, other in others.items()}
        problems[problem] = {"seconds": best, "tuples": len(ours), "agree": agree}
    for frame in there.values():
        frame.unpersist()
    return {"edges": len(edges), "problems": problems}


if __name__ == "__main__":
    tell(measure(asked()))
