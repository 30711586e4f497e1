"""GraphFrames through the gateway to the JVM, where its jar is on the class path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


class GraphFrames:
    """One graph as two frames that Spark has in memory."""

    def __init__(self, spark: Any, edges: Any, folder: Path) -> None:
        from pyspark.sql import functions as F

        spark.sparkContext.setCheckpointDir(str(folder / "checkpoints"))
        self._spark = spark
        self._jvm = spark.sparkContext._jvm
        pairs = edges.toDF("src", "dst")
        ends = pairs.select(F.col("src").alias("id")).union(pairs.select("dst")).distinct()
        self._vertices, self._edges = ends.persist(), pairs.persist()
        self._vertices.count()
        self._edges.count()
        self._graph = self._jvm.org.graphframes.GraphFrame.apply(
            self._vertices._jdf, self._edges._jdf
        )

    def _result(self, problem: str, marks: Sequence[int]) -> Any:
        from pyspark.sql import DataFrame

        if problem == "components":
            found = self._graph.connectedComponents().run()
        else:
            wanted = self._jvm.java.util.ArrayList()
            for mark in marks:
                wanted.add(self._jvm.java.lang.Long.valueOf(mark))
            found = self._graph.shortestPaths().landmarks(wanted).run()
        return DataFrame(found, self._spark)

    def run(self, problem: str, marks: Sequence[int]) -> int:
        """Solve a problem; return how many vertices have an answer."""
        found: int = self._result(problem, marks).count()
        return found

    def rows(self, problem: str, marks: Sequence[int]) -> set[tuple[int, ...]]:
        """Return the answers as our programs give them; components are named by their least."""
        rows = self._result(problem, marks).collect()
        if problem == "components":
            least: dict[int, int] = {}
            for row in rows:
                least[row["component"]] = min(least.get(row["component"], row["id"]), row["id"])
            return {(row["id"], least[row["component"]]) for row in rows}
        return {(row["id"], int(m), int(h)) for row in rows for m, h in row["distances"].items()}
