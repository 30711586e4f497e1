"""Grounding finds every instance of every rule, each once, as rows of relations."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from whence.analysis.check import check
from whence.diagnostics import raise_errors
from whence.engine.base import Limits
from whence.engine.local.engine import LocalEngine, LocalEvaluation
from whence.engine.local.ground import Grounded, Grounding, ground
from whence.engine.local.guard import Guard
from whence.engine.local.operators import CHUNK
from whence.plan.build import build_plan
from whence.plan.nodes import Plan
from whence.rewrite.pipeline import run_passes
from whence.rewrite.resolve_types import resolve_types
from whence.semiring.counting import Counting
from whence.semiring.solve import solve
from whence.syntax.souffle import parse
from whence.syntax.tuples import tuple_text


def planned(text: str) -> Plan:
    program = parse(text)
    raise_errors(check(program))
    return build_plan(run_passes(resolve_types(program), keep_all=True, derivations=True)[-1][1])


def grounded(
    text: str, inputs: dict[str, pa.Table] | None = None
) -> tuple[LocalEvaluation, Grounded]:
    plan = planned(text)
    evaluation = LocalEngine().evaluate(plan, inputs or {})
    return evaluation, ground(evaluation, plan, Guard(Limits()))


def fact(evaluation: LocalEvaluation, found: Grounded, node: int) -> str:
    name, row = found.fact(node)
    return tuple_text(
        name, evaluation.codec.row(name, evaluation.relations[name].rows[row].tolist())
    )


def instances(text: str, inputs: dict[str, pa.Table] | None = None) -> Counter[str]:
    """Each instance as `head ← premise premise`, premises in the order of the rewritten body."""
    evaluation, found = grounded(text, inputs)
    graph = found.graph
    shown: Counter[str] = Counter()
    for i in range(graph.instances):
        premises = graph.premises[graph.start[i] : graph.start[i + 1]]
        names = [fact(evaluation, found, int(p)) for p in premises]
        shown[
            " ← ".join([fact(evaluation, found, int(graph.heads[i])), " ".join(sorted(names))])
        ] += 1
    return shown


EDGES = ".decl e(x: number, y: number) .decl p(x: number, y: number) e(1, 2). e(2, 3). e(1, 3). "


def test_recursive_rules_have_an_instance_for_each_pair_of_facts() -> None:
    assert instances(EDGES + "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).") == Counter(
        ["p(1, 2) ← e(1, 2)", "p(2, 3) ← e(2, 3)", "p(1, 3) ← e(1, 3)", "p(1, 3) ← p(1, 2) p(2, 3)"]
    )


def test_wildcards_have_an_instance_for_each_value() -> None:
    text = EDGES + ".decl q(x: number) q(x) :- e(x, _), e(_, _)."
    found = instances(text)
    assert found.total() == 9
    assert found["q(1) ← e(1, 2) e(1, 2)"] == 1


def test_repeated_premises_are_premises_each_time() -> None:
    text = EDGES + "p(x, y) :- e(x, y), e(x, y), e(x, 2)."
    assert instances(text) == Counter(
        ["p(1, 2) ← e(1, 2) e(1, 2) e(1, 2)", "p(1, 3) ← e(1, 2) e(1, 3) e(1, 3)"]
    )


def test_negations_constraints_and_aggregates_leave_no_premise() -> None:
    text = (
        EDGES
        + ".decl n(x: number) n(3). p(x, k) :- e(x, y), !n(y), x < y, k = count : { e(_, _) }."
    )
    assert instances(text) == Counter(["p(1, 3) ← e(1, 2)"])


def test_an_aggregate_that_the_recursion_decides_leaves_no_premise_either() -> None:
    text = EDGES + "p(1, 1). p(y, n) :- p(x, k), e(x, y), n = count : { e(x, z), z >= k }."
    found = instances(text)
    assert set(found) == {
        "p(2, 2) ← e(1, 2) p(1, 1)",
        "p(3, 2) ← e(1, 3) p(1, 1)",
        "p(3, 1) ← e(2, 3) p(2, 2)",
    }


def test_constants_records_and_computed_columns_are_matched() -> None:
    text = """.type P = [a: number, b: number]
        .decl r(x: P, y: symbol) .decl q(x: P, n: number)
        r([1, 2], "a"). r([1, 3], "b"). r(nil, "a").
        q([y, x + 1], x + y) :- r([x, y], "a"). q(nil, 0) :- r(nil, s), s = "a"."""
    assert instances(text) == Counter(['q([2, 2], 3) ← r([1, 2], "a")', 'q(nil, 0) ← r(nil, "a")'])


def test_relations_without_columns_have_one_row() -> None:
    text = ".decl a() .decl b() .decl c() .decl d() a(). b() :- a(), !c(). d() :- c(). b() :- b(), a()."
    assert instances(text) == Counter(["b() ← a()", "b() ← a() b()"])


def test_sparse_identifiers_floats_and_unsigned_numbers_are_found_again() -> None:
    text = """.decl e(x: number, y: number, f: float, u: unsigned) .input e
        .decl p(y: number, f: float, u: unsigned) p(y, f, u) :- e(x, y, f, u), e(_, x, _, _)."""
    big = 10**15
    table = pa.table(
        {
            "x": [big, 7],
            "y": [7 * big, big],
            "f": [0.5, -0.0],
            "u": pa.array([2**64 - 1, 0], pa.uint64()),
        }
    )
    assert instances(text, {"e": table}) == Counter(
        [
            f"p({7 * big}, 0.5, {2**64 - 1}) ← e({big}, {7 * big}, 0.5, {2**64 - 1}) e(7, {big}, 0.0, 0)"
        ]
    )


def test_facts_of_the_text_are_no_instances_but_rules_without_premises_are() -> None:
    text = ".decl p(x: number) p(1). p(2 + 1). p(x) :- x = 4."
    assert instances(text) == Counter(["p(4) ← "])


def test_base_facts_are_told_from_derived_ones() -> None:
    text = """.type P = [a: number] .decl e(x: number) .input e .decl p(x: number) .decl r(x: P)
        e(1). p(7). p(x) :- e(x). r([3]). r([x]) :- e(x)."""
    evaluation, found = grounded(text, {"e": pa.table({"x": [2, 7]})})
    given = {fact(evaluation, found, node) for node in np.flatnonzero(found.base).tolist()}
    assert given == {"e(1)", "e(2)", "e(7)", "p(7)", "r([3])"}
    assert found.graph.nodes == 3 + 3 + 4


def test_more_instances_than_a_chunk_holds_are_all_found() -> None:
    side = 300
    assert side * side > 2 * CHUNK
    text = """.decl v(x: number) .input v .decl p(x: number) p(x) :- v(x), v(y), v(z), z = 0.
        .decl q(x: number) q(x % 2) :- p(x)."""
    _, found = grounded(text, {"v": pa.table({"x": range(side)})})
    p, q = found.first["p"], found.first["q"]
    leaves = [int(found.fact(n)[0] == "v") for n in range(found.graph.nodes)]
    counts = solve(found.graph, Counting(), leaves)
    assert counts[p : p + side] == [side] * side
    assert counts[q : q + 2] == [side * side // 2] * 2


def test_rows_that_were_dropped_have_no_instances() -> None:
    text = """.decl e(x: number, c: number) .decl p(x: number, c: number) e(1, 5). e(1, 3). e(2, 4).
        p(x, c) :- e(x, c). p(x, c) <= p(x, b) :- b < c.
        .decl q(x: number) q(x) :- p(x, _)."""
    assert instances(text) == Counter(
        ["p(1, 3) ← e(1, 3)", "p(2, 4) ← e(2, 4)", "q(1) ← p(1, 3)", "q(2) ← p(2, 4)"]
    )


def test_a_relation_whose_rows_went_is_read_anew() -> None:
    plan = planned(EDGES + "p(x, y) :- e(x, y).")
    evaluation = LocalEngine().evaluate(plan, {})
    grounding = Grounding(evaluation, Guard(Limits()))
    (rule,) = [rule for rule in plan.program.rules if rule.body]
    assert grounding.instances(rule).tolist() == [[0, 0], [1, 1], [2, 2]]
    evaluation.relations["e"].bury(np.array([1]))
    grounding.forget("e")
    assert grounding.instances(rule).tolist() == [[0, 0], [2, 2]]


def test_relations_of_passes_have_no_nodes() -> None:
    text = EDGES + ".decl q(x: number) q(n) :- e(x, _), n = count : { e(x, y), e(y, _) }."
    _, found = grounded(text)
    assert set(found.first) == {"e", "p", "q"}


@pytest.mark.parametrize(
    "empty", [".decl a(x: number) .decl b(x: number) b(x) :- a(x).", ".decl a()"]
)
def test_nothing_has_no_instances(empty: str) -> None:
    _, found = grounded(empty)
    assert (found.graph.nodes, found.graph.instances) == (0, 0)
