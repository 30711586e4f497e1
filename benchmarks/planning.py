"""A generated program of many rules, and how long it takes to parse, check and plan it.

Run as a process of its own: `python -m benchmarks.planning PROGRAM` prints the seconds as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

RULES_PER_RELATION = 4


def many_rules(rules: int) -> str:
    """Return a program of `rules` rules with recursion, negation and aggregates, in many strata."""
    lines = [
        ".decl edge(x: number, y: number)",
        ".decl blocked(x: number)",
        ".input edge, blocked",
        ".decl r0(x: number, y: number)",
        "r0(x, y) :- edge(x, y).",
    ]
    relations, rest = divmod(rules - 1, RULES_PER_RELATION)
    for i in range(1, relations + 1):
        lines += [
            f".decl r{i}(x: number, y: number)",
            f"r{i}(x, y) :- r{i - 1}(x, y), !blocked(x), y < x + {i}.",
            f"r{i}(x, z) :- r{i}(x, y), edge(y, z), x != z.",
            f"r{i}(x, y) :- edge(x, z), r{i - 1}(z, w), edge(w, y), (x < y ; y = {i}).",
            f"r{i}(x, n) :- edge(x, _), n = count : {{ r{i - 1}(x, _) }}, n > {i % 7}.",
        ]
    lines += [f"r{relations}(x, {i}) :- blocked(x), edge(x, {i})." for i in range(rest)]
    lines.append(f".output r{relations}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the seconds of parsing, and of checking and planning."""
    from whence import session

    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    started = time.perf_counter()
    program = session.parse(text)
    parsed = time.perf_counter()
    session.compile(program)
    planned = time.perf_counter()
    told = {"parse_seconds": parsed - started, "compile_seconds": planned - parsed}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
