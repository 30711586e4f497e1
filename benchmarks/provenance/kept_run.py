"""One evaluation of the closure in a fresh process: plain, or with what explanations need.

`python -m benchmarks.provenance.kept_run '{"run": "plain", …}'` prints seconds and memory as JSON.
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks.inputs import random_graph
from benchmarks.measured import peak_bytes, tell
from benchmarks.views.stopwatch import CLOSURE, edges
from whence import session
from whence.explain.explainer import explainer_of

SMALL = 100
"""Nodes of a closure that is just large enough for kernels to be loaded."""


def main() -> None:
    """Load the kernels, then evaluate; `idle` evaluates nothing more."""
    asked = json.loads(sys.argv[1])
    explained = asked["run"] == "explained"
    parsed = session.parse(CLOSURE + ".output path\n")
    program = (
        session.compile(parsed, keep_all=True, derivations=True)
        if explained
        else session.compile(parsed)
    )
    session.evaluate(program, edges(random_graph(SMALL)["edge"]), threads=asked["threads"])
    rows = random_graph(asked["nodes"])["edge"]
    inputs = edges(rows)
    seconds, tuples = 0.0, 0
    peak = peak_bytes()
    if asked["run"] != "idle":
        started = time.perf_counter()
        found = session.evaluate(program, inputs, threads=asked["threads"])
        explainer = explainer_of(parsed, found, inputs) if explained else None
        seconds = time.perf_counter() - started
        tuples = found.size("path")
        peak = peak_bytes()
        if explainer is not None:
            explainer.why(f"path({rows[0][0]}, {rows[0][1]})")
    tell({"seconds": seconds, "tuples": tuples, "peak_bytes": peak, "later_bytes": peak_bytes()})


if __name__ == "__main__":
    main()
