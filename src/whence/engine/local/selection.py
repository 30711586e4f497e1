"""Which rows of a relation are best in their group: those that its recursion follows.

A row stays stored whether it is followed or not, so nothing is taken back when a better one comes;
and when the best goes away, the next best is there to take over.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whence.engine.local.buffers import grown
from whence.engine.local.index import Index
from whence.engine.local.kernels import selection as kernels
from whence.engine.local.kernels.hashing import Flags, Ints, Rows, Small
from whence.engine.local.kernels.joins import group_of
from whence.engine.local.relation import Relation
from whence.functor.values import Bools
from whence.plan.nodes import Positive, Selection
from whence.syntax.nodes import Kind

_WORST = np.iinfo(np.int64).max
_SIGN = np.int64(np.iinfo(np.int64).min)


def order_of(codes: Ints, selection: Selection) -> Ints:
    """Return numbers that are less where the value is better; NaN is the worst."""
    if selection.kind is Kind.NUMBER:
        out = codes
    elif selection.kind is Kind.UNSIGNED:
        out = codes ^ _SIGN
    else:
        # The bits of floats order like numbers once those of the negative ones are turned round.
        out = np.where(codes < 0, ~codes ^ _SIGN, codes)
    out = ~out if selection.greatest else out.copy()
    if selection.kind is Kind.FLOAT:
        out[np.isnan(codes.view(np.float64))] = _WORST
    return out


class _Best:
    """One selection: the group of each row, and the best value of each group."""

    __slots__ = ("best", "holder", "key", "lists", "numbering", "of", "selection")

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.key: Ints = np.array(selection.key, dtype=np.int64)
        self.numbering = Index(selection.key, hashed=True)
        self.lists: Index | None = None
        self.of: Small = np.empty(16, dtype=np.int32)
        self.best: Ints = np.empty(0, dtype=np.int64)
        self.holder: Ints = np.empty(0, dtype=np.int64)

    def number(self, rows: Rows, size: int) -> None:
        """Give a group to each row up to `size`."""
        begin = self.numbering.entered
        if begin == size:
            return
        groups = self.best.shape[0]
        self.of = grown(self.of, begin, size)
        self.of[begin:size] = self.numbering.number_more(rows, size)
        more = self.numbering.groups - groups
        if more > 0:
            room = max(more, groups)
            self.best = np.concatenate([self.best, np.full(room, _WORST)])
            self.holder = np.concatenate([self.holder, np.full(room, -1)])

    def judge(self, rows: Ints, values: Rows, marked: Flags) -> None:
        """Take in rows, and mark those that are best afterwards."""
        order = self.order(values)
        kernels.improve(rows, self.of, order, self.best, self.holder)
        ties = self.selection.ties
        kernels.mark_best(rows, self.of, order, self.best, self.holder, ties, marked)

    def order(self, rows: Rows) -> Ints:
        return order_of(np.ascontiguousarray(rows[:, self.selection.value]), self.selection)

    def members(self, relation: Relation, groups: Small) -> Ints:
        """Return the live rows of these groups."""
        if self.lists is None:
            self.lists = Index(self.selection.key, hashed=True)
        lists = self.lists
        lists.extend(relation.rows, relation.size)  # numbers the groups as `numbering` does
        out = np.empty(int(lists.count[groups].sum()), dtype=np.int64)
        n = kernels.gather_groups(groups, lists.start, lists.count, lists.pool, relation.dead, out)
        return out[:n]


class Selector:
    """The bests of a relation's groups, and which rows have been followed.

    Rows are given by their numbers. After `bury` and before the next `admit`, tell `retract`.
    """

    __slots__ = ("_bests", "_relation", "followed")

    def __init__(self, relation: Relation, selections: Sequence[Selection]) -> None:
        self._relation = relation
        self._bests = [_Best(selection) for selection in selections]
        self.followed: Flags = np.zeros(16, dtype=np.uint8)

    def admit(self, rows: Ints) -> Bools:
        """Take in rows that are new or alive again; say which of them are to be followed now.

        All of them are taken in before any is judged. A row is followed once while it lives.
        """
        self._enter()
        marked = np.zeros(rows.shape[0], dtype=np.uint8)
        values = self._relation.rows[rows]
        for b in self._bests:
            b.judge(rows, values, marked)
        return self._follow(rows, marked)

    def retract(self, rows: Ints) -> Ints:
        """Forget rows that were buried; return the rows that are to be followed in their place."""
        self._enter()
        self.followed[rows] = 0
        found: list[Ints] = []
        for b in self._bests:
            groups = np.unique(b.of[rows])
            b.best[groups] = _WORST
            b.holder[groups] = -1
            members = b.members(self._relation, groups)
            # Rows that are followed already first: where any row will do, one of them does.
            members = members[np.argsort(self.followed[members] == 0, kind="stable")]
            marked = np.zeros(members.shape[0], dtype=np.uint8)
            b.judge(members, self._relation.rows[members], marked)
            found.append(members[marked.view(np.bool_)])
        candidates = np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)
        chosen = self._follow(candidates, np.ones(candidates.shape[0], dtype=np.uint8))
        return candidates[chosen]

    def rebuild(self) -> Ints:
        """Begin anew with the relation as it is; return all rows that are to be followed."""
        relation = self._relation
        self._bests = [_Best(b.selection) for b in self._bests]
        self.followed = np.zeros(max(16, relation.size), dtype=np.uint8)
        rows = np.arange(relation.size, dtype=np.int64)
        if relation.dead.shape[0]:
            rows = rows[relation.dead[: relation.size] == 0]
        return rows[self.admit(rows)]

    def restore(self, followed: Ints) -> None:
        """Begin anew with the relation as it is, of which these rows are followed already."""
        self.rebuild()
        self.followed[:] = 0
        self.followed[followed] = 1

    def as_good(self, cand: Rows) -> Bools:
        """Say which tuples, in the relation or not, are as good as the best known."""
        marked = np.zeros(cand.shape[0], dtype=np.uint8)
        groups = np.empty(cand.shape[0], dtype=np.int64)
        for b in self._bests:
            n = b.numbering
            group_of(
                cand,
                cand.shape[0],
                b.key,
                np.zeros_like(b.key),
                b.key,
                n.table,
                n.first,
                n.shift,
                self._relation.rows,
                groups,
            )
            kernels.best_known(b.order(cand), groups, b.best, b.selection.ties, marked)
        return marked.view(np.bool_)

    def _enter(self) -> None:
        relation = self._relation
        if self.followed.shape[0] < relation.size:
            fresh = np.zeros(2 * relation.size, dtype=np.uint8)
            fresh[: self.followed.shape[0]] = self.followed
            self.followed = fresh
        for b in self._bests:
            b.number(relation.rows, relation.size)

    def _follow(self, rows: Ints, marked: Flags) -> Bools:
        chosen: Bools = marked.view(np.bool_) & (self.followed[rows] == 0)
        self.followed[rows[chosen]] = 1
        return chosen


class Followed(Relation):
    """The rows of a relation that its recursion follows: what its own rules read.

    Its rows are appended as they are admitted, so its delta is what came in by the last `advance`.
    """

    __slots__ = ("_seen", "_source", "selector")

    def __init__(self, source: Relation, selections: Sequence[Selection]) -> None:
        super().__init__(source.name, source.arity)
        self._source = source
        self._seen = 0
        self.selector = Selector(source, selections)

    def advance(self) -> int:
        """Admit what the source has got since the last time; return how many rows to follow."""
        fresh = np.arange(self._seen, self._source.size, dtype=np.int64)
        self._seen = self._source.size
        chosen = self._source.rows[fresh[self.selector.admit(fresh)]]
        n = chosen.shape[0]
        self.rows = grown(self.rows, self.size, self.size + n)
        self.rows[self.size : self.size + n] = chosen
        self.size += n
        return super().advance()


def holds(assumption: Positive, relation: Relation) -> bool:
    """Say whether all values of the column are above zero."""
    return holds_for(assumption, relation.live_rows())


def holds_for(assumption: Positive, rows: Rows) -> bool:
    """Say whether the values of the column are above zero in all of these rows."""
    codes = np.ascontiguousarray(rows[:, assumption.column])
    if assumption.kind is Kind.FLOAT:
        return bool((codes.view(np.float64) > 0.0).all())
    if assumption.kind is Kind.UNSIGNED:
        return bool((codes != 0).all())
    return bool((codes > 0).all())
