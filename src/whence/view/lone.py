"""Facts that are alone with their keys: such a fact comes and goes with its base fact.

An annotated relation holds the best of the base facts with equal keys. Mostly there is just one,
and then no rule has to be asked what is best.
"""

from __future__ import annotations

import numpy as np

from whence.engine.local.buffers import grown
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.live import Delta, LiveRelation, replace_rows
from whence.plan.nodes import Stratum
from whence.syntax.nodes import Atom, Variable
from whence.view.values import Values


def copied(stratum: Stratum) -> str | None:
    """Return the relation that a stratum keeps the best of, when that is all it does."""
    if len(stratum.relations) != 1 or len(stratum.rules) != 1 or stratum.facts:
        return None
    head, body = stratum.rules[0].head, stratum.rules[0].body
    if len(body) != 1 or not isinstance(body[0], Atom) or body[0].args != head.args:
        return None
    names = {arg.name for arg in head.args if isinstance(arg, Variable)}
    return body[0].relation if len(names) == len(head.args) else None


class Lone:
    """How many base facts there are with each key, of a relation that keeps the best of them."""

    def __init__(self, base: LiveRelation, values: Values) -> None:
        self._base = base
        self._values = values
        self._count: Ints = np.zeros(16, dtype=np.int64)

    def begin(self) -> None:
        """Count the base facts that are there."""
        numbers = self._number(self._base.live_rows())
        np.add.at(self._count, numbers, 1)

    def follow(self, delta: Delta | None) -> Delta | None:
        """Count a change, and let the relation follow it; None where others share a key."""
        if delta is None:
            return None
        came, went = self._base.tuples_of(delta)
        new, gone = self._number(came), self._number(went)
        count = self._count
        alone = not (count[gone] > 1).any()
        np.subtract.at(count, gone, 1)
        np.add.at(count, new, 1)
        if not alone or (count[new] > 1).any():
            return None
        values = self._values
        values.lose(gone)
        values.have(new, values.of(came))
        return replace_rows(values.relation, self._tuples(went), self._tuples(came))

    def _tuples(self, rows: Rows) -> Rows | None:
        arity = self._base.arity
        return np.ascontiguousarray(rows[:, :arity]) if rows.shape[0] else None

    def _number(self, rows: Rows) -> Ints:
        numbers = self._values.number(self._values.keys(rows))
        have, need = self._count.shape[0], self._values.size
        if need > have:
            self._count = grown(self._count, have, need)
            self._count[have:] = 0
        return numbers
