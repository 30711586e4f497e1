"""A recursion that never ends is stopped, with the cycle; one that ends never is."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from property.agreement import answers, resolved
from whence.database import Database
from whence.diagnostics import DataError, ProgramError, WhenceError
from whence.engine.base import Limits
from whence.engine.local import divergence
from whence.engine.local.fixpoint import Fixpoint
from whence.syntax.souffle import parse

Edge = tuple[int, int, float]

TEXT = """
.type V = [n: number, rest: V]
.decl e(x: number, y: number, c: {kind})
.decl p(x: number, y: number, c: {kind}, v: V, s: symbol)
p(x, y, c, {start}) :- e(x, y, c).
"""
STEPS = [
    "p(x, y, c + d, {vector}, {text}) :- e(x, z, c), p(z, y, d, v, s).",
    "p(x, y, d - c, {vector}, {text}) :- p(x, z, d, v, s), e(z, y, c).",
    "p(x, y, c + d, {vector}, {text}) :- p(x, z, d, v, s), p(z, y, c, _, _).",
    "p(x, y, d * c, {vector}, {text}) :- p(x, z, d, v, s), e(z, y, c).",
    "p(x, y, c, {vector}, {text}) :- p(x, z, d, v, s), e(z, y, c), d != 5.",
]
VECTORS = ["v", "[x, v]", "[y, nil]"]
TEXTS = ["s", 'cat(s, "-")', '"b"']


def program(kind: str, step: str, vector: str = "v", text: str = "s") -> str:
    start = 'nil, "a"'
    return TEXT.format(kind=kind, start=start) + step.format(vector=vector, text=text)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look from the first round and row on, and further."""
    monkeypatch.setattr(divergence, "_ROUNDS", 1)
    monkeypatch.setattr(divergence, "_TUPLES", 1)
    monkeypatch.setattr(divergence, "_STEPS", 200)


_settings = settings(
    max_examples=80,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def downhill(draw: st.DrawFn) -> list[Edge]:
    """Edges that only lead to greater nodes."""
    pairs = draw(
        st.sets(
            st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda p: p[0] < p[1]),
            max_size=9,
        )
    )
    return [(x, y, draw(st.integers(-2, 3))) for x, y in sorted(pairs)]


@pytest.mark.usefixtures("eager")
@_settings
@given(
    downhill(),
    st.sampled_from(STEPS),
    st.sampled_from(VECTORS),
    st.sampled_from(TEXTS),
    st.sampled_from(["number", "float"]),
)
def test_a_recursion_without_cycles_is_never_stopped(
    edges: list[Edge], step: str, vector: str, text: str, kind: str
) -> None:
    source = program(kind, step, vector, text)
    number = float if kind == "float" else int
    given_edges = {(x, y, number(c)) for x, y, c in edges}
    db = Database(threads=1)
    db.load(source)
    db.insert("e", sorted(given_edges))
    judged = answers(resolved(parse(source)), {"e": given_edges})["p"]
    assert len(db["p"]) == len(judged)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize(
    ("step", "cost"),
    [
        (STEPS[0], 0),  # nothing is added
        ("p(x, y, c + d - c, v, s) :- e(x, z, c), p(z, y, d, v, s).", 3),  # and taken off again
        ("p(x, y, c, v, s) :- e(x, z, c), p(z, y, d, v, s).", 3),  # not made of itself
        ("p(x, y, d, [x, nil], s) :- e(x, z, c), p(z, y, d, v, s).", 3),
        ("p(x, y, c * d, v, s) :- e(x, z, c), p(z, y, d, v, s).", 2),  # doubles until it is zero
        ("p(x, y, 1 - d, v, s) :- e(x, z, c), p(z, y, d, v, s).", 1),  # there and back again
        ("p(x, y, (c + d) % 5, v, s) :- e(x, z, c), p(z, y, d, v, s).", 1),
        ("p(x, y, min(c + d, 50), v, s) :- e(x, z, c), p(z, y, d, v, s).", 1),
        ("p(x, y, c + d, v, s) :- e(x, z, c), p(z, y, d, v, s), d < 50.", 1),
    ],
)
def test_cycles_that_come_to_an_end_are_not_stopped(step: str, cost: int) -> None:
    db = Database(limits=Limits(max_tuples=100_000))
    db.load(program("number", step))
    db.insert("e", [(0, 1, cost), (1, 2, cost), (2, 0, cost)])
    assert len(db["p"]) > 0


def test_a_sum_of_floats_that_comes_to_rest_is_not_stopped() -> None:
    db = Database(limits=Limits(max_tuples=10_000))
    db.load(program("float", STEPS[0]))
    db.insert("e", [(0, 0, 1.0), (1, 0, 2.0**53 - 4)])
    with pytest.raises(WhenceError) as stopped:
        len(db["p"])
    assert stopped.value.diagnostics[0].code == "W0707"  # from 1.0 on it does not rest
    db = Database(limits=Limits(max_tuples=10_000))
    db.load(
        """.decl n(x: float)
        n(9007199254740000.0).
        n(x + 1.0) :- n(x)."""
    )
    assert len(db["n"]) == 993


READERS = [
    "",
    ".decl best(x: number, y: number, v: V) best(x, y, v) :- p(x, y, c, v, _), "
    "c = min k : { p(x, y, k, _, _) }.",
    ".decl best(x: number, y: number, c: {kind}) best(x, y, c) :- p(x, y, _, _, _), "
    "c = max k : { p(x, y, k, _, _) }.",
    ".decl best(x: number, y: number, v: V) best(x, y, v) :- p(x, y, c, v, _), "
    "c = max k : { p(x, _, k, _, _) }, c = min k : { p(x, y, k, _, _) }.",
]
LIMIT = 400


@st.composite
def graphs(draw: st.DrawFn) -> list[Edge]:
    """Edges to and fro, of low, zero and negative cost."""
    pairs = draw(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5))
    return [(x, y, draw(st.sampled_from([-1, 0, 0, 1, 2]))) for x, y in sorted(pairs)]


def ended(text: str, edges: list[Edge], kind: str) -> dict[str, int] | str:
    """Return the sizes of what is read, or the code of what stopped the evaluation."""
    number = float if kind == "float" else int
    db = Database(threads=1, limits=Limits(max_tuples=LIMIT))
    try:
        db.load(text)
        db.insert("e", [(x, y, number(c)) for x, y, c in edges])
        return {name: len(db[name]) for name in db if name != "p" or "best" not in db}
    except WhenceError as error:
        return error.diagnostics[0].code


@pytest.mark.usefixtures("eager")
@settings(_settings, max_examples=100)
@given(
    graphs(),
    st.sampled_from(STEPS),
    st.sampled_from(VECTORS),
    st.sampled_from(TEXTS),
    st.sampled_from(["number", "float"]),
    st.sampled_from(READERS),
)
def test_only_what_has_no_end_is_stopped(
    edges: list[Edge], step: str, vector: str, text: str, kind: str, reader: str
) -> None:
    source = program(kind, step, vector, text) + reader.replace("{kind}", kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Fixpoint, "_watches", lambda self: [])
        unwatched = ended(source, edges, kind)
    watched = ended(source, edges, kind)
    assert watched == unwatched or (unwatched == "W0704" and watched in ("W0707", "W0708"))


CYCLE = [(0, 1, 1), (1, 2, 1), (2, 0, 1), (2, 3, 1)]


@pytest.mark.parametrize("step", STEPS[:3])
@pytest.mark.parametrize(("vector", "text"), [("v", "s"), ("[x, v]", "s"), ("v", 'cat(s, "-")')])
def test_a_cycle_without_end_is_stopped_and_shown(step: str, vector: str, text: str) -> None:
    db = Database(limits=Limits(max_tuples=1_000_000))
    db.load(program("number", step, vector, text))
    db.insert("e", CYCLE)
    with pytest.raises(ProgramError) as stopped:
        len(db["p"])
    (found,) = stopped.value.diagnostics
    assert found.code == "W0707"
    assert " is derived from itself: (" in found.notes[0]


def test_a_product_is_stopped_by_its_vector() -> None:
    db = Database(limits=Limits(max_tuples=1_000_000))
    db.load(program("float", STEPS[3], "[x, v]"))
    db.insert("e", [(x, y, 1.0) for x, y, _ in CYCLE])
    with pytest.raises(ProgramError, match="never ends"):
        len(db["p"])


def test_a_dense_graph_is_stopped_before_its_paths_fill_the_memory() -> None:
    db = Database(limits=Limits(max_tuples=5_000_000))
    db.load(program("number", STEPS[0], "[x, v]"))
    db.insert("e", [(x, y, 1) for x in range(20) for y in range(20)])
    with pytest.raises(ProgramError, match="W0707"):
        len(db["p"])


def test_a_long_cycle_is_found_once_it_has_been_round() -> None:
    db = Database(limits=Limits(max_tuples=5_000_000))
    db.load(program("number", STEPS[0]))
    db.insert("e", [(x, (x + 1) % 100, 1) for x in range(100)])
    with pytest.raises(ProgramError, match=r"→ …"):
        len(db["p"])


BEST = """
.decl best(x: number, y: number, {what})
best(x, y, {value}) :- p(x, y, c, v, _), c = min k : { p(x, y, k, _, _) }.
"""
VECTOR = BEST.replace("{what}", "v: V").replace("{value}", "v")
COST = BEST.replace("{what}", "c: number").replace("{value}", "c")


def best(text: str, edges: list[tuple[int, int, int]]) -> Database:
    db = Database(limits=Limits(max_tuples=1_000_000))
    db.load(program("number", STEPS[0], "[x, v]") + text)
    db.insert("e", edges)
    return db


@pytest.mark.parametrize("cost", [0, -1])
def test_best_paths_without_end_are_stopped_and_shown(cost: int) -> None:
    db = best(VECTOR, [(x, y, cost) for x, y, _ in CYCLE])
    with pytest.raises(DataError) as stopped:
        len(db["best"])
    (found,) = stopped.value.diagnostics
    assert (found.code, "`c` is no worse" in found.message) == ("W0708", True)


def test_costs_alone_do_not_mind_a_cycle_that_costs_nothing() -> None:
    db = best(COST, [(x, y, 0) for x, y, _ in CYCLE])
    assert len(db["best"]) == 12
    db = best(COST, [(x, y, -1) for x, y, _ in CYCLE])
    with pytest.raises(DataError, match="W0708"):
        len(db["best"])


SAFEST = VECTOR.replace("min k", "max k")


def safest(edges: list[tuple[int, int, float]]) -> Database:
    db = Database(limits=Limits(max_tuples=1_000_000))
    db.load(program("float", STEPS[3], "[x, v]") + SAFEST)
    db.insert("e", edges)
    return db


@pytest.mark.parametrize("factors", [(1.0, 1.0, 1.0), (2.0, 0.25, 2.0)])
def test_products_that_come_back_are_stopped(factors: tuple[float, float, float]) -> None:
    a, b, c = factors
    with pytest.raises(DataError, match="W0708"):
        len(safest([(0, 1, a), (1, 2, b), (2, 0, c), (2, 3, 0.5)])["best"])


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("factors", [(0.5, 1.0, 1.0), (0.7, 0.7, 0.7), (3.0, 1.0, 0.3)])
def test_products_that_lose_are_not_stopped(factors: tuple[float, float, float]) -> None:
    a, b, c = factors
    assert len(safest([(0, 1, a), (1, 2, b), (2, 0, c), (2, 3, 0.5)])["best"]) >= 12


def test_one_costly_link_on_each_cycle_is_enough() -> None:
    db = best(VECTOR, [(0, 1, 0), (1, 2, 0), (2, 0, 1), (2, 3, 0)])
    assert len(db["best"]) == 12


def test_the_relation_itself_is_read_in_full() -> None:
    db = best(VECTOR, [(0, 1, 2), (0, 2, 5), (1, 2, 1)])
    assert {row[:2] for row in db["best"]} == {(0, 1), (0, 2), (1, 2)}
    assert {row[:3] for row in db["p"]} == {(0, 1, 2), (0, 2, 5), (0, 2, 3), (1, 2, 1)}
