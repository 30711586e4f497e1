"""What is derived lives as long as something outside it holds it up, however it is maintained."""

from __future__ import annotations

import pytest

from view.judge import Judge, Rows, replay
from whence.session import parse

LEFT = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
RIGHT = LEFT.replace("path(x, y), edge(y, z)", "edge(x, y), path(y, z)")
DOUBLE = LEFT.replace("path(x, y), edge(y, z)", "path(x, y), path(y, z)")
FROM_ROOT = """
.decl root(x: number)
.decl edge(x: number, y: number)
.decl live(x: number)
live(x) :- root(x).
live(y) :- live(x), edge(x, y).
"""

any_closure = pytest.mark.parametrize(
    "program", [LEFT, RIGHT, DOUBLE], ids=["left", "right", "double"]
)


def judged(program: str, **facts: Rows | list) -> Judge:
    return Judge(parse(program), facts)


def ring(*nodes: int) -> list[tuple[int, int]]:
    return [*zip(nodes, (*nodes[1:], nodes[0]), strict=True)]


# ── cycles ──


@pytest.mark.parametrize("length", [1, 2, 3, 40])
def test_a_cycle_cut_off_from_its_source_vanishes(length: int) -> None:
    judge = judged(FROM_ROOT, root=[(0,)], edge=[(0, 1), *ring(*range(1, length + 1))])
    assert len(judge.rows("live")) == length + 1
    judge.apply({"edge": (None, [(0, 1)])})
    assert judge.rows("live") == {(0,)}
    judge.apply({"edge": ([(0, length)], None)})
    assert len(judge.rows("live")) == length + 1
    judge.apply({"root": (None, [(0,)])})
    assert judge.rows("live") == set()


def test_a_cycle_with_two_sources_lives_until_both_are_gone() -> None:
    judge = judged(FROM_ROOT, root=[(0,), (9,)], edge=[(0, 1), (9, 3), *ring(1, 2, 3, 4)])
    judge.apply({"edge": (None, [(0, 1)])})
    assert len(judge.rows("live")) == 6
    judge.apply({"root": (None, [(9,)])})
    assert judge.rows("live") == {(0,)}


def test_a_figure_eight_falls_with_its_waist() -> None:
    edges = [(0, 5), *ring(5, 1, 2), *ring(5, 3, 4)]
    judge = judged(FROM_ROOT, root=[(0,)], edge=edges)
    judge.apply({"edge": (None, [(2, 5)])})
    assert len(judge.rows("live")) == 6
    judge.apply({"edge": (None, [(0, 5)])})
    assert judge.rows("live") == {(0,)}


def test_cycles_that_hold_each_other_up_fall_together() -> None:
    edges = [(0, 1), *ring(1, 2, 3), *ring(4, 5, 6), (3, 4), (6, 1), (2, 5), (5, 2)]
    judge = judged(FROM_ROOT, root=[(0,)], edge=edges)
    judge.apply({"edge": (None, [(0, 1)])})
    assert judge.rows("live") == {(0,)}


def test_a_self_loop_supports_nothing() -> None:
    judge = judged(FROM_ROOT, root=[(1,)], edge=[(1, 1), (1, 2), (2, 2)])
    judge.apply({"edge": (None, [(1, 2)])})
    assert judge.rows("live") == {(1,)}
    judge.apply({"root": (None, [(1,)])})
    assert judge.rows("live") == set()


@any_closure
def test_closures_of_cycles_open_and_close(program: str) -> None:
    judge = judged(program, edge=[*ring(0, 1, 2, 3), *ring(3, 4, 5), (7, 7)])
    assert len(judge.rows("path")) == 37
    for edge in [(3, 0), (7, 7), (5, 3), (3, 4)]:
        judge.apply({"edge": (None, [edge])})
    for edge in [(3, 0), (5, 3), (3, 4)]:
        judge.apply({"edge": ([edge], None)})
    assert len(judge.rows("path")) == 36
    judge.apply({"edge": (None, [(0, 1), (4, 5)])})


@any_closure
def test_a_ring_with_a_chord_is_whole_without_either(program: str) -> None:
    judge = judged(program, edge=[*ring(*range(20)), (0, 10)])
    assert judge.apply({"edge": (None, [(0, 10)])}) == {"edge": (set(), {(0, 10)})}
    judge.apply({"edge": ([(0, 10)], None)})
    gone = judge.apply({"edge": (None, [(3, 4)])})["path"][1]
    assert (3, 4) in gone
    judge.apply({"edge": ([(3, 4)], [(0, 10)])})
    assert len(judge.rows("path")) == 400


# ── the worked example of the papers ──

LINKS = [("A", "B"), ("B", "C"), ("C", "A"), ("C", "B")]
REACHABLE = RIGHT.replace("number", "symbol").replace("edge", "link").replace("path", "reachable")


def test_the_papers_example_loses_no_tuple_with_its_first_link_and_three_links_with_the_second() -> (
    None
):
    judge = judged(REACHABLE, link=LINKS)
    everything = {(x, y) for x in "ABC" for y in "ABC"}
    assert judge.rows("reachable") == everything
    assert judge.apply({"link": (None, [("C", "B")])}) == {"link": (set(), {("C", "B")})}
    assert judge.rows("reachable") == everything
    judge.apply({"link": (None, [("B", "C")])})
    assert judge.rows("reachable") == {("A", "B"), ("C", "A"), ("C", "B")}
    judge.apply({"link": ([("C", "B")], [("C", "A")])})
    assert judge.rows("reachable") == {("A", "B"), ("C", "B")}
    judge.apply({"link": (LINKS, None)})
    assert judge.rows("reachable") == everything


# ── recursion of other shapes ──


def test_what_needs_two_premises_of_its_own_goes_when_one_does() -> None:
    program = """
    .decl given(x: number)
    .decl gate(z: number, x: number, y: number)
    .decl on(x: number)
    on(x) :- given(x).
    on(z) :- gate(z, x, y), on(x), on(y).
    """
    gates = [(3, 1, 2), (4, 3, 3), (1, 4, 2), (2, 4, 4), (5, 4, 1)]
    judge = judged(program, given=[(1,), (2,)], gate=gates)
    assert judge.rows("on") == {(n,) for n in range(1, 6)}
    judge.apply({"given": (None, [(1,)])})
    assert judge.rows("on") == {(2,)}
    judge.apply({"given": ([(3,)], [(2,)])})
    assert judge.rows("on") == {(n,) for n in range(1, 6)}
    judge.apply({"gate": (None, [(4, 3, 3)])})
    assert judge.rows("on") == {(3,)}


def test_relations_that_recur_through_each_other_fall_together() -> None:
    program = """
    .decl zero(x: number)
    .decl next(x: number, y: number)
    .decl even(x: number)
    .decl odd(x: number)
    even(x) :- zero(x).
    odd(y) :- even(x), next(x, y).
    even(y) :- odd(x), next(x, y).
    """
    judge = judged(program, zero=[(0,)], next=ring(0, 1, 2, 3, 4))
    assert len(judge.rows("even")) == len(judge.rows("odd")) == 5
    judge.apply({"next": (None, [(4, 0)])})
    assert judge.rows("even") == {(0,), (2,), (4,)}
    judge.apply({"next": ([(4, 0)], [(0, 1)])})
    assert judge.rows("odd") == set()


# ── negation ──

TWO_STRATA = (
    LEFT
    + """
.decl node(x: number)
.decl far(x: number, y: number)
.decl chain(x: number, y: number)
node(x) :- edge(x, _).
node(x) :- edge(_, x).
far(x, y) :- node(x), node(y), !path(x, y).
chain(x, y) :- far(x, y).
chain(x, z) :- chain(x, y), far(y, z).
"""
)


def test_an_insert_deletes_through_negation_and_a_delete_brings_back() -> None:
    judge = judged(TWO_STRATA, edge=[(1, 2), (2, 3)])
    assert (3, 1) in judge.rows("far")
    change = judge.apply({"edge": ([(3, 1)], None)})
    assert change["far"] == (set(), {(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)})
    assert judge.rows("chain") == set()
    change = judge.apply({"edge": (None, [(3, 1)])})
    assert len(change["far"][0]) == 6
    judge.apply({"edge": ([(4, 5), (3, 1)], [(1, 2)])})
    judge.apply({"edge": (None, [(2, 3), (4, 5)])})


def test_a_negated_fact_that_comes_and_goes_at_once_changes_nothing() -> None:
    program = """
    .decl a(x: number)
    .decl b(x: number)
    .decl c(x: number)
    c(x) :- a(x), !b(x).
    c(y) :- c(x), a(y), !b(y), y = x + 1.
    """
    judge = judged(program, a=[(n,) for n in range(5)], b=[(2,)])
    assert judge.apply({"b": ([(2,)], [(2,)])}) == {}
    assert judge.apply({"b": ([(3,)], [(2,)])})["c"] == ({(2,)}, {(3,)})
    assert judge.apply({"a": (None, [(2,)]), "b": ([(2,)], None)})["c"] == (set(), {(2,)})


# ── facts ──


def test_facts_of_the_program_can_be_deleted_and_come_back() -> None:
    judge = judged(LEFT + "edge(1, 2). edge(2, 3). path(8, 9).", edge=[(3, 4)])
    assert judge.apply({"edge": (None, [(2, 3)]), "path": (None, [(8, 9)])})["path"] == (
        set(),
        {(1, 3), (1, 4), (2, 3), (2, 4), (8, 9)},
    )
    judge.apply({"edge": ([(2, 3)], None)})
    assert (1, 4) in judge.rows("path")


def test_a_fact_that_is_also_derived_stays_while_either_holds() -> None:
    judge = judged(LEFT, edge=[(1, 2), (2, 3)])
    assert judge.apply({"path": ([(1, 3), (1, 3)], None)}) == {}
    assert judge.apply({"edge": (None, [(2, 3)])})["path"] == (set(), {(2, 3)})
    assert judge.apply({"path": (None, [(1, 3)])})["path"] == (set(), {(1, 3)})
    assert judge.apply({"path": (None, [(1, 2)])}) == {}
    judge.apply({"path": ([(3, 4)], None), "edge": ([(4, 5)], None)})
    assert (3, 5) in judge.rows("path")


def test_a_fact_replaced_by_itself_changes_nothing() -> None:
    judge = judged(LEFT, edge=[(1, 2), (2, 1)])
    assert judge.apply({"edge": ([(1, 2)], [(1, 2)])}) == {}
    assert judge.apply({"edge": ([(1, 2), (2, 1), (1, 2)], None)}) == {}
    assert judge.apply({"edge": (None, [(5, 5), (2, 2)])}) == {}
    assert judge.apply({}) == {}


def test_batches_that_cancel_each_other_leave_no_trace() -> None:
    judge = judged(DOUBLE, edge=ring(1, 2, 3))
    for _ in range(5):
        judge.apply({"edge": ([(3, 4), (4, 1)], [(2, 3)])})
        judge.apply({"edge": ([(2, 3)], [(3, 4), (4, 1)])})
    assert len(judge.rows("path")) == 9


def test_new_values_of_any_size_are_taken_at_any_time() -> None:
    judge = judged(LEFT, edge=[(1, 2)])
    judge.apply({"edge": ([(2, 10**15), (10**15, -(2**62))], None)})
    judge.apply({"edge": ([(-(2**62), 1)], None)})
    assert len(judge.rows("path")) == 16
    judge.apply({"edge": (None, [(2, 10**15)])})
    judge.apply({"edge": ([(2, 2**63 - 1), (2**63 - 1, -(2**63))], None)})


def test_a_relation_without_columns_holds_or_does_not() -> None:
    program = """
    .decl on()
    .decl a(x: number)
    .decl any()
    .decl b(x: number)
    any() :- a(_), on().
    b(x) :- a(x), any().
    b(x + 10) :- a(x), !any().
    """
    replay(
        program,
        {"a": [(1,), (2,)]},
        [
            {"on": ([(), ()], None)},
            {"a": (None, [(1,)])},
            {"on": ([()], [()])},
            {"on": (None, [()])},
            {"any": ([()], None)},
            {"a": ([(3,)], [(2,)]), "any": (None, [()])},
        ],
    )
