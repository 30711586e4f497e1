"""Hard state told with types gives what its definition gives, where it can be told."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence import session
from whence.analysis.ndlog.state import states
from whence.network.definition import central
from whence.network.protocols.library import protocol
from whence.rewrite.hard_state import Untold, hard_state
from whence.syntax.ndlog import parse_ndlog
from whence.syntax.nodes import Kind

N, F, S = Kind.NUMBER, Kind.FLOAT, Kind.SYMBOL
TABLES = "".join(f"materialize({name}, infinity, infinity, keys()). " for name in "epqr")

RULES = [
    "p(@X, Y) :- e(@X, Y, C). p(@X, Z) :- e(@X, Y, C), p(@Y, Z).",
    "p(@X, Y, C) :- e(@X, Y, C). p(@X, Z, C) :- e(@X, Y, A), p(@Y, Z, B), C = A + B, C < 12.",
    "p(@X, min<C>, max<C>, sum<C>, count<*>) :- e(@X, _, C).",
    "p(@X, C - 1, count<Y>) :- e(@X, Y, C), Y != X.",
    "p(@X, count<*>) :- e(@X, Y, C), e(@Y, Z, D). q(@X, N) :- e(@X, _, _), !p(@X, _), N = 0.",
    "p(@X, Y) :- e(@X, Y, C), (C in (2, 4] || C in [5, 1)), !(C in [3, 3]).",
    "p(@X, M) :- e(@X, Y, A), e(@Y, X, B), M = f_max(A, f_min(B, 2)), M >= f_sum(A, -1).",
    "p(@X, b) :- e(@X, a, C). p(@c, X) :- e(@X, Y, C), e(@Y, _, C + 1). e(@c, a, 2). Query p(@X, Y).",
    "p(@X) :- e(@X, Y, C), !e(@Y, X, C), X != Y. q(@X) :- e(@X, Y, C), !p(@Y).",
]


@pytest.mark.parametrize("rules", RULES, ids=range(len(RULES)))
@settings(max_examples=12, deadline=None)
@given(
    rows=st.sets(
        st.tuples(st.sampled_from("abc"), st.sampled_from("abc"), st.integers(0, 6)), max_size=8
    )
)
def test_the_embedded_engine_gives_what_the_definition_gives(rules, rows):
    program = parse_ndlog(TABLES + rules)
    told = hard_state(program, {"e": (S, S, N)})
    facts = central(program, {"e": rows})
    found = session.evaluate(told, {"e": _table(rows)})
    for name in ("e", "p", "q"):
        if name in {decl.name for decl in told.relations}:
            here = {tuple(row.values()) for row in found.table(name).to_pylist()}
            assert here == facts[name], name


def _table(rows):
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    kinds = (pa.string(), pa.string(), pa.int64())
    return pa.table(
        {f"c{i + 1}": pa.array(c, t) for i, (c, t) in enumerate(zip(columns, kinds, strict=True))}
    )


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ("p(@X, P) :- e(@X, Y), P = [X, Y].", "lists"),
        ("p(@X, T) :- e(@X, Y), T = f_now().", "f_now"),
        ("p(@X, true) :- e(@X, Y).", "True"),
        ("p(@X, C) :- e(@X, Y), C = 1 << 160.", "bshl"),
        ("p(@X, C) :- e(@X, Y), C = 0xffffffffffffffffffff.", "digits"),
        ("p(@X, C) :- e(@X, Y), C = infinity.", "inf"),
        ("p(@X, Y) :- e(@X, Y), Y < 1.", "ordered"),
        ("p(@X, Y) :- e(@X, Y), Y < X.", "ordered"),
        ("p(@X, min<Y>) :- e(@X, Y).", "ordered"),
        ("p(@X, avg<C>) :- q(@X, C).", "avg"),
        ("p(@X, 1) :- e(@X, Y). p(@X, 1.5) :- q(@X, C). p(@X, a) :- e(@X, X).", "kinds"),
    ],
)
def test_what_types_cannot_tell_is_left_to_the_definition(rules, why):
    with pytest.raises(Untold, match=why):
        hard_state(parse_ndlog(TABLES + rules), {"e": (S, S)})


def test_costs_may_be_floats_and_so_is_what_is_computed_from_them():
    program = parse_ndlog(TABLES + "p(@X, D) :- e(@X, C), D = C + 1.")
    told = hard_state(program, {"e": (S, F)})
    assert [a.type for a in told.relation("p").attributes] == ["symbol", "float"]


def test_queries_are_outputs_and_else_all_that_is_derived():
    text = TABLES + "p(@X) :- e(@X). q(@X) :- p(@X)."
    both = hard_state(parse_ndlog(text), {"e": (S,)})
    one = hard_state(parse_ndlog(text + "Query q(@X)."), {"e": (S,)})
    assert {d.relation for d in both.directives if d.action == "output"} == {"p", "q"}
    assert [d.relation for d in one.directives if d.action == "output"] == ["q"]


def test_protocols_without_lists_can_be_told():
    for name, base in {
        "reachable": {"link": (S, S, N)},
        "same_generation": {"parent": (S, S)},
        "horizon": {"link": (S, S, N), "reading": (S, N)},
    }.items():
        program = protocol(name)
        assert set(base) <= set(states(program))
        assert hard_state(program, base).rules
