"""GraphX through the gateway to the JVM: its own algorithms on a graph that it has in memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.inputs import Pair


class GraphX:
    """One graph; results are counted when timed, and written to text for the judge."""

    def __init__(self, spark: Any, edges: Sequence[Pair], folder: Path, partitions: int) -> None:
        context = spark.sparkContext
        self._jvm = context._jvm
        self._folder = folder
        file = folder / "edges.txt"
        file.write_text("".join(f"{x} {y}\n" for x, y in edges), encoding="utf-8")
        level = self._jvm.org.apache.spark.storage.StorageLevel.MEMORY_ONLY()
        self._graph = self._jvm.org.apache.spark.graphx.GraphLoader.edgeListFile(
            context._jsc.sc(), str(file), False, partitions, level, level
        )
        self._tag = self._jvm.scala.reflect.ClassTag.Int()
        self._graph.vertices().count()
        self._graph.edges().count()

    def _result(self, problem: str, marks: Sequence[int]) -> Any:
        library = self._jvm.org.apache.spark.graphx.lib
        if problem == "components":
            return library.ConnectedComponents.run(self._graph, self._tag, self._tag)
        wanted = self._jvm.java.util.ArrayList()
        for mark in marks:
            wanted.add(self._jvm.java.lang.Long.valueOf(mark))
        landmarks = self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(wanted).toSeq()
        return library.ShortestPaths.run(self._graph, landmarks, self._tag)

    def run(self, problem: str, marks: Sequence[int]) -> int:
        """Solve a problem; return how many vertices have an answer."""
        found: int = self._result(problem, marks).vertices().count()
        return found

    def rows(self, problem: str, marks: Sequence[int]) -> set[tuple[int, ...]]:
        """Return the answers as our programs give them."""
        place = self._folder / f"graphx-{problem}"
        self._result(problem, marks).vertices().saveAsTextFile(str(place))
        lines = [
            line for part in sorted(place.glob("part-*")) for line in part.read_text().splitlines()
        ]
        if problem == "components":
            return {tuple(map(int, line.strip("()").split(","))) for line in lines}
        found: set[tuple[int, ...]] = set()
        for line in lines:
            vertex = int(line.lstrip("(").partition(",")[0])
            found |= {(vertex, int(a), int(b)) for a, b in re.findall(r"(\d+) -> (\d+)", line)}
        return found
