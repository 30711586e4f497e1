"""Annotated evaluation: the examples of the papers, where annotations come from, what is refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from whence.analysis.check import check
from whence.diagnostics import DataError, LimitError, ProgramError, WhenceError, raise_errors
from whence.engine.annotated import AnnotatedEvaluation, evaluate_annotated
from whence.engine.base import Limits
from whence.functor.user import UserFunctors
from whence.plan.build import build_plan
from whence.rewrite.pipeline import run_passes
from whence.rewrite.resolve_types import resolve_types
from whence.rewrite.stated import state_annotations
from whence.semiring.base import Cell, Law, Semiring
from whence.semiring.product import Product
from whence.semiring.registry import make
from whence.syntax.souffle import parse


def evaluated(
    text: str,
    semiring: str | Semiring[Any],
    inputs: dict[str, pa.Table] | None = None,
    **options: Any,
) -> AnnotatedEvaluation[Any]:
    program = state_annotations(parse(text))
    raise_errors(check(program))
    rewritten = run_passes(resolve_types(program), keep_all=True, derivations=True)[-1][1]
    return evaluate_annotated(build_plan(rewritten), inputs or {}, make(semiring), **options)


def annotated(
    text: str,
    semiring: str | Semiring[Any],
    relation: str,
    inputs: dict[str, pa.Table] | None = None,
) -> dict[tuple[Any, ...], Any]:
    """The facts of a relation with what the column of annotations says."""
    found = evaluated(text, semiring, inputs).table(relation, ordered=True)
    *columns, last = found.to_pydict().values()
    assert found.column_names[-1] == "@prov"
    rows = list(zip(*columns, strict=True)) if columns else [()] * len(last)
    return dict(zip(rows, last, strict=True))


# ── the worked example of papers 000 and 001 ──

REACHABLE = """
.decl link(x: symbol, y: symbol, @prov)
.decl reachable(x: symbol, y: symbol)
link("A", "B", "p1").  link("B", "C", "p2").  link("C", "A", "p3").  link("C", "B", "p4").
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
"""


def test_the_worked_example_has_the_provenance_of_the_papers() -> None:
    assert annotated(REACHABLE, "absorption", "reachable") == {
        ("A", "A"): "p1·p2·p3",
        ("A", "B"): "p1",
        ("A", "C"): "p1·p2",
        ("B", "A"): "p2·p3",
        ("B", "B"): "p2·p4 ∨ p1·p2·p3",
        ("B", "C"): "p2",
        ("C", "A"): "p3",
        ("C", "B"): "p4 ∨ p1·p3",
        ("C", "C"): "p2·p4 ∨ p1·p2·p3",
    }


def test_minimal_witnesses_of_the_worked_example_are_the_same_sets() -> None:
    found = annotated(REACHABLE, "minwhy", "reachable")
    assert found["B", "B"] == "{p2,p4} {p1,p2,p3}"
    # Witnesses that are not minimal stay in the witness basis: B, C, A, B and then B, C, B.
    every = annotated(REACHABLE, "why", "reachable")
    assert every["B", "B"] == "{p2,p4} {p1,p2,p3} {p1,p2,p3,p4}"
    assert annotated(REACHABLE, "which", "reachable")["A", "B"] == "{p1,p2,p3,p4}"


# ── paper 004, on the graph of four places: s→u 2 by road and 1 by highway, u→v 1, s→t 10, v→t 3 ──

PLACES = """
.decl edge(x: symbol, y: symbol, kind: symbol, @prov)
.decl path(x: symbol, y: symbol)
edge("s", "u", "road", {0}).  edge("s", "u", "highway", {1}).  edge("u", "v", "road", {2}).
edge("s", "t", "road", {3}).  edge("v", "t", "road", {4}).
path(x, y) :- edge(x, y, _).
path(x, z) :- path(x, y), edge(y, z, _).
"""


def paths(semiring: str | Semiring[Any], *cells: object) -> dict[tuple[Any, ...], Any]:
    return annotated(PLACES.format(*cells), semiring, "path")


def test_the_least_time_takes_the_highway() -> None:
    # 1 + 1 + 3 is less than 2 + 1 + 3 and than 10.
    found = paths("tropical", 2, 1, 1, 10, 3)
    assert found["s", "t"] == 5
    assert found["s", "u"] == 1
    assert found["u", "t"] == 4


def test_paths_are_counted_along_and_beside_each_other() -> None:
    # The numbers are numbers of paths: (2 + 1) · 1 · 3 + 10.
    found = paths("counting", 2, 1, 1, 10, 3)
    assert found["s", "t"] == 19
    assert found["s", "v"] == 3


def test_the_best_two_times_are_by_highway_and_by_road() -> None:
    # 1 + 1 + 3 and 2 + 1 + 3; the direct road with 10 is third.
    assert paths("top-2", 2, 1, 1, 10, 3)["s", "t"] == "5 6"
    assert paths("top-3", 2, 1, 1, 10, 3)["s", "t"] == "5 6 10"
    # u to t is one path, and from v to t leads one.
    assert paths("top-2", 2, 1, 1, 10, 3)["u", "t"] == "4"
    # With 2 for the highway, too, both ways take 6: two derivations, one distinct time.
    assert paths("top-2", 2, 2, 1, 10, 3)["s", "t"] == "6 6"
    assert paths("top-2-distinct", 2, 2, 1, 10, 3)["s", "t"] == "6 10"


def test_each_feature_has_the_best_path_for_itself() -> None:
    # (min, max) in both dimensions: the longest stretch, and the toll class, 1 road and 2 highway.
    found = paths("2-feature", *(f'"{cell}"' for cell in ["2 1", "1 2", "1 1", "10 1", "3 1"]))
    # s→u: min(2, 1) and min(1, 2); by road it is (2, 1), by highway (1, 2): the vector is of neither.
    assert found["s", "u"] == "1 1"
    # s→v: max(1, 1) and max(1, 1). s→t: min(max(1, 1, 3), 10), and 1 by road.
    assert found["s", "v"] == "1 1"
    assert found["s", "t"] == "3 1"


def test_heights_and_charging_stations_are_two_dimensions() -> None:
    heights = Product(make("bottleneck"), make("visits"))
    # Through u and v up to 2.1 m, with a charging station on u→v; the direct road up to 4 m.
    low, charged, high = '"2.1 0"', '"2.1 1"', '"4 0"'
    found = paths(heights, high, high, charged, high, low)
    # One path passes a station, another lets 3 m through: no single path does both.
    assert found["s", "t"] == "4 1"
    # Without a high direct road there is still a station, but nothing of 3 m reaches t.
    assert paths(heights, high, high, charged, low, low)["s", "t"] == "2.1 1"


# ── where annotations come from ──


def test_facts_without_an_annotation_are_named_by_their_text() -> None:
    text = """.type P = [a: number, b: symbol]
        .decl e(x: P, y: symbol, z: float) .decl p(x: symbol)
        e([1, "a b"], "q\\"", 2.0). e(nil, "r", 0.5). p(y) :- e(_, y, _)."""
    assert annotated(text, "how", "p") == {
        ('q"',): 'e([1, "a b"], "q\\"", 2.0)',
        ("r",): 'e(nil, "r", 0.5)',
    }


def test_inputs_may_have_annotations_for_some_facts() -> None:
    text = ".decl e(x: number) .input e .decl p(x: number) p(x) :- e(x), e(x)."
    table = pa.table({"x": [1, 2, 3], "w": pa.array(["a", None, "b + c"])})
    assert annotated(text, "how", "p", {"e": table}) == {
        (1,): "a²",
        (2,): "e(2)²",
        (3,): "b² + 2·b·c + c²",
    }


def test_a_pair_given_twice_is_one_fact_and_two_annotations_are_added() -> None:
    text = ".decl e(x: number, @prov) .input e  e(1, 5). e(1, 5). e(2, 5). e(2)."
    table = pa.table({"x": [1, 1, 2, 3, 3], "w": [5, 2, 5, 1, 1]})
    assert annotated(text, "counting", "e", {"e": table}) == {(1,): 7, (2,): 6, (3,): 1}


def test_a_fact_may_be_given_and_derived() -> None:
    text = ".decl e(x: number) .decl p(x: number) e(1). e(2). p(1). p(x) :- e(x)."
    assert annotated(text, "how", "p") == {(1,): "e(1) + p(1)", (2,): "e(2)"}


def test_a_computed_fact_of_the_text_keeps_its_annotation() -> None:
    text = (
        ".type P = [a: number] .decl e(x: number, y: P, @prov) e(1 + 1, [3], 5). e(4, [2 * 2], 6)."
    )
    assert annotated(text, "counting", "e") == {(2, "[3]"): 5, (4, "[4]"): 6}


def test_a_rule_without_premises_is_no_fact() -> None:
    text = """.decl e(x: number) .decl p(x: number) p(x) :- x = 3. p(4). p(5) :- !e(5).
        p(n) :- n = count : { e(_) }."""
    assert annotated(text, "how", "p") == {(3,): "1", (4,): "p(4)", (5,): "1", (0,): "1"}


def test_nullary_relations_are_annotated_too() -> None:
    text = ".decl a() .decl b() .decl e(x: number) a(). e(1). e(2). b() :- a(), e(_). b() :- a()."
    assert annotated(text, "how", "b") == {(): "a() + a()·e(1) + a()·e(2)"}
    inputs = {"a": pa.table({"w": ["p"]})}
    text = ".decl a(@prov) .input a .decl b() b() :- a()."
    assert annotated(text, "how", "b", inputs) == {(): "p"}


# ── what a derivation is ──


def test_every_binding_of_a_wildcard_is_a_derivation() -> None:
    text = ".decl e(x: number, y: number) .decl p(x: number) e(1, 2). e(1, 3). p(x) :- e(x, _)."
    assert annotated(text, "counting", "p") == {(1,): 2}


def test_repeated_literals_and_rules_count_each_time() -> None:
    text = ".decl e(x: number) .decl p(x: number) e(1). p(x) :- e(x), e(x). p(x) :- e(x). p(x) :- e(x)."
    assert annotated(text, "how", "p") == {(1,): "2·e(1) + e(1)²"}


def test_alternatives_are_derivations_each() -> None:
    text = ".decl e(x: number) .decl p(x: number) e(1). p(x) :- e(x), (x < 2; x < 3; x > 5)."
    assert annotated(text, "how", "p") == {(1,): "2·e(1)"}


def test_negations_and_aggregates_contribute_one() -> None:
    text = """.decl e(x: number) .decl f(x: number) .decl p(x: number, n: number)
        e(1). e(2). f(2). p(x, n) :- e(x), !f(x), n = sum y : { e(y) }."""
    assert annotated(text, "how", "p") == {(1, 3): "e(1)"}


def test_a_negated_conjunction_has_a_derivation_for_each_part_that_fails() -> None:
    text = """.decl e(x: number) .decl f(x: number) .decl p(x: number) e(1). e(2). f(2).
        p(x) :- e(x), !(f(x), x < 0)."""
    assert annotated(text, "how", "p") == {(1,): "2·e(1)", (2,): "e(2)"}


def test_a_fact_that_reaches_the_minimum_is_a_premise_where_the_rule_names_it() -> None:
    text = """.decl e(x: number, c: number) .decl best(x: number, c: number) .decl least(c: number)
        e(1, 5). e(2, 3). e(3, 3).
        best(x, c) :- c = min v : { e(x, v) }. least(c) :- c = min v : { e(_, v) }."""
    assert annotated(text, "how", "best") == {(2, 3): "e(2, 3)", (3, 3): "e(3, 3)"}
    assert annotated(text, "how", "least") == {(3,): "1"}


def test_inline_relations_are_part_of_the_rules_that_read_them() -> None:
    text = """.decl e(x: number, y: number) .decl two(x: number, y: number) inline
        .decl p(x: number) e(1, 2). e(2, 3). e(2, 4).
        two(x, z) :- e(x, y), e(y, z). p(x) :- two(x, _)."""
    assert annotated(text, "how", "p") == {(1,): "e(1, 2)·e(2, 3) + e(1, 2)·e(2, 4)"}


def test_a_fact_annotated_zero_is_not_there() -> None:
    text = """.decl e(x: number, @prov) .decl p(x: number) .decl q(x: number) .decl n(x: number, k: number)
        .input e  p(x) :- e(x). q(x) :- x = 1, !p(x). q(x) :- x = 2, !p(x).
        n(1, k) :- k = count : { p(_) }."""
    inputs = {"e": pa.table({"x": [1, 2], "w": [0, 3]})}
    found = evaluated(text, "counting", inputs)
    assert [found.size(name) for name in ("e", "p", "q")] == [1, 1, 1]
    assert annotated(text, "counting", "q", inputs) == {(1,): 1}
    assert annotated(text, "counting", "n", inputs) == {(1, 1): 1}
    assert found.stats.relations["p"].tuples == 1


def test_what_multiplies_to_zero_is_not_there_for_strata_above() -> None:
    # 0.5 and 0.25 leave nothing in Łukasiewicz's logic: max(0, 0.5 + 0.25 - 1).
    text = """.decl e(x: number, @prov) .decl p(x: number) .decl q(x: number)
        e(1, 0.5). e(2, 1.0). p(x) :- e(x), e(y), x < y. p(x) :- e(x), e(x).
        q(x) :- e(x), !p(x)."""
    assert annotated(text, "lukasiewicz", "p") == {(1,): 0.5, (2,): 1.0}
    text = text.replace("e(2, 1.0)", "e(2, 0.25)")
    assert annotated(text, "lukasiewicz", "p") == {}
    assert annotated(text, "lukasiewicz", "q") == {(1,): 0.5, (2,): 0.25}


# ── columns ──


def test_columns_are_of_the_kind_that_the_semiring_says() -> None:
    text = ".decl e(x: number, @prov) e(1, 3)."
    kinds = {"counting": pa.int64(), "tropical": pa.float64(), "counting-inf": pa.string()}
    for name, kind in kinds.items():
        assert evaluated(text, name).table("e").schema.field("@prov").type == kind


def test_counts_too_large_for_a_column_of_numbers_come_as_text() -> None:
    text = (
        ".decl e(x: number, @prov) .decl p(x: number) e(1, 3000000000). p(x) :- e(x), e(x), e(x)."
    )
    assert annotated(text, "counting", "p") == {(1,): str(27 * 10**27)}
    assert evaluated(text, "counting").annotations("p") == [27 * 10**27]


def test_an_empty_relation_has_a_column_of_annotations() -> None:
    for name in ("counting", "how", "top-2"):
        found = evaluated(".decl e(x: number) .decl p(x: number) p(x) :- e(x).", name).table("p")
        assert found.num_rows == 0
        assert found.column_names == ["x", "@prov"]


def test_ordered_tables_keep_each_annotation_with_its_fact() -> None:
    text = ".decl e(x: number, s: symbol, @prov) .input e"
    inputs = {"e": pa.table({"x": [3, 1, 2, 1], "s": ["a", "z", "m", "b"], "w": [1, 2, 3, 4]})}
    found = evaluated(text, "counting", inputs)
    assert found.table("e", ordered=True).to_pydict() == {
        "x": [1, 1, 2, 3],
        "s": ["b", "z", "m", "a"],
        "@prov": [4, 2, 3, 1],
    }
    assert found.annotations("e", ordered=True) == [4, 2, 3, 1]


# ── refusals ──


def refusal(
    text: str, semiring: str, inputs: dict[str, pa.Table] | None = None, **options: Any
) -> WhenceError:
    with pytest.raises(WhenceError) as caught:
        evaluated(text, semiring, inputs, **options)
    return caught.value


CLOSURE = """
.decl e(x: number, y: number)
.decl p(x: number, y: number)
p(x, y) :- e(x, y).
p(x, z) :- p(x, y), e(y, z).
"""


def test_counting_names_the_cycle_that_it_cannot_count() -> None:
    error = refusal(CLOSURE + "e(1, 2). e(2, 3). e(3, 2). e(3, 4).", "counting")
    assert isinstance(error, DataError)
    (found,) = error.diagnostics
    assert found.code == "W0931"
    assert found.span.line == 5
    cycle = found.notes[0].removeprefix("the cycle is ").replace("`", "").split(" ← ")
    assert cycle[0] == cycle[-1]
    assert len(cycle) == 3
    assert {cycle[0], cycle[1]} in [{f"p({x}, 2)", f"p({x}, 3)"} for x in (1, 2, 3)]
    assert "counting-inf" in found.hint


def test_a_cycle_shows_the_rules_that_close_it() -> None:
    text = """.decl e(x: number) .decl a(x: number) .decl b(x: number)
    e(1).  a(x) :- e(x).
    a(x) :- b(x), e(x).
    b(x) :- a(x)."""
    (found,) = refusal(text, "how").diagnostics
    assert found.notes == (
        "the cycle is `a(1)` ← `b(1)` ← `a(1)`",
        "`b(1)` is derived by the rule in line 4",
    )
    assert found.span.line == 3


def test_a_long_cycle_is_shown_in_part() -> None:
    ring = " ".join(f"e({n}, {(n + 1) % 40})." for n in range(40))
    reached = ".decl e(x: number, y: number) .decl r(x: number) r(0). r(y) :- r(x), e(x, y)." + ring
    (found,) = refusal(reached, "counting").diagnostics
    assert "(29 more)" in found.notes[0]
    assert found.notes[0].endswith(found.notes[0].split("`")[1] + "`")


def test_counting_with_infinity_counts_what_no_cycle_feeds() -> None:
    text = CLOSURE + "e(1, 2). e(2, 3). e(3, 2). e(3, 4). e(5, 1). e(5, 6). e(6, 7). e(5, 7)."
    found = annotated(text, "counting-inf", "p")
    assert found[5, 7] == "2"
    assert found[5, 1] == found[5, 6] == "1"
    assert found[5, 4] == found[1, 2] == "inf"


def test_a_rule_that_derives_its_own_premise_is_refused_before_it_runs() -> None:
    text = ".decl e(x: number) .decl p(x: number) p(x) :- e(x). p(x) :- p(x), e(x)."
    error = refusal(text, "counting")
    assert isinstance(error, ProgramError)
    assert [d.code for d in error.diagnostics] == ["W0930"]
    assert annotated(text + "e(1).", "absorption", "p") == {(1,): "e(1)"}


def test_annotated_relations_may_not_be_under_subsumption() -> None:
    text = """.decl e(x: number, c: number) .decl p(x: number, c: number)
        p(x, c) :- e(x, c). p(x, c) <= p(x, b) :- b < c."""
    assert [d.code for d in refusal(text, "why").diagnostics] == ["W0940"]


def test_a_bad_annotation_names_the_fact() -> None:
    text = ".decl e(x: symbol, @prov) .input e"
    (found,) = refusal(text, "counting", {"e": pa.table({"x": ["a"], "w": [-1]})}).diagnostics
    assert found.code == "W0942"
    assert '`e("a")`' in found.message
    assert "-1" in found.message


def test_limits_hold_while_instances_are_found_and_solved() -> None:
    text = """.decl v(x: number) .decl p(x: number) .input v
        p(0) :- v(x), v(y), v(z), x + y + z >= 0."""
    inputs = {"v": pa.table({"x": range(400)})}
    error = refusal(text, "counting", inputs, limits=Limits(timeout=0.3))
    assert isinstance(error, LimitError)
    assert [d.code for d in error.diagnostics] == ["W0702"]


def test_a_functor_that_gives_other_values_each_time_is_refused() -> None:
    calls = iter(range(1000))
    functors = UserFunctors().add("tick", lambda x: next(calls) + x)
    text = """.functor tick(x: number): number
        .decl e(x: number) .decl p(x: number) e(1). e(2). p(@tick(x)) :- e(x)."""
    error = refusal(text, "counting", functors=functors)
    assert [d.code for d in error.diagnostics] == ["W0932"]


def test_a_relation_that_takes_no_more_facts_is_annotated_as_far_as_it_goes() -> None:
    text = """.decl p(x: number) .limitsize p(n=3) .decl e(x: number) e(0).
        p(x) :- e(x). p(x + 1) :- p(x), x < 10."""
    found = annotated(text, "how", "p")
    assert found[0,] == found[1,] == "e(0)"
    assert len(found) < 11


def test_a_semiring_of_ones_own_is_evaluated_like_any_other() -> None:
    class Parity(Semiring[int]):
        """Whether the number of derivations is odd; no law is claimed."""

        name, laws, column, zero, one = "parity", Law.NONE, "number", 0, 1

        def plus(self, a: int, b: int) -> int:
            return a ^ b

        def times(self, a: int, b: int) -> int:
            return a & b

        def read(self, cell: Cell) -> int:
            return int(cell) % 2

        def show(self, value: int) -> int:
            return value

        def samples(self) -> list[int]:
            return [0, 1]

    text = CLOSURE + "e(1, 2). e(2, 4). e(1, 3). e(3, 4)."
    edges = {(1, 2): 1, (1, 3): 1, (2, 4): 1, (3, 4): 1}
    assert annotated(text + "e(1, 4).", Parity(), "p") == {**edges, (1, 4): 1}
    assert annotated(text, Parity(), "p") == edges
