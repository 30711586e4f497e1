"""What must hold inside a live view after every batch, whatever the answers are."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from view.knobs import turned
from whence import session
from whence.engine.local.best import Best
from whence.engine.local.searched import SearchedRelation
from whence.engine.local.searches import Searches
from whence.view.base import Update
from whence.view.live import LiveView

PROGRAMS = {
    "closure": """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
""",
    "not linear": """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.decl next(x: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z), !next(y).
next(x) :- edge(x, x).
""",
    "mutual": """
.decl edge(x: number, y: number)
.decl odd(x: number, y: number)
.decl even(x: number, y: number)
odd(x, y) :- edge(x, y).
even(x, z) :- odd(x, y), edge(y, z).
odd(x, z) :- even(x, y), edge(y, z).
""",
    "best": """
.decl edge(x: number, y: number)
.decl cost(x: number, y: number, c: number)
cost(x, y, 1 + (x + y) % 3) :- edge(x, y).
.decl way(x: number, y: number, c: number)
way(x, y, c) :- cost(x, y, c).
way(x, z, c + d) :- way(x, y, c), cost(y, z, d), edge(y, z).
way(x, y, c) <= way(x, y, d) :- d <= c.
""",
    "search": """
.decl edge(x: number, y: number)
.decl way(x: number, y: number, c: number)
way(x, y, (x + y) % 3) :- edge(x, y).
way(x, z, c + (y + z) % 3) :- way(x, y, c), edge(y, z).
way(x, y, c) <= way(x, y, d) :- d <= c.
""",
}


def make(program: str, strategy: str) -> LiveView:
    view = session.maintain(session.parse(program), strategy=strategy)
    assert isinstance(view, LiveView)
    return view


def edges(pairs: list[tuple[int, int]]) -> pa.Table:
    xs, ys = [x for x, _ in pairs], [y for _, y in pairs]
    return pa.table({"x": pa.array(xs, pa.int64()), "y": pa.array(ys, pa.int64())})


def check(view: LiveView) -> None:
    view._settle()
    for relation in view.relations.values():
        if isinstance(relation, SearchedRelation):
            check_searches(relation.searches)
            continue
        size, k = relation.size, relation.arity
        dead, ranks = relation.dead[:size] != 0, relation.rows[:size, k]
        assert np.array_equal(dead, relation.was[:size] != 0), "a transaction is left open"
        assert np.array_equal(dead, ranks < 0), "flags and ranks disagree"
        assert relation.alive == np.count_nonzero(~dead)
        assert relation.waiting == 0
        rows = np.ascontiguousarray(relation.rows[:size, :k])
        assert np.array_equal(relation.find(rows), np.arange(size)), "a tuple is not found"
        at, found = np.empty(size, np.int64), np.empty(size, np.int64)
        relation.find_ranks(rows, size, (relation.slots, relation.consts), at, found)
        assert np.array_equal(found, ranks), "the table knows other ranks"
        for index in relation.indexes.values():
            assert index.entered == size, "an index lacks rows"
    for stratum in view._strata:
        rules = stratum.rules
        if rules is None or not rules.own:
            continue
        numbers = [
            r.ranks(r.living()) for n in stratum.stratum.relations if (r := view.relations[n])
        ]
        ranks = np.concatenate(numbers)
        assert len(np.unique(ranks)) == len(ranks), "two tuples of a stratum have the same rank"
        assert ranks.max(initial=-1) < rules.clock
        for name in stratum.stratum.relations:
            ids = view.relations[name].living()
            witness = view.relations[name].witness[ids]
            by_premise = witness >= 0
            assert np.isin(witness[by_premise], ranks).all(), "a witness is not there"
            assert (witness < view.relations[name].ranks(ids)).all(), "a witness ranks too high"
            if len(ids):
                heads = rules.heads(name, ids, ranked=True)
                assert rules.supported(name, heads).all(), "a tuple has no support of lower rank"


def check_searches(searches: Searches) -> None:
    """Each value is what its parent gives, and parents lead to a seed, never round."""
    reached = 0
    for p in range(searches.pivots.size):
        parent = searches.parent[p]
        value = searches.value[p] if isinstance(searches, Best) else None
        for state in np.flatnonzero(parent[: searches.states.size]):
            reached += 1
            seen, at = {int(state)}, int(state)
            while parent[at] > 0:
                step = parent[at] - 1
                assert searches.steps.live[step], "a value hangs on a step that is gone"
                assert searches.dst[step] == at
                before = int(searches.src[step])
                if isinstance(searches, Best):
                    assert value[at] == value[before] + searches.weight[step]
                assert before not in seen, "values hold each other up"
                seen.add(before)
                at = before
            seed = -parent[at] - 1
            assert parent[at] != 0, "a value hangs on a state that is not reached"
            assert searches.seeds.live[seed], "a value hangs on a seed that is gone"
            assert (searches.seed_pivot[seed], searches.seed_state[seed]) == (p, at)
            if isinstance(searches, Best):
                assert searches.seed_value[seed] == value[at]
    assert searches.alive == reached


@pytest.mark.parametrize("strategy", ["ranked", "dred", "recompute", "auto"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_ranks_tables_and_indexes_are_as_they_must_be(program: str, strategy: str) -> None:
    luck = random.Random(f"{program} {strategy}")
    with turned({"compact": 5, "chunk": 3}):
        view = make(PROGRAMS[program], strategy)
        for _ in range(25):
            new = [(luck.randrange(7), luck.randrange(7)) for _ in range(luck.choice((0, 1, 3)))]
            old = [(luck.randrange(7), luck.randrange(7)) for _ in range(luck.choice((0, 2, 9)))]
            view.apply({"edge": Update(edges(new), edges(old))})
            check(view)


def test_values_that_are_nowhere_any_more_are_forgotten() -> None:
    with turned({"reclaim": 1}):
        view = session.maintain(
            session.parse(
                ".decl e(x: symbol, y: symbol)\n.decl p(x: symbol, y: symbol)\n"
                "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z)."
            )
        )
        assert isinstance(view, LiveView)
        before: pa.Table | None = None
        for step in range(30):
            names = [f"{step}-{i}" for i in range(20)]
            now = pa.table({"x": names[:-1], "y": names[1:]})
            view.apply({"e": Update(now, before)})
            before = now
            assert view.size("p") == 190
        assert view.evaluation.interned < 200
