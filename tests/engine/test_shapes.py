"""Programs and data of awkward shapes: hubs, wide rows, long bodies, limits, faults."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from whence.database import Database
from whence.diagnostics import DataError, LimitError
from whence.engine.base import Limits
from whence.engine.local.engine import LocalEvaluation
from whence.engine.local.guard import resident_bytes
from whence.engine.local.operators import CHUNK
from whence.engine.local.parallel import ParallelRule

COUNT_UP = ".decl c(x: number)\nc(0).\nc(x + 1) :- c(x), x >= 0."
CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def database(text: str, *, threads: int | None = None, limits: Limits = Limits()) -> Database:
    db = Database(threads=threads, limits=limits)
    db.load(text)
    return db


def test_a_key_with_a_million_matches_carries_on_where_it_stopped() -> None:
    db = database(
        """.decl e(x: number, y: number)
        .decl s(x: number)
        .decl r(y: number)
        r(y) :- s(x), e(x, y)."""
    )
    n = 1_000_000
    db.insert("e", {"x": np.zeros(n, dtype=np.int64), "y": np.arange(n)})
    db.insert("s", [(0,), (1,)])
    assert len(db["r"]) == n


def test_relations_may_have_thirty_columns() -> None:
    columns = ", ".join(f"a{i}: number" for i in range(30))
    names = [f"x{i}" for i in range(30)]
    db = database(
        f".decl w({columns})\n.decl v({columns})\nv({', '.join(names[::-1])}) :- w({', '.join(names)})."
    )
    rows = np.arange(3000).reshape(100, 30)
    db.insert("w", rows)
    assert db["v"].rows() == sorted(map(tuple, rows[:, ::-1].tolist()))


def test_a_rule_may_have_ten_atoms() -> None:
    body = ", ".join(f"e(x{i}, x{i + 1})" for i in range(10))
    db = database(
        f".decl e(x: number, y: number)\n.decl p(x: number, y: number)\np(x0, x10) :- {body}."
    )
    edges = [(i, (3 * i + j) % 40) for i in range(40) for j in range(2)]
    db.insert("e", edges)
    matrix = np.zeros((40, 40), dtype=np.int64)
    for a, b in edges:
        matrix[a, b] = 1
    reached = np.linalg.matrix_power(matrix, 10)
    assert db["p"].rows() == [tuple(pair) for pair in np.argwhere(reached).tolist()]


def test_a_cross_product_gives_every_pair() -> None:
    db = database(
        ".decl a(x: number)\n.decl b(x: number)\n.decl c(x: number, y: number)\nc(x, y) :- a(x), b(y)."
    )
    db.insert("a", np.arange(300).reshape(-1, 1))
    db.insert("b", np.arange(300).reshape(-1, 1))
    assert len(db["c"]) == 90_000


def test_relations_without_columns_hold_or_do_not() -> None:
    db = database(
        """.decl a() .decl b() .decl c() .decl d()
        a(). c() :- a(), !b(). d() :- b()."""
    )
    assert [len(db[name]) for name in "abcd"] == [1, 0, 1, 0]


def test_an_empty_relation_is_no_obstacle() -> None:
    db = database(CLOSURE)
    assert db["path"].rows() == []
    assert db.query("path(1, x)").rows() == []


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    ("spread", "method"), [(1, "bitmap"), (2**20, "packed keys"), (2**45, "hashed rows")]
)
def test_threads_do_not_change_the_answer(
    threads: int, spread: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared: list[int] = []
    run = ParallelRule.run
    monkeypatch.setattr(
        ParallelRule, "run", lambda rule, rows: (shared.append(len(rows)), run(rule, rows))
    )
    # What is computed with is not renumbered, so the spread stays.
    computed = ".decl n(x: number)\nn(x + y) :- edge(x, y)."
    db = database(CLOSURE + computed, threads=threads)
    edges = np.random.default_rng(3).integers(0, 800, (2400, 2))
    db.insert("edge", edges * spread)
    reach = np.zeros((800, 800), dtype=bool)
    reach[edges[:, 0], edges[:, 1]] = True
    for middle in range(800):
        reach |= np.outer(reach[:, middle], reach[middle])
    assert np.array_equal(db["path"].to_numpy(), np.argwhere(reach) * spread)
    evaluation = db._committed.derived.relations()
    assert isinstance(evaluation, LocalEvaluation)
    assert evaluation.method("path") == method
    # With one thread none are shared out; with more, several chunks at a time are.
    assert (max(shared, default=0) > 2 * CHUNK) is (threads > 1)


@pytest.mark.parametrize("spread", [1, 10**12], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", ["number", "unsigned", "float", "symbol"])
def test_identifiers_of_any_kind_and_spread_give_the_same_closure(spread: int, kind: str) -> None:
    chain = [(i * spread, (i + 1) * spread) for i in range(500)]
    text = CLOSURE.replace("number", kind) + "\n.decl far(x: number)\nfar(1) :- path({}, {})."
    first, last = chain[0][0], chain[-1][1]
    spelled = {
        "number": (first, last),
        "unsigned": (first, last),
        "float": (f"{first}.0", f"{last}.0"),
        "symbol": (f'"{first}"', f'"{last}"'),
    }[kind]
    convert = {"number": int, "unsigned": int, "float": float, "symbol": str}[kind]
    db = database(text.format(*spelled))
    db.insert("edge", [(convert(a), convert(b)) for a, b in chain[:20]])
    assert len(db["path"]) == 20 * 21 // 2
    assert (convert(first), convert(chain[19][1])) in db["path"]
    assert len(db["far"]) == 0
    db.insert("edge", [(convert(a), convert(b)) for a, b in chain[20:]])
    assert len(db["path"]) == 500 * 501 // 2
    assert len(db["far"]) == 1


def test_numbers_wrap_around_at_64_bits() -> None:
    db = database(
        """.decl a(x: number) .decl u(x: unsigned)
        a(9223372036854775807 + y) :- b(y).
        u(0 - y) :- c(y).
        .decl b(y: number) .decl c(y: unsigned)
        b(1). c(1)."""
    )
    assert db["a"].rows() == [(-(2**63),)]
    assert db["u"].rows() == [(2**64 - 1,)]


def test_division_by_zero_points_at_the_term() -> None:
    db = database(".decl c(x: number)\n.decl d(x: number)\nc(0).\nd(1 / x) :- c(x).")
    with pytest.raises(DataError) as caught:
        _ = db["d"]
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.line, found.span.column) == ("W0701", 4, 3)


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(max_tuples=1000), "W0704"),
        (Limits(timeout=0.2), "W0702"),
        (Limits(max_memory=1), "W0703"),
    ],
)
def test_a_recursion_without_end_stops_at_its_limit(limits: Limits, code: str) -> None:
    with pytest.raises(LimitError) as caught:
        _ = database(COUNT_UP, limits=limits)["c"]
    assert caught.value.diagnostics[0].code == code


def test_a_limit_stops_all_threads() -> None:
    db = database(CLOSURE, threads=2, limits=Limits(max_tuples=200_000))
    db.insert("edge", np.random.default_rng(1).integers(0, 1000, (5000, 2)))
    before = threading.active_count()
    with pytest.raises(LimitError):
        _ = db["path"]
    assert threading.active_count() == before


def test_limitsize_stops_a_recursion_that_would_not_end() -> None:
    db = database(COUNT_UP + "\n.limitsize c(n=50)")
    assert 50 <= len(db["c"]) <= 51


def test_the_first_of_rows_that_dominate_each_other_stays() -> None:
    db = database(
        """.decl p(x: number, y: number)
        p(1, 5). p(2, 5). p(3, 4). p(4, 4).
        p(x, a) <= p(y, b) :- b <= a, x != y."""
    )
    assert db["p"].rows() == [(3, 4)]


def test_subsumption_by_two_values_keeps_the_pareto_front() -> None:
    rng = np.random.default_rng(8)
    points = [tuple(p) for p in rng.integers(0, 40, (300, 2)).tolist()]
    db = database(
        """.decl p(x: number, y: number)
        p(a, b) <= p(c, d) :- c <= a, d <= b."""
    )
    db.insert("p", points)
    front = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}
    assert set(db["p"]) == front


def test_shortest_distances_come_from_subsumption() -> None:
    edges = np.random.default_rng(9).integers(0, 60, (240, 3))
    db = database(
        """.decl edge(x: number, y: number, w: number)
        .decl dist(x: number, y: number, d: number)
        dist(x, y, w) :- edge(x, y, w).
        dist(x, z, d + w) :- dist(x, y, d), edge(y, z, w).
        dist(x, y, d1) <= dist(x, y, d2) :- d2 <= d1."""
    )
    db.insert("edge", edges)
    far = 10**9
    best = np.full((60, 60), far)
    np.minimum.at(best, (edges[:, 0], edges[:, 1]), edges[:, 2])
    for middle in range(60):  # Floyd and Warshall; a way back to the start has an edge too
        best = np.minimum(best, best[:, middle, None] + best[None, middle])
    expected = {(a, b): best[a, b] for a, b in np.argwhere(best < far).tolist()}
    assert {(a, b): d for a, b, d in db["dist"]} == expected


def test_an_aggregate_may_need_what_only_its_recursion_knows() -> None:
    db = database(
        """.decl point(x: number)
        point(0). point(1). point(2). point(2 * 2).
        .decl out(r: number, n: number, m: number)
        out(0, 0, 0).
        out(r + 1, n, m) :- out(r, _, _), r < 6,
            n = count : { point(x), x <= r }, m = max x : { point(x), x < r + 1 }."""
    )
    assert db["out"].rows() == [(0, 0, 0)] + [
        (r + 1, sum(x <= r for x in (0, 1, 2, 4)), max(x for x in (0, 1, 2, 4) if x < r + 1))
        for r in range(6)
    ]


def test_a_limit_also_stops_a_join_that_derives_nothing() -> None:
    db = database(
        """.decl a(x: number)
        .decl b(x: number)
        b(x) :- a(x), a(y), a(z), x + y + z < 0.""",
        limits=Limits(timeout=0.5),
    )
    db.insert("a", np.arange(1900).reshape(-1, 1))
    with pytest.raises(LimitError):
        _ = db["b"]


def test_a_subsumption_may_not_care_about_a_column() -> None:
    db = database(
        """.decl e(x: number, y: number)
        e(1, 1). e(1, 2). e(7, 2). e(3, 0).
        e(_, a) <= e(_, b) :- a <= b."""
    )
    assert db["e"].rows() == [(1, 2)]


def test_floats_in_records_are_written_in_full() -> None:
    db = database(
        """.type P = [x: float, n: number]
        .decl p(x: P)
        .decl q(x: float)
        q(x) :- p([x, _])."""
    )
    db.insert("p", [((0.1, 1),), ((1e300, 2),)])
    assert set(db["q"]) == {(0.1,), (1e300,)}
    assert db["p"].rows() == [("[0.10000000000000001, 1]",), ("[1.0000000000000001e+300, 2]",)]
    with pytest.raises(DataError, match="a value of kind number expected"):
        db.insert("p", [("[0.5, 1_0]",)])


@pytest.mark.parametrize("order", ["b < a", "b >= a"])
def test_a_nan_is_neither_better_nor_worse(order: str) -> None:
    db = database(
        f""".decl e(k: number, v: float)
        .decl best(k: number, v: float)
        e(1, 0.0). e(1, 5.0). e(2, 1.0).
        best(k, v) :- e(k, v).
        best(k, v / v) :- e(k, v).
        best(k, w) :- best(k, v), e(k, w), v = v.
        best(k, a) <= best(k, b) :- {order}."""
    )
    values = {1: "0.0" if "<" in order else "5.0", 2: "1.0"}
    expected = [(1, values[1]), (1, "nan"), (2, values[2])]
    assert [(k, str(v)) for k, v in db["best"]] == expected


def test_a_better_value_for_a_known_key_is_no_further_tuple() -> None:
    db = database(
        """.decl best(k: number, v: number)
        best(1, 1000).
        best(k, v - 1) :- best(k, v), v > 0.
        best(k, a) <= best(k, b) :- b < a.""",
        limits=Limits(max_tuples=10),
    )
    assert db["best"].rows() == [(1, 0)]


@pytest.mark.parametrize("step", ["x - 1", "x + 1"])
def test_keys_may_creep_to_the_end_of_the_numbers(step: str) -> None:
    end, start = (-(2**63), -(2**63) + 40) if "-" in step else (2**63 - 1, 2**63 - 41)
    db = database(
        f""".decl p(x: number, z: number)
        .decl s(x: number)
        s({start}). p({start}, 7).
        p({step}, z) :- p(x, _), s(y), p(y, z), x != {end}."""
    )
    assert len(db["p"]) == 41


def test_a_long_list_takes_memory_for_its_length_only() -> None:
    length = 60_000
    db = database(".type L = [h: number, t: L]\n.decl l(x: L)", limits=Limits(max_memory=2 << 30))
    text = "[1, " * length + "nil" + "]" * length
    db.insert("l", [(text,)])
    before = resident_bytes()
    assert db["l"].rows() == [(text,)]
    assert resident_bytes() - before < 500 << 20


def test_fields_of_records_are_read_as_columns_are() -> None:
    db = database(
        """.type P = [x: number, y: unsigned, z: float]
        .decl p(x: P)"""
    )
    db.insert("p", [("[-0x10, 0b11, 0x1p3]",), ("[007, 0xffffffffffffffff, nan]",)])
    assert set(db["p"]) == {("[-16, 3, 8]",), ("[7, 18446744073709551615, nan]",)}
