"""The cases of the contract: programs over the whole language, with facts, for every engine.

A case is evaluated by each engine in turn. What one gives all must give: the definition judges the
embedded engine, the embedded engine judges Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Row = tuple[object, ...]


@dataclass(frozen=True)
class Case:
    """A program with facts for its inputs; `code` is that of the diagnostic it ends with."""

    name: str
    text: str
    facts: Mapping[str, list[Row]] = field(default_factory=dict)
    semiring: str | None = None
    functors: Mapping[str, Callable[..., object]] = field(default_factory=dict)
    code: str | None = None
    judged: bool = True
    """Whether the definition can judge it: it knows neither annotations nor functors."""


GRAPH = [(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 4), (6, 7), (8, 8)]
COSTS = [(x, y, (x * 7 + y * 3) % 5 + 1) for x, y in GRAPH]
EDGE = ".decl edge(x: number, y: number)\n.decl path(x: number, y: number)\n"
WEIGHED = """
.decl edge(x: number, y: number, @prov)
.decl path(x: number, y: number, @prov)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
ACYCLIC = [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (1, 5)]


def _graph(name: str, text: str) -> Case:
    return Case(name, EDGE + text, {"edge": list(GRAPH)})


PLAIN = [
    _graph("closure", "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z)."),
    _graph("right_closure", "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."),
    _graph("closure_by_halves", "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z)."),
    _graph(
        "facts_and_inputs_and_rules_in_one_relation",
        "edge(9, 1). path(7, 7). path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z).",
    ),
    _graph(
        "constants_in_heads_and_bodies",
        "path(1, y) :- edge(1, y). path(1, z) :- path(1, y), edge(y, z). path(0, 0) :- path(1, 4).",
    ),
    _graph(
        "same_generation",
        """.decl sg(x: number, y: number)
        sg(x, y) :- edge(p, x), edge(p, y), x != y.
        sg(x, y) :- edge(a, x), sg(a, b), edge(b, y).""",
    ),
    _graph(
        "mutual_recursion",
        """.decl odd(x: number, y: number) .decl even(x: number, y: number)
        odd(x, y) :- edge(x, y).
        odd(x, z) :- even(x, y), edge(y, z).
        even(x, z) :- odd(x, y), edge(y, z).""",
    ),
    _graph(
        "mutual_recursion_with_columns_that_change_places",
        """.decl there(x: number, y: number) .decl back(y: number, x: number)
        there(x, y) :- edge(x, y).
        back(z, x) :- there(x, y), edge(y, z).
        there(x, z) :- back(y, x), edge(y, z).""",
    ),
    _graph(
        "three_recursions_as_in_an_analysis_of_pointers",
        """.decl flow(x: number, y: number) .decl alias(x: number, y: number)
        flow(x, y) :- edge(x, y).
        flow(x, z) :- flow(x, y), flow(y, z).
        alias(x, y) :- flow(z, x), flow(z, y).
        flow(x, y) :- alias(x, a), edge(a, b), alias(b, y).
        path(x, y) :- alias(x, y), x < y.""",
    ),
    _graph(
        "negation_between_recursions",
        """.decl node(x: number) .decl cut(x: number, y: number)
        node(x) :- edge(x, _). node(y) :- edge(_, y).
        path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).
        cut(x, y) :- node(x), node(y), !path(x, y).
        .decl far(x: number, y: number)
        far(x, y) :- cut(x, y). far(x, z) :- far(x, y), far(y, z), !edge(x, z).""",
    ),
    _graph(
        "aggregates_over_a_recursion",
        """path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).
        .decl node(x: number) .decl report(x: number, n: number, s: number, a: number, b: number)
        node(x) :- edge(x, _).
        report(x, n, s, a, b) :- node(x), n = count : path(x, _), s = sum y : path(x, y),
            a = min y : path(x, y), b = max y : { path(x, y), y != 3 }.
        .decl all(n: number, m: float)
        all(n, m) :- n = count : path(_, _), m = mean to_float(y) : path(_, y).
        .decl none(n: number)
        none(n) :- n = count : { path(x, x), x > 100 }.""",
    ),
    _graph(
        "an_aggregate_for_each_binding",
        """.decl more(x: number, n: number)
        more(x, n) :- edge(x, y), n = count : { edge(a, b), a + b > x + y }.""",
    ),
    _graph(
        "disjunction_wildcards_and_several_heads",
        """.decl a(x: number) .decl b(x: number)
        a(x), b(y) :- edge(x, y), (x < y ; x = 5), edge(_, x).""",
    ),
    _graph(
        "inline_relations",
        """.decl two(x: number, y: number) inline
        two(x, z) :- edge(x, y), edge(y, z).
        path(x, y) :- two(x, y). path(x, z) :- path(x, y), two(y, z).""",
    ),
    _graph(
        "relations_without_columns",
        """.decl cyclic() .decl acyclic() .decl long()
        path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).
        cyclic() :- path(x, x). acyclic() :- !cyclic(). long() :- cyclic(), path(1, 5).
        .decl last(x: number)
        last(x) :- long(), edge(_, x), !edge(x, _).""",
    ),
    _graph(
        "a_cross_product",
        ".decl pair(a: number, b: number)\npair(a, b) :- edge(a, _), edge(_, b).",
    ),
    _graph(
        "arithmetic_in_a_recursion",
        """.decl n(x: number, y: number)
        n(x, 0) :- edge(x, _). n(x, (y * 5 + x) % 17) :- n(x, y).""",
    ),
    Case(
        "nothing_is_given",
        EDGE + "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z).",
    ),
    Case("facts_alone", '.decl a(x: number, s: symbol)\na(1, "one"). a(2, "two").'),
    Case(
        "rules_without_atoms",
        """.decl a(x: number) .decl b(x: number) .decl c()
        a(1 + 2). b(x) :- x = 4. c() :- 1 < 2. a(x) :- b(x), c().""",
    ),
    Case(
        "shortest_ways_keep_the_best",
        """.decl edge(x: number, y: number, c: number)
        .decl near(x: number, y: number, c: number) btree_delete
        near(x, y, c) :- edge(x, y, c).
        near(x, z, a + b) :- near(x, y, a), edge(y, z, b).
        near(x, y, a) <= near(x, y, b) :- b < a.
        .decl least(x: number, c: number)
        least(x, c) :- near(x, _, _), c = min d : near(x, _, d).""",
        {"edge": list(COSTS)},
    ),
    Case(
        "shortest_ways_by_halves",
        """.decl edge(x: number, y: number, c: number)
        .decl near(x: number, y: number, c: number) btree_delete
        near(x, y, c) :- edge(x, y, c).
        near(x, z, a + b) :- near(x, y, a), near(y, z, b).
        near(x, y, a) <= near(x, y, b) :- b < a.""",
        {"edge": list(COSTS)},
    ),
    Case(
        "a_frontier_of_two_costs",
        """.decl edge(x: number, y: number, c: number, d: number)
        .decl good(x: number, c: number, d: number) btree_delete
        good(1, 0, 0).
        good(y, a + c, b + d) :- good(x, a, b), edge(x, y, c, d).
        good(x, a, b) <= good(x, c, d) :- c <= a, d <= b.""",
        {"edge": [(x, y, c, 6 - c) for x, y, c in COSTS]},
    ),
    Case(
        "the_least_component",
        """.decl edge(x: number, y: number)
        .decl in(x: number, c: number) btree_delete
        in(x, x) :- edge(x, _). in(y, y) :- edge(_, y).
        in(y, c) :- in(x, c), edge(x, y). in(x, c) :- in(y, c), edge(x, y).
        in(x, a) <= in(x, b) :- b < a.""",
        {"edge": list(GRAPH)},
    ),
    Case(
        "symbols_of_any_text",
        """.decl word(w: symbol) .decl pair(a: symbol, b: symbol) .decl size(w: symbol, n: number)
        pair(a, cat(a, "-", b)) :- word(a), word(b), a < b.
        pair(a, c) :- pair(a, b), word(c), contains(c, b).
        size(w, strlen(w)) :- pair(w, _).
        size(substr(b, 1, 3), to_number(to_string(n))) :- pair(a, b), size(a, n).""",
        {"word": [("é\n",), ("a, b]",), ('"',), ("",), (" x ",), ("nil",), ("日本",), ("\\",)]},
    ),
    Case(
        "records_of_symbols_that_look_like_records",
        """.type List = [head: symbol, tail: List]
        .decl word(w: symbol) .decl list(l: List, n: number) .decl head(s: symbol)
        list(nil, 0).
        list([w, l], n + 1) :- list(l, n), word(w), n < 2.
        head(h) :- list([h, _], 2).
        .decl again(l: List)
        again(t) :- list([_, t], _). again(l) :- again(l), again([_, l]).""",
        {"word": [("a",), ("a, [b",), ('"]',), ("nil",), ("",)]},
    ),
    Case(
        "records_in_inputs",
        """.type Pair = [a: number, b: Pair]
        .decl given(p: Pair, n: number) .decl inner(p: Pair) .decl total(p: Pair, n: number)
        inner(p) :- given(p, _). inner(q) :- inner([_, q]).
        total(p, a + n) :- inner(p), p = [a, q], q != nil, given(q, n).""",
        {"given": [("nil", 1), ("[1, nil]", 2), ("[3, [1, nil]]", 4), ("[-5,[3,[1,nil]]]", 6)]},
    ),
    Case(
        "numbers_wrap_around",
        """.decl n(x: number) .decl u(x: unsigned) .decl m(x: number, y: number, z: number)
        .decl v(x: unsigned, y: unsigned)
        m(x + 1, x * x, x bshl 3) :- n(x).
        v(x - 1, x * 3) :- u(x). v(x bshr 1, bnot x) :- u(x).""",
        {
            "n": [(2**63 - 1,), (-(2**63),), (0,), (-1,), (3,)],
            "u": [(0,), (1,), (2**64 - 1,), (2**63,)],
        },
    ),
    Case(
        "floats_have_one_zero_and_one_nan",
        """.decl f(x: float) .decl g(x: float, y: float) .decl h(x: float) .decl k(n: number)
        g(x, x * 0.5) :- f(x). h(x / x) :- f(x). h(y) :- g(y, y).
        k(n) :- n = count : h(_).
        .decl low(x: float)
        low(x) :- x = min y : { f(y), y > -1.0 }.""",
        {"f": [(0.0,), (-0.0,), (float("nan"),), (float("inf"),), (1e300,), (-2.5,), (0.1,)]},
        judged=False,  # the definition counts every NaN
    ),
    Case(
        "unsigned_numbers_partition_and_compare_as_such",
        """.decl e(x: unsigned, y: unsigned) .decl p(x: unsigned, y: unsigned)
        .decl top(x: unsigned)
        p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).
        top(x) :- x = max y : p(_, y). top(y) :- p(_, y), y > 9223372036854775807.""",
        {"e": [(0, 2**63), (2**63, 2**64 - 1), (2**64 - 1, 5), (5, 0)]},
    ),
    Case(
        "many_columns",
        ".decl w({0})\n.decl v({0})\nv({2}) :- w({1}). v({1}) :- v({2}).".format(
            ", ".join(f"a{i}: number" for i in range(12)),
            ", ".join(f"x{i}" for i in range(12)),
            ", ".join(f"x{i}" for i in reversed(range(12))),
        ),
        {"w": [tuple(range(i, i + 12)) for i in range(6)]},
    ),
]

ALONE = [
    Case(
        "numbers_of_values",
        """.decl s(x: symbol) .decl n(x: symbol, y: symbol)
        n(x, y) :- s(x), s(y), ord(x) = ord(y).""",
        {"s": [("a",), ("b",), ("c",)]},
    ),
    Case(
        "a_limited_relation",
        ".decl n(x: number)\n.limitsize n(n=100)\nn(0). n(x + 1) :- n(x).",
        judged=False,
    ),
]

ASKED = [
    Case(
        "functors_of_the_user",
        """.functor twice(x: number): number
        .functor shout(s: symbol): symbol
        .decl n(x: number, s: symbol) .decl m(x: number, s: symbol)
        m(x, s) :- n(x, s). m(@twice(x), @shout(s)) :- m(x, s), x < 100.""",
        {"n": [(1, "a"), (3, "é")]},
        functors={"twice": lambda x: 2 * x, "shout": lambda s: (s + "!")[-4:]},
        judged=False,
    ),
    *(
        Case(
            f"best_ways_in_{semiring.replace('-', '_')}",
            WEIGHED,
            {"edge": [(x, y, cell(c)) for x, y, c in COSTS]},
            semiring,
            judged=False,
        )
        for semiring, cell in {
            "tropical": float,
            "viterbi": lambda c: c / 8,
            "fuzzy": lambda c: c / 5,
            "bottleneck": float,
            "minimax": float,
            "lukasiewicz": lambda c: c / 5,
            "access": lambda c: ["public", "confidential", "secret", "top-secret", "nobody"][c - 1],
            "boolean": lambda c: 1,
        }.items()
    ),
    *(
        Case(
            f"derivations_in_{semiring.replace('-', '_')}",
            WEIGHED,
            {"edge": [*ACYCLIC]},
            semiring,
            judged=False,
        )
        for semiring in (
            *("counting", "counting-inf", "which", "why", "minwhy", "how", "absorption"),
            "top-2",
            "visits",
        )
    ),
    Case(
        "probabilities",
        WEIGHED,
        {"edge": [(x, y, 0.5) for x, y in GRAPH[:6]]},
        "probability",
        judged=False,
    ),
    Case(
        "annotations_of_facts_in_the_text",
        WEIGHED + "edge(1, 2, 2.0). edge(2, 3, 0.5). edge(1, 3, 9.0).",
        semiring="tropical",
        judged=False,
    ),
    Case(
        "annotations_by_halves",
        WEIGHED.replace("path(x, y), edge(y, z)", "path(x, y), path(y, z)"),
        {"edge": [(x, y, float(c)) for x, y, c in COSTS]},
        "tropical",
        judged=False,
    ),
]

WRONG = [
    Case(
        "division_by_zero",
        ".decl n(x: number)\n.decl m(x: number)\nm(10 / x) :- n(x).",
        {"n": [(1,), (0,)]},
        code="W0701",
    ),
    Case(
        "a_functor_that_fails",
        ".functor f(x: number): number\n.decl n(x: number)\n.decl m(x: number)\nm(@f(x)) :- n(x).",
        {"n": [(1,), (0,)]},
        functors={"f": lambda x: 1 // x},
        code="W0701",
    ),
    Case(
        "a_cycle_without_end",
        """.decl e(x: number, y: number, c: number) .decl p(x: number, y: number, c: number)
        p(x, y, c) :- e(x, y, c). p(x, z, c + d) :- p(x, y, c), e(y, z, d).""",
        {"e": [(1, 2, 1), (2, 1, 1)]},
        code="W0707",
    ),
    Case("counting_on_a_cycle", WEIGHED, {"edge": list(GRAPH)}, "counting", code="W0931"),
    Case(
        "a_record_that_is_none",
        ".type P = [a: number]\n.decl n(p: P)\n.decl m(p: P)\nm(p) :- n(p).",
        {"n": [("[1",)]},
        code="W0653",
    ),
]

CASES = [*PLAIN, *ALONE, *ASKED, *WRONG]
