"""Groups appear, change their value and vanish; the next best value takes over."""

from __future__ import annotations

from view.judge import Judge, replay
from whence.session import parse

TOTALS = """
.decl sale(shop: symbol, day: number, price: float)
.decl shop(name: symbol)
.decl total(shop: symbol, n: number, a: float, least: float, most: float)
.decl average(shop: symbol, m: float)
.decl count_all(n: number)
shop(s) :- sale(s, _, _).
total(s, n, a, b, c) :-
    shop(s),
    n = count : { sale(s, _, _) },
    a = sum p : { sale(s, _, p) },
    b = min p : { sale(s, _, p) },
    c = max p : { sale(s, _, p) }.
average(s, m) :- shop(s), m = mean p : { sale(s, _, p) }.
count_all(n) :- n = count : { sale(_, _, _) }.
"""


def test_a_group_vanishes_and_comes_back() -> None:
    judge = Judge(parse(TOTALS), {"sale": [("a", 1, 2.5), ("a", 2, 0.5), ("b", 1, 4.0)]})
    assert judge.apply({"sale": (None, [("b", 1, 4.0)])})["total"] == (
        set(),
        {("b", 1, 4.0, 4.0, 4.0)},
    )
    assert judge.apply({"sale": ([("b", 1, 4.0)], None)})["total"] == (
        {("b", 1, 4.0, 4.0, 4.0)},
        set(),
    )
    judge.apply({"sale": (None, [("a", 1, 2.5), ("a", 2, 0.5), ("b", 1, 4.0)])})
    assert judge.rows("count_all") == {(0,)}
    assert judge.rows("total") == judge.rows("average") == set()
    judge.apply({"sale": ([("c", 7, 0.25)], None)})


def test_the_next_best_value_takes_over() -> None:
    judge = Judge(parse(TOTALS), {"sale": [("a", day, day / 4) for day in range(1, 6)]})
    for day in range(1, 4):
        judge.apply({"sale": (None, [("a", day, day / 4)])})
        ((_, n, _, least, most),) = judge.rows("total")
        assert (n, least, most) == (5 - day, (day + 1) / 4, 1.25)
    judge.apply({"sale": ([("a", 9, 0.125)], [("a", 5, 1.25)])})
    assert judge.rows("total") == {("a", 2, 1.125, 0.125, 1.0)}


def test_a_group_whose_value_stays_is_not_reported() -> None:
    judge = Judge(parse(TOTALS), {"sale": [("a", 1, 1.0), ("a", 2, 3.0), ("a", 3, 2.0)]})
    change = judge.apply({"sale": ([("a", 4, 2.0)], [("a", 3, 2.0)])})
    assert set(change) == {"sale"}


LEAST_COST = """
.decl edge(x: number, y: number, c: number)
.decl cost(x: number, y: number, c: number) btree_delete
.decl hub(x: number, n: number)
.decl best(x: number, c: number)
cost(x, y, c) :- edge(x, y, c).
cost(x, z, c + d) :- cost(x, y, c), edge(y, z, d).
cost(x, y, c) <= cost(x, y, d) :- d < c.
hub(x, n) :- edge(x, _, _), n = count : { cost(x, _, _) }.
best(x, c) :- edge(x, _, _), c = min k : { cost(x, y, k), hub(y, n), n > 1 }.
"""


def test_the_best_value_over_recursion_follows_detours_and_cuts() -> None:
    edges = [(1, 2, 1), (2, 3, 1), (1, 3, 5), (3, 1, 2), (3, 4, 0), (4, 3, 0), (4, 5, 1)]
    judge = Judge(parse(LEAST_COST), {"edge": edges})
    assert (1, 3, 2) in judge.rows("cost")
    judge.apply({"edge": (None, [(2, 3, 1)])})
    assert (1, 3, 5) in judge.rows("cost")
    judge.apply({"edge": ([(2, 3, 9), (1, 4, 1)], [(1, 3, 5)])})
    assert (1, 3, 1) in judge.rows("cost")
    # 3 and 4 are at no cost from each other: neither may hold the other up.
    judge.apply({"edge": (None, [(1, 4, 1), (2, 3, 9)])})
    assert not any((x, y) == (1, 3) for x, y, _ in judge.rows("cost"))
    judge.apply({"edge": ([(5, 1, 7)], [(3, 4, 0)])})


def test_the_widest_way_is_found_again_when_it_narrows() -> None:
    program = """
    .decl pipe(x: number, y: number, w: number)
    .decl wide(x: number, y: number, w: number) btree_delete
    wide(x, y, w) :- pipe(x, y, w).
    wide(x, z, min(v, w)) :- wide(x, y, v), wide(y, z, w).
    wide(x, y, v) <= wide(x, y, w) :- w >= v.
    """
    pipes = [(1, 2, 9), (2, 3, 9), (3, 1, 9), (3, 4, 5), (1, 4, 2), (4, 4, 7)]
    replay(
        program,
        {"pipe": pipes},
        [
            {"pipe": (None, [(2, 3, 9)])},
            {"pipe": ([(2, 3, 3)], None)},
            {"pipe": ([(2, 3, 4)], [(2, 3, 3), (1, 2, 9)])},
            {"pipe": ([(1, 2, 9), (2, 1, 9)], [(3, 4, 5)])},
            {"pipe": (None, pipes)},
        ],
    )


def test_several_values_that_do_not_dominate_each_other_stay_side_by_side() -> None:
    program = """
    .decl offer(x: number, price: number, days: number)
    .decl good(x: number, price: number, days: number) btree_delete
    good(x, p, d) :- offer(x, p, d).
    good(x, a, b) <= good(x, c, d) :- c <= a, d <= b.
    """
    judge = Judge(parse(program), {"offer": [(1, 10, 1), (1, 5, 3), (1, 7, 4), (1, 4, 9)]})
    assert judge.rows("good") == {(1, 10, 1), (1, 5, 3), (1, 4, 9)}
    judge.apply({"offer": (None, [(1, 5, 3)])})
    assert (1, 7, 4) in judge.rows("good")
    judge.apply({"offer": ([(1, 1, 1)], None)})
    assert judge.rows("good") == {(1, 1, 1)}
    judge.apply({"offer": (None, [(1, 1, 1)])})


def test_records_are_keys_and_values() -> None:
    program = """
    .type At = [x: number, y: number]
    .decl move(a: At, b: At)
    .decl reach(a: At, b: At)
    .decl via(b: At, n: number)
    .decl row(y: number, a: At)
    reach(a, b) :- move(a, b).
    reach(a, c) :- reach(a, b), move(b, c).
    reach([x, y], [y, x]) :- move([x, y], nil).
    via(b, n) :- reach(_, b), n = count : { reach(_, b) }.
    row(y, [x, y + 1]) :- reach([x, y], _), !via([x, y], 1).
    """
    replay(
        program,
        {"move": [((0, 0), (0, 1)), ((0, 1), (1, 1)), ((1, 1), (0, 0)), ((1, 2), None)]},
        [
            {"move": (None, [((1, 1), (0, 0))])},
            {"move": ([((1, 1), (5, 70000)), ((5, 70000), (0, 0))], None)},
            {"move": ([((2, 1), (1, 2))], [((1, 2), None), ((0, 1), (1, 1))])},
            {"move": ([((1, 2), None)], [((0, 0), (0, 1))])},
        ],
    )
