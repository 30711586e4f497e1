"""Patterns over paths of two labels, the same program plain and annotated, in turns.

Patterns r, p1, p2 and p3 of Ramusat, Maniu and Senellart's experiments with Soufflé-Prov.

Run as a process of its own: `python -m benchmarks.provenance.patterns '{…}'` prints JSON.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.measured import in_turns, progress, tell
from benchmarks.provenance.networks import weighted
from benchmarks.provenance.shortest import table
from whence import session
from whence.engine.base import Evaluation

PATHS: Final = """
.decl edge_a(s: number, t: number, @prov: tropical)
.decl edge_b(s: number, t: number, @prov: tropical)
.decl path_a(s: number, t: number, @prov: tropical)
.decl path_b(s: number, t: number, @prov: tropical)
path_a(x, y) :- edge_a(x, y).
path_a(x, y) :- path_a(x, z), edge_a(z, y).
path_b(x, y) :- edge_b(x, y).
path_b(x, y) :- path_b(x, z), edge_b(z, y).
"""

_BITS: Final = 16
"""Nodes are below two to this power, so that four of them are one number."""


@dataclass(frozen=True, slots=True)
class Graphs:
    """How many nodes there are, and how many edges of each label."""

    nodes: int
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """A relation with its rule, and graphs that make it small, larger and large."""

    name: str
    columns: str
    body: str
    sizes: tuple[Graphs, ...]
    tiny: Graphs

    @property
    def text(self) -> str:
        """The program that asks for it."""
        declared = ", ".join(f"{column}: number" for column in self.columns)
        head = f"{self.name}({', '.join(self.columns)})"
        return (
            f"{PATHS}.decl {self.name}({declared}, @prov: tropical)\n"
            f".output {self.name}\n{head} :- {self.body}.\n"
        )


def _closed(nodes: int) -> Graphs:
    """Nearly every node reaches every other."""
    return Graphs(nodes, 5 * nodes, 5 * nodes)


def _sparse(nodes: int, b: float = 0.9) -> Graphs:
    """A node reaches few others by a."""
    return Graphs(nodes, int(0.9 * nodes), int(b * nodes))


PATTERNS: Final = (
    Pattern("r", "xy", "path_a(x, y)", tuple(map(_closed, (715, 2020, 4500))), _closed(60)),
    Pattern(
        "p1",
        "xyz",
        "edge_a(x, y), path_b(y, z), edge_a(z, x)",
        (
            Graphs(120, 120 * 65, 600),
            Graphs(250, 250 * 128, 1250),
            Graphs(400, 400 * 226, 2000),
        ),
        Graphs(30, 300, 150),
    ),
    Pattern(
        "p2",
        "wxyz",
        "path_a(w, x), path_b(x, y), path_a(y, z)",
        tuple(map(_sparse, (2600, 9500, 24_000))),
        _sparse(200),
    ),
    Pattern(
        "p3",
        "wxyz",
        "path_a(w, x), edge_b(x, y), path_a(y, z)",
        tuple(_sparse(nodes, 4.0) for nodes in (3200, 13_000, 60_000)),
        _sparse(200, 4.0),
    ),
)


def support(found: Evaluation, pattern: Pattern) -> NDArray[np.int64]:
    """Return the tuples without annotations as one number each, sorted."""
    columns = found.table(pattern.name).columns[: len(pattern.columns)]
    packed = np.zeros(found.size(pattern.name), dtype=np.int64)
    for column in columns:
        packed <<= _BITS
        packed |= column.to_numpy()
    packed.sort()
    return packed


def measure(pattern: Pattern, graphs: Graphs, threads: int, runs: int) -> dict[str, Any]:
    """Evaluate plain and annotated in turns; the best of the runs counts, after one of each."""
    assert graphs.nodes < 2**_BITS
    inputs = {
        "edge_a": table(weighted(graphs.nodes, graphs.a, 1)),
        "edge_b": table(weighted(graphs.nodes, graphs.b, 2)),
    }
    program = session.parse(pattern.text)
    evaluate = {
        name: partial(
            session.evaluate, session.compile(program, semiring=name), inputs, threads=threads
        )
        for name in ("plain", "tropical")
    }
    plain, tropical = (support(do(), pattern) for do in evaluate.values())
    found = {
        "pattern": pattern.name,
        "nodes": graphs.nodes,
        "edges": [graphs.a, graphs.b],
        "tuples": plain.shape[0],
        "exact": bool(np.array_equal(plain, tropical)),
    }
    del plain, tropical
    found["seconds"] = {name: min(times) for name, times in in_turns(evaluate, runs).items()}
    progress(f"{found}")
    return found


def main() -> None:
    """Measure all of it."""
    asked = json.loads(sys.argv[1])
    threads, quick = asked["threads"], asked["quick"]
    for pattern in PATTERNS:
        measure(pattern, pattern.tiny, threads, 1)
    tell(
        [
            measure(pattern, graphs, threads, 1 if quick else 3)
            for pattern in PATTERNS
            for graphs in ((pattern.tiny,) if quick else pattern.sizes)
        ]
    )


if __name__ == "__main__":
    main()
