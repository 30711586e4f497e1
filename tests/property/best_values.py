"""Random rules that keep the best value of each key: recursive, through subsumption, with one answer.

A step makes a value no better and keeps the order of values, so what follows from a dominated
tuple is dominated too. Steps of zero, and those that take the worse of two values, make plateaus
on which tuples could support each other for ever.
"""

from __future__ import annotations

from hypothesis import strategies as st

from whence.syntax.nodes import Program
from whence.syntax.souffle import parse

STARTS = {
    1: [
        "{r}({constant}, 0) :- v({constant}).",
        "{r}(x, {low}) :- v(x).",
        "{r}(x, {small}) :- {w}.",
    ],
    2: [
        "{r}(x, y, {low}) :- e(x, y).",
        "{r}(x, x, {low}) :- v(x).",
        "{r}(x, y, {small}) :- e(y, x), {w}.",
    ],
}
STEPS = {
    1: [
        "{r}(z, {worse}) :- {r}(y, c), e(y, z){test}.",
        "{r}(z, {heavier}) :- {r}(y, c), e(y, z), {wy}{test}.",
        "{r}(z, {heavier}) :- {r}(x, c), e(_, z), {wy}, x != y{test}.",
    ],
    2: [
        "{r}(x, z, {worse}) :- {r}(x, y, c), e(y, z){test}.",
        "{r}(x, z, {heavier}) :- e(x, y), {r}(y, z, c), {wy}{test}.",
        "{r}(x, z, {both}) :- {r}(x, y, c), {r}(y, z, d){test}.",
        "{r}(x, x, {worse}) :- {r}(x, y, c), {r}(y, x, d), v(y){test}.",
    ],
}


@st.composite
def best_values(
    draw: st.DrawFn, relation: str, *, unsigned: bool = False
) -> tuple[tuple[str, ...], Program]:
    """The types of a relation over the inputs `e`, `v` and `w` or `l`, and its rules."""
    least = draw(st.booleans())
    keys = draw(st.integers(1, 2))
    kind = draw(st.sampled_from(["number", "unsigned"] if unsigned else ["number"]))
    constant = str(draw(st.integers(0, 3)))
    amount = "i" if kind == "unsigned" else "u"
    over = "max" if least else "min"
    heavier = [f"{over}(c, {amount})"]
    heavier += [f"c + ({amount} band 1)", f"c + ({amount} band 3)"] if least else []

    def written(options: list[str]) -> str:
        test = ["", "", f", c {'<=' if least else '>='} {constant}", f", z != {constant}"]
        text = draw(st.sampled_from(options))
        test = [t for t in test if "z" not in t or "z" in text]
        return text.format(
            r=relation,
            constant=constant,
            low=draw(st.sampled_from(["0", "1", constant])),
            small=f"{amount} band 3",
            w=f"w(x, {amount})" if kind == "unsigned" else f"e(x, {amount})",
            wy=f"w(y, {amount})" if kind == "unsigned" else f"e(y, {amount})",
            worse=draw(st.sampled_from(["c", f"{over}(c, {constant})", *["c + 1"] * least])),
            heavier=draw(st.sampled_from(heavier)),
            both=f"{over}(c, d)",
            test=draw(st.sampled_from(test)),
        )

    starts = [written(STARTS[keys]) for _ in range(draw(st.integers(1, 2)))]
    steps = [written(STEPS[keys]) for _ in range(draw(st.integers(1, 2)))]
    op = draw(st.sampled_from(["<", "<="] if least else [">", ">="]))
    key = ", ".join(["k", "l"][:keys])
    wins = f"{relation}({key}, c) <= {relation}({key}, d) :- d {op} c."
    text = "\n".join([*starts, *steps, wins])
    return (*["number"] * keys, kind), parse(text)
