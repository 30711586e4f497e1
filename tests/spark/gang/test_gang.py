"""Tasks that evaluate a group together give what the embedded engine gives alone."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark.gang.programs import CLOSURE, CSPA, EVERYWHERE_CLOSURE, SAME_GENERATION, SHORTEST
from spark.gang.threads import copy, hand_made, judged, rows_of, run_gang
from whence.diagnostics import DataError, LimitError
from whence.engine.base import Limits
from whence.engine.local.arrow import string_array
from whence.engine.spark.gang.exchange import Patience
from whence.engine.spark.gang.shares import Outbox, ShareBitmap, ShareRelation
from whence.engine.spark.model import Group, Ship
from whence.engine.spark.owner import hash_bits, owners
from whence.functor.user import UserFunctors

few = settings(max_examples=int(os.environ.get("WHENCE_EXAMPLES", "20")))
pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25)
tasks_ = st.integers(1, 3)


def numbers(rows: list[tuple[int, ...]], width: int = 2) -> pa.Table:
    columns = [[row[i] for row in rows] for i in range(width)]
    return pa.table({str(i): pa.array(c, pa.int64()) for i, c in enumerate(columns)})


def some_pairs(count: int, values: int, seed: int = 1) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    return [(rng.randrange(values), rng.randrange(values)) for _ in range(count)]


def agree(group: Group, inputs: dict[str, pa.Table], tasks: int) -> None:
    outcome = run_gang(group, inputs, tasks)
    for written in group.writes:
        assert outcome.rows(written) == judged(group, inputs, written)


@few
@given(pairs, tasks_)
def test_non_linear_closure_is_the_same_by_any_number_of_tasks(
    edges: list[tuple[int, int]], tasks: int
) -> None:
    agree(CLOSURE, {"edge": numbers(edges)}, tasks)


@few
@given(pairs, pairs, tasks_)
def test_mutual_recursion_is_the_same_by_any_number_of_tasks(
    assign: list[tuple[int, int]], dereference: list[tuple[int, int]], tasks: int
) -> None:
    agree(CSPA, {"assign": numbers(assign), "dereference": numbers(dereference)}, tasks)


@few
@given(pairs, tasks_)
def test_a_home_may_be_everywhere(edges: list[tuple[int, int]], tasks: int) -> None:
    agree(EVERYWHERE_CLOSURE, {"edge": numbers(edges)}, tasks)


@few
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 9)), max_size=20),
    tasks_,
)
def test_best_values_are_kept_by_their_homes(edges: list[tuple[int, int, int]], tasks: int) -> None:
    agree(SHORTEST, {"edge": numbers(edges, 3)}, tasks)


@pytest.mark.parametrize("tasks", [2, 3, 5])
def test_larger_shares_agree_too(tasks: int) -> None:
    agree(CLOSURE, {"edge": numbers(some_pairs(400, 300))}, tasks)
    agree(SAME_GENERATION, {"parent": numbers(some_pairs(500, 200))}, tasks)


@pytest.mark.parametrize("tasks", [2, 3])
def test_values_that_are_far_apart_are_renumbered_by_each_task_for_itself(tasks: int) -> None:
    far = [(a * 10**15 - 7 * 10**17, b * 10**15 - 7 * 10**17) for a, b in some_pairs(300, 150)]
    agree(CLOSURE, {"edge": numbers(far)}, tasks)


def test_a_tuple_is_sent_once_and_own_tuples_do_not_travel() -> None:
    edges = [(i, (i + 1) % 12) for i in range(12)] + [(i, (i + 5) % 12) for i in range(12)]
    outcome = run_gang(SAME_GENERATION, {"parent": numbers(edges)}, 3)
    for evaluation in outcome.evaluations:
        told = evaluation.told()
        derived = evaluation.size("sg_0")
        assert 0 < told.sent["sg_0"] <= 12 * 12 - derived
        assert told.relations["sg_out"].tuples == told.sent["sg_0"]
    everything = [e.told() for e in outcome.evaluations]
    sent = sum(t.sent["sg_0"] for t in everything)
    assert sent == sum(t.received["sg_0"] for t in everything)
    assert sum(t.derived for t in everything) == len(outcome.rows(copy("sg", 0)))


def test_tasks_take_the_same_number_of_rounds() -> None:
    chain = numbers([(i, i + 1) for i in range(40)])
    outcome = run_gang(CLOSURE, {"edge": chain}, 2)
    (rounds,) = {e.told().rounds for e in outcome.evaluations}
    assert rounds < 20  # paths double


def test_a_bitmap_is_as_large_as_the_share() -> None:
    edges = numbers(some_pairs(900, 1500))
    outcome = run_gang(CLOSURE, {"edge": edges}, 4)
    for evaluation in outcome.evaluations:
        check = evaluation.relations["path_0"].check
        assert isinstance(check, ShareBitmap)
        assert check.bytes < check.box.volume / 8 / 4 * 1.6


def test_an_unlucky_share_has_a_bitmap_of_all_values() -> None:
    """Of fifty tasks, one owns every value that there is."""
    values = np.arange(200_000)
    mine = values[owners(hash_bits(values), 50) == 7][:1000]
    rows = np.stack([mine[:-1], mine[1:]], axis=1)
    relation = ShareRelation("r", 2, None, 0, 50)
    for begin in range(0, len(rows), 100):
        part = rows[begin : begin + 100]
        assert relation.insert(part, len(part)) == len(part)
        assert relation.insert(part, len(part)) == 0
    assert relation.live_rows().tolist() == rows.tolist()


SYMBOLS = hand_made(
    """
    .type List = [head: symbol, tail: List]
    .decl step_0(x: symbol, y: symbol)
    .decl walk_out(x: symbol, l: List)
    .decl walk_0(x: symbol, l: List)
    walk_out(x, [x, nil]) :- step_0(x, _).
    walk_out(y, [y, l]) :- walk_0(x, l), step_0(x, y), l = [h, t], h != y, strlen(x) < 5,
        t != [y, nil].
    walk_0(x, l) :- walk_out(x, l).
    """,
    reads=[copy("step", 0)],
    writes=[copy("walk", 0)],
    ships=[Ship("walk", "walk_out", copy("walk", 0))],
)


@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_symbols_and_records_are_told_once_and_mean_the_same(tasks: int) -> None:
    names = ["a", "b, ]", "nü\n", "\0", "", "fünfte"]
    steps = [(names[i], names[i + 1]) for i in range(len(names) - 1)] + [("a", "fünfte")]
    table = pa.table([string_array([s[i] for s in steps]) for i in range(2)], names=["0", "1"])
    agree(SYMBOLS, {"step": table}, tasks)


def test_a_limit_that_one_task_hits_stops_all_of_them() -> None:
    edges = numbers(some_pairs(400, 100))
    with pytest.raises(LimitError, match="more than 500 tuples"):
        run_gang(CLOSURE, {"edge": edges}, 3, limits=Limits(max_tuples=500))


def test_a_limit_on_tuples_counts_those_of_all_tasks() -> None:
    edges = numbers(some_pairs(60, 20))
    whole = len(judged(CLOSURE, {"edge": edges}, copy("path", 0)))
    run_gang(CLOSURE, {"edge": edges}, 3, limits=Limits(max_tuples=whole + 60))
    with pytest.raises(LimitError, match="tuples were derived"):
        run_gang(CLOSURE, {"edge": edges}, 3, limits=Limits(max_tuples=whole - 1))


def test_little_memory_for_the_inbox_is_enough() -> None:
    edges = numbers(some_pairs(400, 300))
    patience = Patience(inbox_bytes=64)
    outcome = run_gang(CLOSURE, {"edge": edges}, 3, patience=patience)
    assert sum(e.told().spilled_bytes for e in outcome.evaluations) > 0
    assert outcome.rows(copy("path", 0)) == judged(CLOSURE, {"edge": edges}, copy("path", 0))


FUNCTOR = hand_made(
    """
    .functor next(x: number): number
    .decl start_0(x: number)
    .decl seen_out(x: number)
    .decl seen_0(x: number)
    seen_out(x) :- start_0(x).
    seen_out(@next(x)) :- seen_0(x).
    seen_0(x) :- seen_out(x).
    """,
    reads=[copy("start", 0)],
    writes=[copy("seen", 0)],
    ships=[Ship("seen", "seen_out", copy("seen", 0))],
)


def functions(next_: Callable[[int], int]) -> UserFunctors:
    return UserFunctors().add("next", next_)


def test_functions_of_the_user_run_at_every_task() -> None:
    found = run_gang(
        FUNCTOR,
        {"start": numbers([(1,)], 1)},
        3,
        functors=functions(lambda x: (x * 7) % 101),
    )
    assert found.rows(copy("seen", 0)) == sorted({((7**i) % 101,) for i in range(101)})


def test_a_function_that_fails_at_one_task_is_told_as_it_is() -> None:
    def next_(x: int) -> int:
        if x > 60:
            raise ValueError("too far")
        return x + 1

    with pytest.raises(DataError, match="too far"):
        run_gang(FUNCTOR, {"start": numbers([(1,)], 1)}, 3, functors=functions(next_))


def test_outboxes_let_go_of_their_memory() -> None:
    outcome = run_gang(CLOSURE, {"edge": numbers(some_pairs(60, 20))}, 2)
    for evaluation in outcome.evaluations:
        assert not isinstance(evaluation.relations["path_out"], Outbox)
        assert evaluation.relations["path_out"].size == 0


def test_a_value_without_order_makes_all_tasks_begin_again() -> None:
    text = str(SHORTEST.program).replace("d: number", "d: float").replace("d + e", "d + e")
    group = hand_made(text, reads=SHORTEST.reads, writes=SHORTEST.writes, ships=SHORTEST.ships)
    edges = [(a, b, float(a + b)) for a, b in some_pairs(12, 6)] + [(1, 2, float("nan"))]
    table = pa.table({str(i): [edge[i] for edge in edges] for i in range(3)})
    (home,) = group.writes
    expected = sorted(map(repr, judged(group, {"edge": table}, home)))
    assert any("nan" in row for row in expected)
    for tasks in (1, 2, 3):
        found = run_gang(group, {"edge": table}, tasks)
        assert sorted(map(repr, found.rows(home))) == expected


@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_what_several_tasks_derive_before_a_recursion_is_at_its_home_once(tasks: int) -> None:
    group = hand_made(
        """
        .decl edge_0(x: number, y: number)
        .decl some_out(x: number)
        .decl some_0(x: number)
        .decl some_all(x: number)
        some_out(7) :- edge_0(_, _).
        some_0(x) :- some_out(x).
        some_all(x) :- some_0(x).
        """,
        reads=[copy("edge", 0)],
        writes=[copy("some", 0)],
        ships=[Ship("some", "some_out", copy("some", 0), (copy("some", "all"),))],
    )
    edges = pa.table({"0": list(range(20)), "1": list(range(20))})
    found = run_gang(group, {"edge": edges}, tasks)
    assert found.rows(copy("some", 0)) == [(7,)]
    assert [rows_of(e.table("some_all")) for e in found.evaluations] == [[(7,)]] * tasks
