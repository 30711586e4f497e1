"""Relations none of whose tuples can support itself, so that counting derivations is exact.

A relation that is not recursive is one. A recursive one is if, on every way round, some column
only grows or only shrinks: a list that gets a node more, a whole number that gets one greater.
What an archival rule derived stays when its premises go, so no support goes round through it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod
from typing import Final

from whence.analysis.ndlog.growth import Growth, definitions, growth, whole_columns
from whence.analysis.ndlog.recursion import Recursion, recursions
from whence.analysis.ndlog.state import RuleClass, classify, relations, states
from whence.syntax.nodes import Program, Rule, Variable

_MAX_CHOICES: Final = 4096
"""How many choices of columns are tried before a recursion counts as unknown."""

_WAYS: Final = (Growth.LONGER, Growth.SHORTER, Growth.GREATER, Growth.LESS)


def acyclic(program: Program) -> frozenset[str]:
    """Return the relations whose derivations are provably acyclic.

    >>> from whence.syntax.ndlog import parse_ndlog
    >>> text = "p(@S, D, P) :- #l(@S, D), P = f_init(S, D)."
    >>> text += "p(@S, D, P) :- #l(@S, Z), p(@Z, D, Q), P = f_concatPath(S, Q)."
    >>> text += "r(@S, D) :- #l(@S, Z), r(@Z, D)."
    >>> sorted(acyclic(parse_ndlog(text)))
    ['l', 'p']
    """
    whole, known = whole_columns(program), states(program)
    kept = [r for r in program.rules if classify(r, known).kind is not RuleClass.ARCHIVAL]
    doubtful = {
        name
        for recursion in recursions(replace(program, rules=tuple(kept)))
        if not _has_measure(recursion, _arities(program), whole)
        for name in recursion.relations
    }
    return frozenset(relations(program)) - doubtful


def _arities(program: Program) -> dict[str, int]:
    return {rule.head.relation: len(rule.head.args) for rule in program.rules}


def _has_measure(
    recursion: Recursion, arities: Mapping[str, int], whole: frozenset[tuple[str, int]]
) -> bool:
    names = recursion.relations
    choices = [range(arities.get(name, 0)) for name in names]
    if prod(map(len, choices)) > _MAX_CHOICES:
        return False
    return any(
        _moves(recursion, dict(zip(names, columns, strict=True)), way)
        for columns in product(*choices)
        for way in _WAYS
        if way in (Growth.LONGER, Growth.SHORTER)
        or all(column in whole for column in zip(names, columns, strict=True))
    )


def _moves(recursion: Recursion, columns: Mapping[str, int], way: Growth) -> bool:
    """Say whether the columns move one way on every way round the recursion."""
    still: dict[str, set[str]] = {name: set() for name in recursion.relations}
    for rule in recursion.rules:
        for premise, found in _steps(rule, recursion, columns):
            if found is Growth.SAME:
                still[rule.head.relation].add(premise)
            elif found is not way:
                return False
    return not _has_cycle(still)


def _steps(
    rule: Rule, recursion: Recursion, columns: Mapping[str, int]
) -> Iterator[tuple[str, Growth | None]]:
    head = rule.head.args[columns[rule.head.relation]]
    defined = definitions(rule)
    for premise in recursion.premises(rule):
        column = columns[premise.relation]
        before = premise.args[column] if column < len(premise.args) else None
        known = isinstance(before, Variable)
        yield premise.relation, growth(head, before.name, defined) if known else None  # type: ignore[union-attr]


def _has_cycle(graph: Mapping[str, set[str]]) -> bool:
    """Say whether steps that leave the column as it is can lead back to where they began."""
    left = {name: set(targets) for name, targets in graph.items()}
    while True:
        ends = [name for name, targets in left.items() if not targets]
        if not ends:
            return bool(left)
        for name in ends:
            del left[name]
        for targets in left.values():
            targets.difference_update(ends)
