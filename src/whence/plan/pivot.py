"""Pivots: columns that a recursion carries along unchanged.

In `path(x, z) :- path(x, y), edge(y, z)` the first column is one: all tuples that a tuple is
derived from agree with it there, so the recursion falls apart into one for each value.
"""

from __future__ import annotations

from whence.plan.nodes import Stratum
from whence.syntax.nodes import Atom, Rule, Variable


def pivot(stratum: Stratum) -> int | None:
    """Return a column that is a pivot of all relations of the stratum, None when there is none."""
    own = set(stratum.relations)
    recursive = [
        (rule, atoms)
        for rule in stratum.rules
        if (atoms := [a for a in rule.body if isinstance(a, Atom) and a.relation in own])
    ]
    if not recursive:
        return None
    width = min(len(rule.head.args) for rule, _ in recursive)
    for column in range(width):
        if all(_carries(rule, atoms, column) for rule, atoms in recursive):
            return column
    return None


def _carries(rule: Rule, atoms: list[Atom], column: int) -> bool:
    term = rule.head.args[column]
    return isinstance(term, Variable) and all(
        len(atom.args) > column and atom.args[column] == term for atom in atoms
    )
