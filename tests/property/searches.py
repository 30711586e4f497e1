"""Random recursions that are searches: a way to combine, an order, a shape, and facts."""

from __future__ import annotations

from hypothesis import strategies as st

Facts = dict[str, set[tuple[object, ...]]]

HEAD = """
.decl e(x: number, y: number, w: {kind})
.decl s(x: number, y: number, w: {kind})
.decl p(x: number, y: number, c: {kind})
p(x, y, a) <= p(x, y, b) :- b {order} a.
p(x, y, w) :- s(x, y, w).
"""
STEPS = {
    "+": "a + w",
    "*": "a * w",
    "min": "min(a, w)",
    "max": "max(w, a)",
    "bounded": "max(0, a + w - 1)",
    "same": "a",
}
SHAPES = (
    "p(x, z, {step}) :- p(x, y, a), e(y, z, w).",
    "p(x, z, {step}) :- e(x, y, w), p(y, z, a).",
    "p(x, z, {step}) :- p(x, y, a), e(y, z, w). p(x, 3, {step}) :- p(x, y, a), e(_, y, w).",
    "p(x, z, {step}) :- p(x, y, a), e(y, z, w), y != z, !e(z, z, _).",
)
NUMBERS = {"number": st.integers(0, 3), "float": st.sampled_from([0.0, 0.25, 0.5, 1.0])}


@st.composite
def searches(draw: st.DrawFn) -> tuple[str, Facts, st.SearchStrategy[tuple[object, ...]]]:
    """A program, facts for it, and more that may come."""
    kind = draw(st.sampled_from(sorted(NUMBERS)))
    # With these numbers going round is never better, so every way of computing ends.
    orders = {"+": "<=", "*": ">=" if kind == "float" else "<=", "min": ">=", "max": "<="}
    step = draw(st.sampled_from(sorted(STEPS)))
    order = orders.get(step, ">=" if kind == "float" else "<=")
    values = NUMBERS[kind]
    if kind == "number" and step == "*":
        values = st.integers(1, 3)
    if step == "bounded":
        kind, order, values = "float", ">=", NUMBERS["float"]
    node = st.integers(0, 4) if draw(st.booleans()) else st.sampled_from([0, 3, 10**12, -7])
    row: st.SearchStrategy[tuple[object, ...]] = st.tuples(node, node, values)
    rows = st.sets(row, max_size=10)
    text = HEAD.format(kind=kind, order=order)
    text += draw(st.sampled_from(SHAPES)).format(step=STEPS[step])
    return text, {"e": draw(rows), "s": draw(rows)}, row
