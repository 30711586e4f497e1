"""Rounds over frames give what the embedded engine gives."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from whence.diagnostics import DataError, LimitError
from whence.engine.base import Limits, Round
from whence.engine.spark.frames import as_spark
from whence.engine.spark.rounds.loop import Options, Rounded, evaluate_rounds
from whence.engine.spark.rounds.supported import why_not
from whence.functor.user import UserFunctors
from whence.session import compile, evaluate
from whence.syntax.souffle import parse

pytestmark = pytest.mark.spark

Tables = dict[str, pa.Table]


def rounded(
    spark: Any, text: str, inputs: Tables, options: Options | None = None, **how: Any
) -> tuple[Rounded, Any]:
    """Return the relations by rounds, and the embedded evaluation."""
    compiled = compile(parse(text), keep_all=True, inputs=inputs, **how)
    functors = options.functors if options else None
    expected = evaluate(compiled, inputs, functors=functors)
    frames = {name: spark.createDataFrame(as_spark(table)) for name, table in inputs.items()}
    names = [d.name for d in compiled.plan.program.relations]
    for stratum in compiled.plan.strata:
        assert why_not(compiled.plan, stratum) is None
    return evaluate_rounds(spark, compiled.plan, frames, names, options), expected


def agree(spark: Any, text: str, inputs: Tables, options: Options | None = None) -> Rounded:
    found, expected = rounded(spark, text, inputs, options)
    for name, frame in found.frames.items():
        if name.startswith("@"):
            continue
        rows = [tuple(map(repr, row)) for row in frame.collect()]
        table = as_spark(expected.table(name))
        wanted = {tuple(map(repr, row.values())) for row in table.to_pylist()}
        assert set(rows) == wanted, name
        assert len(rows) == found.sizes[name] == len(wanted), name
    return found


def pairs(*rows: tuple[int, int]) -> pa.Table:
    return pa.table({"x": [x for x, _ in rows], "y": [y for _, y in rows]})


RING = pairs(*((i, (i + 1) % 5) for i in range(5)), (3, 11), (11, 12))

CLOSURE = """
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def test_closure_takes_as_many_rounds_as_its_longest_way(spark: Any) -> None:
    found = agree(spark, CLOSURE, {"edge": RING})
    assert found.sizes["path"] == 5 * 7 + 1
    assert found.rounds["path"] == 6


OTHERS = {
    "right": "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z).",
    "non-linear": "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z).",
    "constants": "path(0, y) :- edge(0, y). path(0, z) :- path(0, y), edge(y, z). path(7, 7).",
    "nothing": "path(x, y) :- edge(x, y), x > 100. path(x, z) :- path(x, y), edge(y, z).",
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_closures_agree(spark: Any, name: str) -> None:
    head = CLOSURE.partition("path(x, y) :-")[0]
    agree(spark, head + OTHERS[name], {"edge": RING})


def test_mutual_recursion_and_negation_agree(spark: Any) -> None:
    text = """
    .decl edge(x: number, y: number)
    .decl odd(x: number, y: number)
    .decl even(x: number, y: number)
    .decl far(x: number, y: number)
    .decl any() .decl none()
    odd(x, y) :- edge(x, y).
    odd(x, z) :- even(x, y), edge(y, z).
    even(x, z) :- odd(x, y), edge(y, z).
    far(x, y) :- even(x, y), !edge(x, y), !odd(y, x).
    far(x, x) :- edge(x, _), !edge(_, x).
    any() :- far(_, _). none() :- !any().
    """
    chain = pairs(*((i, i + 1) for i in range(5)), (3, 0), (9, 9))
    agree(spark, text, {"edge": chain})


def test_aggregates_agree(spark: Any) -> None:
    text = """
    .decl e(x: number, y: number, u: unsigned, f: float)
    .decl n(x: number) .decl count_(x: number, c: number) .decl sums(x: number, s: number)
    .decl tops(x: number, a: unsigned, b: unsigned, c: float, d: float)
    .decl total(s: number, t: unsigned, f: float, m: float)
    .decl nested(x: number, c: number)
    n(0). n(1). n(2). n(77).
    count_(x, c) :- n(x), c = count : { e(x, _, _, _) }.
    sums(x, s) :- n(x), s = sum y : { e(x, y, _, _) }.
    tops(x, a, b, c, d) :- n(x), a = min u : { e(x, _, u, _) }, b = max u : { e(x, _, u, _) },
        c = min f : { e(x, _, _, f) }, d = max f : { e(x, _, _, f) }.
    total(s, t, f, m) :- s = sum y : { e(_, y, _, _) }, t = sum u : { e(_, _, u, _) },
        f = sum f : { e(_, _, _, f) }, m = mean f : { e(_, _, _, f), f < 100 }.
    nested(x, c) :- n(x), c = count : { e(x, y, _, _), e(_, y, _, _), y > 0 }.
    """
    big = (1 << 63) - 1
    rows = pa.table(
        {
            "x": [0, 0, 0, 1, 1, 2],
            "y": [big, big, 5, -4, 5, -big],
            "u": pa.array([1, (1 << 64) - 1, (1 << 63) + 5, 0, 7, 1 << 63], pa.uint64()),
            "f": [0.5, float("nan"), -1.5, float("nan"), 1e300, -0.0],
        }
    )
    agree(spark, text, {"e": rows})


def test_arithmetic_wraps_round_and_compares_as_embedded(spark: Any) -> None:
    text = """
    .decl a(x: number, u: unsigned, f: float, s: symbol)
    .decl n(x: number, y: number, op: symbol)
    .decl u(x: unsigned, y: unsigned, op: symbol)
    .decl f(x: float, y: float, op: symbol)
    .decl s(x: symbol, y: symbol, op: symbol, k: number)
    n(x, x + y, "+") :- a(x, _, _, _), a(y, _, _, _).
    n(x, x - y, "-") :- a(x, _, _, _), a(y, _, _, _).
    n(x, x * y, "*") :- a(x, _, _, _), a(y, _, _, _).
    n(x, x / y, "/") :- a(x, _, _, _), a(y, _, _, _), y != 0.
    n(x, min(x, y), "<") :- a(x, _, _, _), a(y, _, _, _), x < y.
    n(x, x bshl 3, "^") :- a(x, _, _, _).
    u(x, x + y, "+") :- a(_, x, _, _), a(_, y, _, _).
    u(x, x - y, "-") :- a(_, x, _, _), a(_, y, _, _).
    u(x, x * y, "*") :- a(_, x, _, _), a(_, y, _, _).
    u(x, max(x, y), "<") :- a(_, x, _, _), a(_, y, _, _), x < y.
    f(x, x + y, "+") :- a(_, _, x, _), a(_, _, y, _).
    f(x, x * y, "*") :- a(_, _, x, _), a(_, _, y, _).
    f(x, min(x, y), "m") :- a(_, _, x, _), a(_, _, y, _).
    f(x, max(x, y), "M") :- a(_, _, x, _), a(_, _, y, _).
    f(x, y, "<") :- a(_, _, x, _), a(_, _, y, _), x < y.
    f(x, y, ">=") :- a(_, _, x, _), a(_, _, y, _), x >= y.
    f(x, y, "=") :- a(_, _, x, _), a(_, _, y, _), x = y.
    s(x, cat(x, y), "+", strlen(x)) :- a(_, _, _, x), a(_, _, _, y).
    s(x, y, "<", 0) :- a(_, _, _, x), a(_, _, _, y), x < y.
    s(x, y, "contains", 0) :- a(_, _, _, x), a(_, _, _, y), contains(x, y).
    s(x, substr(y, 1, 2), "substr", 0) :- a(_, _, _, x), a(_, _, _, y), match("a.*", y).
    s(x, to_string(n), "text", n) :- a(n, _, _, x).
    """
    high, low = (1 << 63) - 1, -(1 << 63)
    numbers = [0, 1, -1, 3_000_000_019, -77_000_000_123, high, low]
    rows = pa.table(
        {
            "x": numbers,
            "u": pa.array([n % (1 << 64) for n in numbers], pa.uint64()),
            "f": [0.0, -0.0, 1.5, -2.25, float("inf"), float("nan"), 1e308],
            "s": ["", "a", "ab", "é", "\U0001f600z", "￿", "a,b]"],
        }
    )
    agree(spark, text, {"a": rows})


def test_records_keep_any_symbol(spark: Any) -> None:
    text = """
    .type List = [head: symbol, tail: List]
    .type Pair = [n: number, f: float]
    .decl s(x: symbol)
    .decl lists(l: List, n: number)
    .decl heads(x: symbol, l: List)
    .decl pairs(p: Pair)
    .decl sums(n: number, f: float)
    lists(nil, 0). lists([x, nil], 1) :- s(x).
    lists([x, [y, nil]], 2) :- s(x), s(y).
    heads(x, l) :- lists([x, l], _).
    pairs([n, 0.1]) :- lists(_, n). pairs(nil).
    sums(n, f + 1.0) :- pairs([n, f]).
    """
    odd = ["a, b", "]", '"', "[x, nil]", "", " \n"]
    found, expected = rounded(spark, text, {"s": pa.table({"x": odd})})
    for name in ("heads", "sums", "pairs", "lists"):
        rows = [tuple(row) for row in found.frames[name].collect()]
        table = expected.table(name)
        assert sorted(map(repr, rows)) == sorted(repr(tuple(r.values())) for r in table.to_pylist())
        assert len(rows) == found.sizes[name] == table.num_rows


def test_the_best_of_each_key_is_kept(spark: Any) -> None:
    text = """
    .decl edge(x: number, y: number, c: number)
    .decl near(x: number, c: number) btree_delete
    near(0, 0).
    near(y, c + w) :- near(x, c), edge(x, y, w).
    near(x, c) <= near(x, b) :- b < c.
    .decl wide(x: number, y: number, c: number) btree_delete
    wide(x, y, c) :- edge(x, y, c).
    wide(x, z, min(c, d)) :- wide(x, y, c), wide(y, z, d).
    wide(x, y, c) <= wide(x, y, d) :- c <= d.
    """
    rows = [(0, 1, 9), (0, 2, 1), (2, 1, 1), (1, 3, 1), (3, 0, 0), (3, 4, 2), (1, 4, 9), (0, 1, 8)]
    edges = pa.table({n: [r[i] for r in rows] for i, n in enumerate("xyc")})
    agree(spark, text, {"edge": edges})


def test_faults_are_the_same_mistakes(spark: Any) -> None:
    text = ".decl a(x: number) .decl b(x: number) b(1 / x) :- a(x)."
    found, _ = rounded(spark, text, {"a": pa.table({"x": [1, 2]})})
    assert found.sizes["b"] == 2
    compiled = compile(parse(text), keep_all=True)
    frames = {"a": spark.createDataFrame(pa.table({"x": [1, 0]}))}
    with pytest.raises(DataError) as raised:
        evaluate_rounds(spark, compiled.plan, frames, ["b"])
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == "W0701"
    assert diagnostic.span.source is not None


def test_functors_of_the_user_run_in_tasks(spark: Any) -> None:
    text = """
    .functor twice(x: number): number
    .decl a(x: number) .decl b(x: number)
    b(@twice(x)) :- a(x). b(y) :- b(x), y = @twice(x), y < 99.
    """
    functors = UserFunctors().add("twice", lambda x: 2 * x)
    agree(spark, text, {"a": pa.table({"x": [1, 3]})}, Options(functors=functors))


def test_limits_and_observers_see_every_round(spark: Any) -> None:
    seen: list[Round] = []

    class Watching:
        def on_round(self, event: Round) -> None:
            seen.append(event)

    agree(spark, CLOSURE, {"edge": pairs((1, 2), (2, 3))}, Options(observer=Watching()))
    assert [(e.round, e.new_tuples, e.total_tuples) for e in seen if e.relations == ("path",)] == [
        (0, 2, 2),
        (1, 1, 3),
        (2, 0, 3),
    ]
    for limits, code in ((Limits(max_tuples=20), "W0704"), (Limits(timeout=0.0), "W0702")):
        with pytest.raises(LimitError) as raised:
            rounded(spark, CLOSURE, {"edge": RING}, Options(limits=limits))
        assert raised.value.diagnostics[0].code == code


def test_settings_of_the_session_are_as_before(spark: Any) -> None:
    before = dict(spark.sparkContext.getConf().getAll())
    adaptive = spark.conf.get("spark.sql.adaptive.enabled")
    shuffled = spark.conf.get("spark.sql.shuffle.partitions")
    agree(spark, CLOSURE, {"edge": pairs((1, 2))}, Options(partitions=3))
    assert dict(spark.sparkContext.getConf().getAll()) == before
    assert spark.conf.get("spark.sql.adaptive.enabled") == adaptive
    assert spark.conf.get("spark.sql.shuffle.partitions") == shuffled


def test_rounds_can_outlive_executors(spark: Any, tmp_path: Any) -> None:
    spark.sparkContext.setCheckpointDir(str(tmp_path))
    agree(spark, CLOSURE, {"edge": pairs((1, 2), (2, 3))}, Options(reliable=True))
    assert any(tmp_path.rglob("part-*"))


def test_what_is_large_is_joined_where_it_lies(spark: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("whence.engine.spark.rounds.relations.BROADCAST_BYTES", 0)
    monkeypatch.setattr("whence.engine.spark.rounds.loop.HASHED_ROWS", 0)
    agree(spark, CLOSURE, {"edge": RING})


def test_partitions_grow_with_relations(spark: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("whence.engine.spark.rounds.relations.ROWS_PER_PARTITION", 6)
    monkeypatch.setattr("whence.engine.spark.rounds.stored.LAYERS", 2)
    for rules in ("path(x, z) :- path(x, y), edge(y, z).", OTHERS["non-linear"]):
        text = CLOSURE.replace("path(x, z) :- path(x, y), edge(y, z).", rules)
        found = agree(spark, text, {"edge": RING})
        assert found.frames["path"].rdd.getNumPartitions() > 4


def stages_of(spark: Any, description: str) -> int:
    """Return how many stages the jobs of this name had."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    found = (jobs.apply(i) for i in range(jobs.size()))
    named = [
        j for j in found if j.description().isDefined() and j.description().get() == description
    ]
    return sum(job.stageIds().size() for job in named)


def test_a_recursion_with_a_pivot_moves_nothing(spark: Any, monkeypatch: Any) -> None:
    edges = {"edge": pairs((1, 2), (2, 3), (3, 4))}
    agree(spark, CLOSURE.replace("path", "stays"), edges, Options(reliable=False))
    # Small relations are sent, then deltas are joined and counted: a shuffle would be one more.
    assert stages_of(spark, "stays: round 1") == 3
    monkeypatch.setattr("whence.engine.spark.rounds.relations.BROADCAST_BYTES", 0)
    rules = OTHERS["non-linear"].replace("path", "moves")
    text = CLOSURE.replace("path", "moves").replace(
        "moves(x, z) :- moves(x, y), edge(y, z).", rules
    )
    agree(spark, text, edges, Options(reliable=False))
    assert stages_of(spark, "moves: round 1") > 3
