"""The passes together: size, depth, and facts that are given from outside."""

from __future__ import annotations

import time

from whence.analysis.check import check
from whence.database import Database
from whence.diagnostics import raise_errors
from whence.engine.naive import evaluate
from whence.rewrite.pipeline import run_passes
from whence.rewrite.resolve_types import resolve_types
from whence.syntax.nodes import Program
from whence.syntax.souffle import parse, parse_goal

CLOSURE = """.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def resolved(text: str) -> Program:
    program = parse(text)
    raise_errors(check(program))
    return resolve_types(program)


def test_a_goal_sees_facts_given_to_a_relation_with_rules() -> None:
    db = Database()
    db.load(CLOSURE)
    db.insert("edge", [(2, 3)])
    db.insert("path", [(1, 2)])
    assert db.query("path(1, x)").rows() == [(1, 2), (1, 3)]


def test_a_closure_of_given_paths_is_not_linearised() -> None:
    program = resolved(CLOSURE.replace("path(x, y), edge(y, z)", "path(x, y), path(y, z)"))
    given = {"edge": {(1, 2)}, "path": {(2, 3), (3, 4)}}
    _, after = run_passes(program, keep_all=True, inputs=set(given))[-1]
    assert evaluate(after, given) == evaluate(program, given)


def test_a_goal_that_needs_little_derives_little() -> None:
    program = resolved(CLOSURE)
    given = {"edge": {(i, i + 1) for i in range(12)}}
    _, after = run_passes(program, goal=parse_goal("path(9, x)"), inputs={"edge"})[-1]
    found = evaluate(after, given)
    assert found["path"] == {(9, 10), (9, 11), (9, 12)}
    assert sum(len(rows) for name, rows in found.items() if name != "edge") < 12


def test_a_thousand_rules_are_rewritten_in_no_time() -> None:
    parts = [".decl e(x: number, y: number)\n.input e"]
    for i in range(250):
        below = f"p{i - 1}" if i else "e"
        parts.append(
            f""".decl p{i}(x: number, y: number)
            p{i}(x, y) :- e(x, y), x != {i}.
            p{i}(x, z) :- p{i}(x, y), {below}(y, z), x < z + 1.
            p{i}(x, z) :- e(x, y), !{below}(y, z), e(z, w), w = y + {i}, z = y.
            p{i}(x, n) :- e(x, _), n = count : {{ {below}(x, y), e(y, _) }}."""
        )
    program = resolved("\n".join([*parts, ".output p249"]))
    started = time.process_time()
    run_passes(program, inputs={"e"})
    run_passes(program, goal=parse_goal("p249(1, x)"), inputs={"e"})
    # About a third of a second each; the rest is for slow machines.
    assert time.process_time() - started < 5


def test_deep_terms_and_bodies_pass_without_recursion_errors() -> None:
    depth = 190
    term = "x" + " + 1" * depth
    body = "(" * depth + "v(x)" + " ; v(x), x > 0)" * depth
    text = f""".decl v(x: number)
    .decl a(x: number)
    a({term}) :- v(x), !v({term}), x < {term}.
    a(x) :- {body}."""
    program = parse(text)
    run_passes(program, keep_all=True)
    run_passes(resolve_types(program), keep_all=True)


def test_deep_aggregates_pass_without_recursion_errors() -> None:
    depth = 60
    inner = "count : { v(y), y < x }"
    for _ in range(depth):
        inner = f"count : {{ v(y), y < {inner} }}"
    program = resolved(f".decl v(x: number)\n.decl a(x: number)\na(x) :- v(x), x < {inner}.")
    run_passes(program, keep_all=True)
