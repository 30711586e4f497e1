"""Following only the best rows gives what the definition gives, and ends where the definition
would not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from property.agreement import answers, long, quick, resolved
from whence import session
from whence.database import Database
from whence.rewrite.prune import outputs
from whence.syntax.souffle import parse

Link = tuple[str, str, int]

# ── on cyclic graphs, judged by all simple paths ──

QUERY = """
.type Path = [head: symbol, tail: Path]
.decl link(x: symbol, y: symbol, c: number)
.decl path(x: symbol, y: symbol, p: Path, c: number, l: number)
path(x, y, [x, [y, nil]], c, 1) :- link(x, y, c).
{step}
.decl minCost(x: symbol, y: symbol, c: number)
minCost(x, y, c) :- path(x, y, _, _, _), c = min k : {{ path(x, y, _, k, _) }}.
.decl minHops(x: symbol, y: symbol, l: number)
minHops(x, y, l) :- path(x, y, _, _, _), l = min k : {{ path(x, y, _, _, k) }}.
.decl cheapest(x: symbol, y: symbol, p: Path, c: number)
cheapest(x, y, p, c) :- {cheapest}.
.decl fewest(x: symbol, y: symbol, p: Path, l: number)
fewest(x, y, p, l) :- path(x, y, p, _, l), minHops(x, y, l).
.decl both(x: symbol, y: symbol, p: Path, c: number, q: Path, l: number)
both(x, y, p, c, q, l) :- cheapest(x, y, p, c), fewest(x, y, q, l).
{output}
"""
STEPS = [
    "path(x, y, [x, p], c0 + c1, 1 + l1) :- link(x, z, c0), path(z, y, p, c1, l1).",
    "path(x, y, [x, p], c, l) :- link(x, z, d), path(z, y, p, e, m), c = e + d, l = m + 1.",
]
CHEAPEST = [
    "path(x, y, p, c, _), minCost(x, y, c)",
    "path(x, y, p, c, _), c = min k : { path(x, y, _, k, _) }",
    "minCost(x, y, c), path(x, y, p, c, l), l > 0",
]


@st.composite
def links(draw: st.DrawFn) -> list[Link]:
    nodes = "abcde"[: draw(st.integers(2, 5))]
    pairs = draw(st.sets(st.tuples(st.sampled_from(nodes), st.sampled_from(nodes)), max_size=9))
    return [(x, y, draw(st.integers(1, 3))) for x, y in sorted(pairs)]


def simple_paths(graph: list[Link]) -> Iterator[tuple[str, str, str, int, int]]:
    """Yield the paths and cycles that meet no node twice, with cost and length."""
    costs = {(x, y): c for x, y, c in graph}
    pending = [((x, y), c) for x, y, c in graph]
    while pending:
        path, cost = pending.pop()
        text = "".join(f"[{node}, " for node in path) + "nil" + "]" * len(path)
        yield path[0], path[-1], text, cost, len(path) - 1
        if path[0] != path[-1]:
            for (x, y), more in costs.items():
                if x == path[-1] and y not in path[1:]:
                    pending.append(((*path, y), cost + more))


def expected(graph: list[Link]) -> dict[str, set[tuple[object, ...]]]:
    paths = list(simple_paths(graph))
    ends = {(x, y) for x, y, *_ in paths}
    cost = {e: min(c for x, y, _, c, _ in paths if (x, y) == e) for e in ends}
    hops = {e: min(n for x, y, _, _, n in paths if (x, y) == e) for e in ends}
    cheapest = {(x, y, p, c) for x, y, p, c, _ in paths if c == cost[x, y]}
    fewest = {(x, y, p, n) for x, y, p, _, n in paths if n == hops[x, y]}
    both = {
        (x, y, p, c, q, n) for x, y, p, c in cheapest for a, b, q, n in fewest if (a, b) == (x, y)
    }
    return {
        "minCost": {(x, y, c) for (x, y), c in cost.items()},
        "cheapest": cheapest,
        "fewest": fewest,
        "both": both,
    }


@quick
@given(links(), st.sampled_from(STEPS), st.sampled_from(CHEAPEST))
def test_a_database_finds_all_best_paths_of_a_cyclic_graph(
    graph: list[Link], step: str, cheapest: str
) -> None:
    db = Database()
    db.load(QUERY.format(step=step, cheapest=cheapest, output=""))
    db.insert("link", graph)
    assert {name: set(db[name]) for name in expected(graph)} == expected(graph)


@quick
@given(links(), st.sampled_from(CHEAPEST), st.sampled_from(["minCost", "cheapest", "fewest"]))
def test_one_aggregate_alone_finds_its_best_paths(
    graph: list[Link], cheapest: str, name: str
) -> None:
    program = parse(QUERY.format(step=STEPS[0], cheapest=cheapest, output=f".output {name}"))
    found = evaluated(session.compile(program, inputs={"link"}), {"link": set(graph)})
    assert found[name] == expected(graph)[name]


@quick
@given(links(), st.sampled_from(CHEAPEST), st.data())
def test_a_goal_finds_its_best_paths(graph: list[Link], cheapest: str, data: st.DataObject) -> None:
    start = data.draw(st.sampled_from("abc"))
    db = Database()
    db.load(QUERY.format(step=STEPS[0], cheapest=cheapest, output=""))
    db.insert("link", graph)
    found = db.query(f'cheapest("{start}", y, p, c)')
    assert set(found) == {row for row in expected(graph)["cheapest"] if row[0] == start}


SAFEST = """
.type Path = [head: symbol, tail: Path]
.decl link(x: symbol, y: symbol, r: float)
.decl path(x: symbol, y: symbol, p: Path, r: float)
path(x, y, [x, [y, nil]], r) :- link(x, y, r).
path(x, y, [x, p], r * s) :- link(x, z, r), path(z, y, p, s).
.decl safest(x: symbol, y: symbol, p: Path, r: float)
safest(x, y, p, r) :- path(x, y, p, r), r = max k : { path(x, y, _, k) }.
"""


@quick
@given(links())
def test_the_safest_paths_of_a_cyclic_graph_are_found(graph: list[Link]) -> None:
    # A cost of c is a reliability of 1 / 2^c, so products are exact.
    db = Database()
    db.load(SAFEST)
    db.insert("link", [(x, y, 0.5**c) for x, y, c in graph])
    assert set(db["safest"]) == {(x, y, p, 0.5**c) for x, y, p, c in expected(graph)["cheapest"]}


@quick
@given(links(), st.data())
def test_best_paths_follow_links_that_come_and_go(graph: list[Link], data: st.DataObject) -> None:
    db = Database()
    db.load(QUERY.format(step=STEPS[0], cheapest=CHEAPEST[0], output=""))
    db.insert("link", graph)
    now = set(graph)
    assert set(db["both"]) == expected(graph)["both"]
    for _ in range(3):
        gone = data.draw(st.sets(st.sampled_from(sorted(now)), max_size=4)) if now else set()
        free = [(x, y) for x in "abc" for y in "abc" if (x, y) not in {e[:2] for e in now - gone}]
        pairs = data.draw(st.sets(st.sampled_from(free), max_size=2)) if free else set()
        come = {(x, y, data.draw(st.integers(1, 3))) for x, y in pairs}
        with db.transaction():
            db.delete("link", sorted(gone))
            db.insert("link", sorted(come))
        now = (now - gone) | come
        judged = expected(sorted(now))
        assert {name: set(db[name]) for name in judged} == judged


# ── on graphs without cycles, judged by the definition ──

VALUES = {
    "number": ["c + d", "d + c", "c - d", "c", "max(c, d)", "min(c, d)", "c * 2", "d - c", "c * d"],
    "unsigned": ["c + d", "d + c", "c", "max(c, d)", "min(c, 2)", "c * d", "c - 1"],
    "float": ["c + d", "c - d", "c * d", "c * 0.5", "min(d, c)", "c", "c / d"],
}
NUMBERS = {
    "number": st.integers(-3, 3),
    "unsigned": st.integers(0, 3),
    "float": st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 2.0]),
}
RECURSION = [
    "p(x, y, {via}, {value}, l + 1) :- e(x, z, d), p(z, y, v, c, l){test}.",
    "p(x, y, {via}, {value}, l + 1) :- p(x, z, v, c, l), e(z, y, d){test}.",
    "p(x, y, {via}, {value}, l + m) :- p(x, z, v, c, l), p(z, y, _, d, m){test}.",
    "p(x, y, v, w, l + 1) :- q(x, y, v, w, l). "
    "q(x, y, {via}, {value}, l) :- e(x, z, d), p(z, y, v, c, l){test}.",
]
VIA = ["v", "[d, v]", "[c, v]", "[d, nil]"]
TESTS = ["", ", c < 3", ", l < 3", ", v != nil", ", c > 0", ", !n(z)", ", x != y"]
READERS = [
    "a(x, y, c) :- p(x, y, _, _, _), c = {best} k : {{ p(x, y, _, k, _) }}.",
    "a(x, 0, c) :- p(x, _, _, _, _), c = {best} k : {{ p(x, _, _, k, _) }}.",
    "a(0, 0, c) :- c = {best} k : {{ p(_, _, _, k, _) }}.",
    "a(x, 0, c) :- p(x, 3, _, c, _), c = {best} k : {{ p(x, 3, _, k, _) }}.",
    "a(x, y, c) :- n(y), c = {best} k : {{ p(x, y, _, k, _), n(x) }}, n(x).",
    "a(l, y, c) :- p(x, y, _, c, l), m(x, y, c).",
    "b(x, v) :- p(x, y, v, c, _), m(x, y, c).",
    "b(x, v) :- p(x, y, v, c, _), c = {best} k : {{ p(x, y, _, k, _) }}, !n(x).",
    "b(x, v) :- p(x, y, v, c, _), m(x, y, c), c = {other} k : {{ p(x, y, _, k, _) }}.",
    "b(x, nil) :- n(x), !p(x, _, _, _, _).",
    "h(x, y, l) :- p(x, y, _, _, _), l = min k : {{ p(x, y, _, _, k) }}.",
    "h(x, y, l) :- p(x, y, _, c, l), m(x, y, c).",
]
TEXT = """
.type R = [h: {kind}, t: R]
.decl e(x: number, y: number, d: {kind})
.decl n(x: number)
.decl p(x: number, y: number, v: R, c: {kind}, l: number)
.decl q(x: number, y: number, v: R, c: {kind}, l: number)
.decl m(x: number, y: number, c: {kind})
.decl a(x: number, y: number, c: {kind})
.decl b(x: number, v: R)
.decl h(x: number, y: number, l: number)
p(x, y, {start}, d, 1) :- e(x, y, d).
m(x, y, c) :- p(x, y, _, _, _), c = {best} k : {{ p(x, y, _, k, _) }}.
.output a
.output b
.output h
"""


@st.composite
def programs(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(sorted(VALUES)))
    best = draw(st.sampled_from(["min", "max"]))
    parts = {
        "kind": kind,
        "best": best,
        "other": "max" if best == "min" else "min",
        "via": draw(st.sampled_from(VIA)),
        "value": draw(st.sampled_from(VALUES[kind])),
        "test": draw(st.sampled_from(TESTS)),
        "start": draw(st.sampled_from(["nil", "[d, nil]"])),
    }
    text = TEXT.format(**parts) + draw(st.sampled_from(RECURSION)).format(**parts)
    readers = draw(st.lists(st.sampled_from(READERS), min_size=1, max_size=3, unique=True))
    return text + "\n" + "\n".join(r.format(**parts) for r in readers)


@st.composite
def facts(draw: st.DrawFn, text: str) -> dict[str, set[tuple[object, ...]]]:
    kind = next(k for k in VALUES if f"d: {k})" in text)
    pairs = draw(
        st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda p: p[0] < p[1]))
    )
    edges = {(x, y, draw(NUMBERS[kind])) for x, y in pairs}
    edges |= {(x, y, draw(NUMBERS[kind])) for x, y in pairs if draw(st.booleans())}
    return {"e": edges, "n": {(x,) for x in draw(st.sets(st.integers(0, 4)))}}


def evaluated(
    compiled: session.Compiled, given: dict[str, set[tuple[object, ...]]]
) -> dict[str, set[tuple[object, ...]]]:
    from whence.facts.schema import columns_of
    from whence.rows import table_of

    tables = {
        name: table_of(columns_of(compiled.source, name), sorted(rows))
        for name, rows in given.items()
    }
    evaluation = session.evaluate(compiled, tables, threads=1)
    return {
        name: set(zip(*(c.to_pylist() for c in evaluation.table(name).columns), strict=True))
        for name in outputs(compiled.source)
    }


def selects(text: str) -> bool:
    return bool(session.compile(parse(text), inputs={"e", "n"}).plan.selected)


def agrees(text: str, given: dict[str, set[tuple[object, ...]]]) -> None:
    program = parse(text)
    compiled = session.compile(program, inputs={"e", "n"})
    try:
        judged = answers(resolved(program), given)
    except Exception:  # a fault, such as a division by zero: pruned or not, it may not be met
        return
    assert evaluated(compiled, given) == {
        name: {tuple(map(text_of, row)) for row in judged[name]} for name in outputs(program)
    }


def text_of(value: object, *, inside: bool = False) -> object:
    """Return a record as its text, as tables have it."""
    if value is None:
        return "nil"
    if isinstance(value, tuple):
        return f"[{', '.join(str(text_of(v, inside=True)) for v in value)}]"
    if isinstance(value, float) and inside and value.is_integer():
        return int(value)
    return value


@quick
@given(st.data())
def test_selection_keeps_the_answers(data: st.DataObject) -> None:
    text = data.draw(programs().filter(selects))
    agrees(text, data.draw(facts(text)))


@pytest.mark.slow
@long
@given(st.data())
def test_selection_keeps_the_answers_of_many_programs(data: st.DataObject) -> None:
    text = data.draw(programs().filter(selects))
    agrees(text, data.draw(facts(text)))
