"""Following the best rows first gives what following all of them gives."""

from __future__ import annotations

from unittest import mock

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from property.agreement import answers, quick, resolved
from whence import session
from whence.engine.local import buckets

DECLS = """
.decl e(x: number, y: number, w: {kind})
.decl p(x: number, y: number, c: {kind})
.decl q(x: number, y: number, c: {kind})
p(x, y, a) <= p(x, y, b) :- b {order} a.
q(x, y, a) <= q(x, y, b) :- b {order} a.
p(x, y, w) :- e(x, y, w).
"""
RULES = (
    "p(x, z, {f}) :- p(x, y, a), p(y, z, b).",
    "q(x, z, {f}) :- p(x, y, a), e(y, z, b). p(x, z, {f}) :- q(x, y, a), p(y, z, b).",
    "q(x, y, a) :- p(y, x, a). p(x, y, {f}) :- q(x, z, a), q(z, y, b), x != y.",
)


@st.composite
def recursions(draw: st.DrawFn) -> tuple[str, set[tuple[int, int, float]]]:
    kind, order, term, weights = draw(
        st.sampled_from(
            [
                ("number", "<=", "a + b", [0, 1, 2, 7]),
                ("unsigned", "<=", "max(a, b)", [0, 1, 2, 7]),
                ("float", "<=", "a + b", [0.0, 0.5, 2.0]),
                ("float", ">=", "a * b", [0.25, 0.5, 1.0]),
                ("float", ">=", "min(a, b)", [-1.0, 0.5, 2.0]),
            ]
        )
    )
    node = st.integers(0, 4)
    facts = draw(st.sets(st.tuples(node, node, st.sampled_from(weights)), max_size=12))
    rules = DECLS.format(kind=kind, order=order) + draw(st.sampled_from(RULES)).format(f=term)
    return rules, facts


@quick
@given(recursions(), st.sampled_from([0.0, 0.5, 0.99]))
def test_buckets_of_any_width_give_what_the_definition_gives(
    case: tuple[str, set[tuple[int, int, float]]], quantile: float
) -> None:
    text, facts = case
    program = session.parse(text)
    inputs = {}
    if facts:
        kind = pa.float64() if "w: float" in text else pa.int64()
        columns = [list(column) for column in zip(*facts, strict=True)]
        types = (pa.int64(), pa.int64(), kind)
        arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
        inputs = {"e": pa.table(arrays, names=["x", "y", "w"])}
    with mock.patch.multiple(buckets, _SMALL=0, _QUANTILE=quantile):
        evaluation = session.evaluate(program, inputs, threads=1)
    expected = answers(resolved(program), {"e": set(facts)})
    for name in ("p", "q"):
        columns = [column.to_pylist() for column in evaluation.table(name).columns]
        assert set(zip(*columns, strict=True)) == expected[name]


def test_deltas_hold_the_best_rows_and_the_others_wait() -> None:
    program = session.parse(DECLS.format(kind="number", order="<=") + RULES[0].format(f="a + b"))
    ring = [(i, (i + 1) % 40, i % 7) for i in range(40)]
    table = pa.table({k: list(v) for k, v in zip("xyw", zip(*ring, strict=True), strict=True)})

    def rounds(small: int) -> int:
        with mock.patch.multiple(buckets, _SMALL=small, _QUANTILE=0.1):
            return session.evaluate(program, {"e": table}).stats.relations["p"].rounds

    assert rounds(0) > 3 * rounds(1 << 40)
