"""Programs of many shapes over graphs of some hundred nodes, with batches from one edge to half.

Large enough for several chunks, waves and threads, and for relations to be compacted.
"""

from __future__ import annotations

from random import Random

import pytest

from view.judge import replay

PROGRAMS = {
    "closure": """
        .decl edge(x: number, y: number)
        .decl path(x: number, y: number)
        path(x, y) :- edge(x, y).
        path(x, z) :- path(x, y), path(y, z).
    """,
    "negation between recursions": """
        .decl edge(x: number, y: number)
        .decl mark(x: number)
        .decl reach(x: number, y: number)
        .decl far(x: number, y: number)
        .decl chain(x: number, y: number)
        reach(x, y) :- mark(x), edge(x, y).
        reach(x, z) :- reach(x, y), edge(y, z).
        far(x, y) :- mark(x), edge(y, _), !reach(x, y).
        chain(x, y) :- far(x, y), mark(y).
        chain(x, z) :- chain(x, y), chain(y, z).
    """,
    "groups over recursion": """
        .decl edge(x: number, y: number)
        .decl mark(x: number)
        .decl reach(x: number, y: number)
        .decl fan(x: number, n: number, low: number, high: number, total: number)
        .decl wide(x: number)
        .decl again(x: number, y: number)
        reach(x, y) :- mark(x), edge(x, y).
        reach(x, z) :- reach(x, y), edge(y, z), z % 7 != 0.
        fan(x, n, a, b, c) :- mark(x), n = count : { reach(x, _) }, a = min y : { reach(x, y) },
            b = max y : { reach(x, y) }, c = sum y : { reach(x, y), edge(y, _) }.
        wide(x) :- fan(x, n, a, _, _), n > 10, a < 40.
        again(x, y) :- wide(x), edge(x, y), !wide(y).
        again(x, z) :- again(x, y), edge(y, z), !wide(z).
    """,
    "same generation": """
        .decl edge(x: number, y: number)
        .decl sg(x: number, y: number)
        sg(x, y) :- edge(x, p), edge(y, p), x != y.
        sg(x, y) :- edge(x, a), sg(a, b), edge(y, b).
    """,
    "two relations through each other": """
        .decl edge(x: number, y: number)
        .decl mark(x: number)
        .decl odd(x: number, y: number)
        .decl even(x: number, y: number)
        odd(x, y) :- mark(x), edge(x, y).
        even(x, z) :- odd(x, y), edge(y, z).
        odd(x, z) :- even(x, y), edge(y, z), !mark(z).
    """,
    "nearest": """
        .decl edge(x: number, y: number)
        .decl mark(x: number)
        .decl near(x: number, y: number, c: number) btree_delete
        .decl ecc(x: number, c: number)
        near(x, x, 0) :- mark(x).
        near(x, z, c + (y band 1)) :- near(x, y, c), edge(y, z).
        near(x, y, c) <= near(x, y, d) :- d < c.
        ecc(x, c) :- mark(x), c = max d : { near(x, _, d) }.
    """,
}
DEGREES = {"same generation": 1.1, "closure": 1.3}
NODES = 90


def batches(rng: Random, edges: set[tuple[int, int]]) -> list[dict]:
    held = sorted(edges)
    found: list[dict] = []
    for size in (1, 1, 4, 1, len(held) // 2, 1, len(held) // 3, 2):
        goes = rng.sample(held, min(size, len(held)))
        comes = [(rng.randrange(NODES), rng.randrange(NODES)) for _ in range(size)]
        if rng.random() < 0.3:
            goes = []
        step: dict = {"edge": (comes, goes)}
        held = sorted((set(held) - set(goes)) | set(comes))
        if rng.random() < 0.5:
            step["mark"] = ([(rng.randrange(NODES),)], [(rng.randrange(NODES),)])
        found.append(step)
    return found


@pytest.mark.parametrize(
    "knobs", [{}, {"chunk": 64, "compact": 16, "thread": 8, "turns": 1}], ids=str
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_medium_graphs_stay_exact(name: str, knobs: dict[str, int]) -> None:
    rng = Random(f"{name} {knobs}")
    count = int(NODES * DEGREES.get(name, 1.6))
    edges = {(rng.randrange(NODES), rng.randrange(NODES)) for _ in range(count)}
    facts = {"edge": edges, "mark": {(n,) for n in range(0, NODES, 6)}}
    steps = batches(rng, edges)
    if "mark" not in PROGRAMS[name]:
        del facts["mark"]
        steps = [{"edge": step["edge"]} for step in steps]
    replay(PROGRAMS[name], facts, steps, knobs=knobs)
