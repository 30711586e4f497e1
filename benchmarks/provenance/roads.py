"""All pairs' shortest ways of a road network, beside SciPy's compiled Dijkstra; and other programs.

Run as a process of its own: `python -m benchmarks.provenance.roads '{…}'` prints JSON.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any

from scipy.sparse.csgraph import dijkstra

from benchmarks.measured import in_turns, progress, tell
from benchmarks.provenance.networks import Network, road_like, rome
from benchmarks.provenance.shortest import GENERAL, PATH, compiled, graph, right_paths, table
from benchmarks.provenance.shortest import warm_up as load_kernels
from benchmarks.sizes import exponent
from whence import session


def beside_scipy(network: Network, threads: int, runs: int) -> dict[str, Any]:
    """Evaluate on some threads and on one, and run SciPy, in turns; the best of the runs counts."""
    program, inputs = compiled(PATH), {"edge": table(network.arcs)}
    evaluate = partial(session.evaluate, program, inputs)
    arcs = graph(network)
    turns = {
        "threads": partial(evaluate, threads=threads),
        "one": partial(evaluate, threads=1),
        "scipy": partial(dijkstra, arcs),
    }
    seconds = {name: min(times) for name, times in in_turns(turns, runs).items()}
    found = evaluate(threads=threads)
    progress(f"{network.name}: {seconds}")
    return {
        "network": network.name,
        "nodes": network.nodes,
        "arcs": len(network.arcs),
        "tuples": found.size("path"),
        "threads": threads,
        "seconds": seconds,
        "exact": right_paths(found, network),
    }


def general(threads: int, runs: int, quick: bool) -> list[dict[str, Any]]:
    """Evaluate programs that are no linear closure, on smaller networks."""
    rows = []
    for case in GENERAL:
        network = road_like(case.nodes // 4 if quick else case.nodes)
        program, inputs = compiled(case.text), {"edge": table(network.arcs)}
        evaluate = partial(session.evaluate, program, inputs, threads=threads)
        (times,) = in_turns({"": evaluate}, runs).values()
        found = evaluate()
        derived = [d.name for d in program.source.relations if d.name != "edge"]
        rows.append(
            {
                "program": case.name,
                "nodes": network.nodes,
                "arcs": len(network.arcs),
                "tuples": sum(map(found.size, derived)),
                "seconds": min(times),
                "exact": case.right(found, network),
            }
        )
        progress(f"{case.name}: {rows[-1]}")
    return rows


def by_size(sizes: tuple[int, ...], threads: int, runs: int) -> dict[str, Any]:
    """Evaluate on networks of several sizes; time grows as tuples to the power of the exponent."""
    rows = [beside_scipy(road_like(nodes), threads, runs) for nodes in sizes]
    points = [(row["tuples"], row["seconds"]["threads"]) for row in rows]
    return {"rows": rows, "exponent": exponent(points)}


def main() -> None:
    """Measure all of it."""
    asked = json.loads(sys.argv[1])
    threads, quick = asked["threads"], asked["quick"]
    load_kernels(threads)
    runs, fewer = (1, 1) if quick else (5, 3)
    sizes = (100, 200, 400) if quick else (840, 1680, 3360)
    tell(
        {
            "all_pairs": beside_scipy(road_like(300) if quick else rome(), threads, runs),
            "general": general(threads, fewer, quick),
            "sizes": by_size(sizes, threads, fewer),
        }
    )


if __name__ == "__main__":
    main()
