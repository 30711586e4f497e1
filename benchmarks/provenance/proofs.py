"""Proofs of random pairs of a closure, and why others are not there; each is checked.

`python -m benchmarks.provenance.proofs '{"nodes": 2000, "facts": 300, …}'` prints JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, TypeVar

import numpy as np

from benchmarks.figures import spread
from benchmarks.inputs import random_graph
from benchmarks.measured import progress, tell
from benchmarks.views.stopwatch import CLOSURE, columns
from whence import Database
from whence.explain.model import Derived, Fact, Given, Proof, WhyNot

Pair = tuple[int, int]
Answer = TypeVar("Answer")


class Judge:
    """Knows the edges, and how many of them lead from a node to each other one at least."""

    def __init__(self, nodes: int, rows: Sequence[Sequence[int]]) -> None:
        self.edges = {(row[0], row[1]) for row in rows}
        self._after: list[list[int]] = [[] for _ in range(nodes)]
        for x, y in self.edges:
            self._after[x].append(y)

    def steps(self, source: int) -> dict[int, int]:
        """Return the nodes that are reached, by one edge or more, and by how many."""
        found: dict[int, int] = {}
        frontier = [source]
        distance = 0
        while frontier:
            distance += 1
            frontier = [y for x in frontier for y in self._after[x] if y not in found]
            found.update(dict.fromkeys(frontier, distance))
            frontier = list(dict.fromkeys(frontier))
        return found

    def is_proof(self, proof: Proof, asked: Pair, *, lowest: bool) -> bool:
        """Whether it leads from the pair to given edges, by as few as can be if it says so."""
        fact, height = Fact("path", asked), 0
        while True:
            if not isinstance(proof, Derived) or proof.fact != fact:
                return False
            height += 1
            x, z = fact.row
            *below, edge = proof.premises
            if not isinstance(edge, Given) or edge.fact.relation != "edge":
                return False
            if edge.fact.row not in self.edges or edge.fact.row[1] != z:
                return False
            y = edge.fact.row[0]
            if not below:
                shortest = self.steps(asked[0])[asked[1]]
                return proof.number == 1 and y == x and (height == shortest or not lowest)
            if proof.number != 2 or len(below) != 1:
                return False
            proof, fact = below[0], Fact("path", (x, y))  # type: ignore[assignment]

    def is_absence(self, answer: WhyNot, asked: Pair) -> bool:
        """Whether both rules fail, and what is said to be missing is."""
        if answer.fact.row != asked or {f.number for f in answer.failed} != {1, 2}:
            return False
        missing = [m for failed in answer.failed for m in failed.missing]
        return bool(missing) and not any(
            self._matches(m.relation, m.pattern) for m in missing if m.kind == "fact"
        )

    def _matches(self, relation: str | None, pattern: Sequence[Any]) -> bool:
        x, y = pattern
        if relation == "path":
            sources = range(len(self._after)) if x is None else (x,)
            return any(
                bool(reached) if y is None else y in reached for reached in map(self.steps, sources)
            )
        return any(x in (None, a) and y in (None, b) for a, b in self.edges)


def asked_in_turn(
    ask: Callable[[str], Answer], pairs: Sequence[Pair], right: Callable[[Answer, Pair], bool]
) -> dict[str, Any]:
    """Ask for each pair; return the first time, the spread of the others, and what was wrong."""
    times, wrong = [], 0
    for x, y in pairs:
        fact = f"path({x}, {y})"
        started = time.perf_counter()
        answer = ask(fact)
        times.append(time.perf_counter() - started)
        wrong += not right(answer, (x, y))
    return {"first_ms": times[0] * 1e3, "others": spread(times[1:]), "wrong": wrong}


def main() -> None:
    """Ask after an evaluation, then of the view that changes have made of it."""
    asked = json.loads(sys.argv[1])
    nodes, count = asked["nodes"], asked["facts"]
    rows = random_graph(nodes)["edge"]
    judge = Judge(nodes, rows)
    database = Database(threads=asked["threads"])
    database.load(CLOSURE)
    database.insert("edge", columns(rows))
    reached = np.zeros((nodes, nodes), dtype=bool)
    pairs = database["path"].to_arrow()
    reached[pairs["x"].to_numpy(), pairs["y"].to_numpy()] = True
    rng = Random(6)
    there, absent = (
        [(x, y) for x, y in rng.sample(np.argwhere(reached == wanted).tolist(), count + 1)]
        for wanted in (True, False)
    )
    found: dict[str, Any] = {"tuples": pairs.num_rows, "edges": len(rows)}
    for state in ("evaluated", "view"):
        fresh = state == "evaluated"
        if not fresh:
            for edge in rows[:20]:
                database.delete("edge", columns([edge]))
                database.insert("edge", columns([edge]))
        found[state] = {
            "why": asked_in_turn(
                database.why,
                there,
                partial(judge.is_proof, lowest=fresh),
            ),
            "why_not": asked_in_turn(database.why_not, absent, judge.is_absence),
        }
        progress(f"{state}: {found[state]}")
    tell(found)


if __name__ == "__main__":
    main()
