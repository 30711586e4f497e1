"""Order the literals of a body for evaluation.

Greedy: the atom that is expected to give the fewest rows comes next, tests and negations as soon
as their variables are bound. A cross product is taken only where nothing else is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from whence.rewrite.terms import level_names, may_fault, names, newly_bound
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constant,
    Constraint,
    Literal,
    Program,
    Rule,
    Term,
    Variable,
    Wildcard,
)

UNKNOWN = 1000
"""Rows assumed of a relation whose size is not known."""

MAX_COMPARED = 16
"""Atoms of a body up to which every one is tried as a start."""


def reorder_body(program: Program, cardinalities: Mapping[str, int] | None = None) -> Program:
    """Put the literals of each body in the order in which they are best evaluated.

    A rule with a `.plan` keeps its order: the plan counts its atoms.

    >>> from whence.syntax.souffle import parse
    >>> print(reorder_body(parse("a(x, z) :- x < 9, b(y, z), c(x, 1), d(x, y).")))
    a(x, z) :- c(x, 1), x < 9, d(x, y), b(y, z).
    """
    sizes = cardinalities or {}
    return replace(
        program,
        rules=tuple(
            rule
            if len(rule.body) < 2 or rule.orders
            else Rule(rule.heads, order_body(rule, None, sizes), span=rule.span)
            for rule in program.rules
        ),
    )


def order_body(
    rule: Rule,
    first: int | None = None,
    cardinalities: Mapping[str, int] | None = None,
    *,
    bound: Iterable[str] = (),
    version: int | None = None,
) -> tuple[Literal, ...]:
    """Return the literals of a flat body in evaluation order.

    `first` is the position of the atom to start from, `bound` are variables that have a value
    beforehand. A `.plan` for `version`, or one that begins with the first atom, fixes the order
    of the atoms.
    """
    if len(rule.body) < 2:
        return rule.body
    ordering = _Ordering(rule, cardinalities or {}, set(bound))
    ordering.run(first, _planned(rule, first, version))
    return tuple(ordering.out)


def _planned(rule: Rule, first: int | None, version: int | None) -> list[int]:
    """Return the positions of the atoms in the order that a `.plan` gives them."""
    if not rule.orders:
        return []
    atoms = [position for position, literal in enumerate(rule.body) if type(literal) is Atom]
    for number, order in rule.orders:
        # A plan counts the atoms from one.
        if sorted(order) != list(range(1, len(atoms) + 1)):
            continue
        planned = [atoms[i - 1] for i in order]
        if version is None and first is not None:
            chosen = planned[0] == first
        else:
            chosen = number == (version or 0)
        if chosen:
            return planned
    return []


class _Ordering:
    """A body on its way into order: what is placed, what waits, and what is bound."""

    def __init__(self, rule: Rule, sizes: Mapping[str, int], bound: set[str]) -> None:
        self.sizes = sizes
        self.bound = bound
        self.out: list[Literal] = []
        self.level = level_names(*rule.heads, *rule.body).keys()
        self.body = rule.body
        self.atoms: dict[int, Atom] = {}
        self.slow: list[int] = []
        self.quick: list[int] = []
        self.watching: dict[str, list[int]] = {}
        for position, literal in enumerate(rule.body):
            if type(literal) is Atom:
                self.atoms[position] = literal
            elif may_fault(literal) or _has_aggregate(literal):
                self.slow.append(position)
            else:
                self.quick.append(position)
                for name in names(literal):
                    self.watching.setdefault(name, []).append(position)
        self.waiting = set(self.quick)
        self.has_equations = any(type(o) is Constraint and o.op == "=" for o in rule.body)

    def run(self, first: int | None, planned: list[int]) -> None:
        """Place all literals; those that never become ready come last."""
        if not planned and first is not None:
            planned = [first]
        while self.atoms:
            if self.out or first is None:
                self._place_quick()
            if planned:
                position = planned.pop(0)
            else:
                position = self._cheapest()
                # What only tests goes before what computes.
                if not self._is_test(self.atoms[position]) and self._place_slow():
                    continue
            self._place(position, self.atoms.pop(position))
        self._place_quick()
        while self._place_slow(last=True):
            self._place_quick()
        self.out.extend(self.body[i] for i in sorted((*self.waiting, *self.slow)))

    def _place(self, position: int, literal: Literal) -> bool:
        """Put a literal next, if it is ready."""
        new = newly_bound(literal, self.bound, self.level)
        if new is None and type(literal) is not Atom:
            return False
        self.out.append(literal)
        for name in new or ():
            if name not in self.bound:
                self.bound.add(name)
                self.quick.extend(self.watching.get(name, ()))
        return True

    def _place_quick(self) -> None:
        while self.quick:
            candidates = sorted(self.waiting.intersection(self.quick))
            self.quick.clear()
            for position in candidates:
                if self._place(position, self.body[position]):
                    self.waiting.discard(position)

    def _place_slow(self, *, last: bool = False) -> bool:
        """Place an aggregate, or a computation that may fault and has to be made now.

        Faults wait for the tests that may spare them, unless an atom needs the value.
        """
        for position in self.slow:
            literal = self.body[position]
            if not last and may_fault(literal) and not self._feeds_an_atom(literal):
                continue
            if self._place(position, literal):
                self.slow.remove(position)
                return True
        return False

    def _feeds_an_atom(self, literal: Literal) -> bool:
        unbound = names(literal).keys() - self.bound
        return any(
            type(arg) is Variable and arg.name in unbound
            for atom in self.atoms.values()
            for arg in atom.args
        )

    def _cheapest(self) -> int:
        costs = {position: self._cost(atom) for position, atom in self.atoms.items()}
        best = min(self.atoms, key=lambda position: (*costs[position], position))
        joined = self.out and not costs[best][0]
        if joined or not self.has_equations or not 1 < len(self.atoms) <= MAX_COMPARED:
            return best
        # An equation leads from one atom to another but not back, so where nothing is joined yet
        # the start decides whether there is a cross product later.
        return min(self.atoms, key=lambda at: (len(self.atoms) - self._reach(at), *costs[at], at))

    def _reach(self, start: int) -> int:
        """Return how many atoms can be read without a cross product after this one."""
        bound = set(self.bound)
        ready: list[Literal] = [self.atoms[start]]
        found = 1
        waiting: dict[int, Literal] = {**self.atoms}
        del waiting[start]
        waiting.update((i, self.body[i]) for i in (*self.waiting, *self.slow))
        while ready:
            for literal in ready:
                bound.update(newly_bound(literal, bound, self.level) or ())
            done = {i for i, literal in waiting.items() if self._is_joined(literal, bound)}
            ready = [waiting.pop(i) for i in done]
            found += sum(type(literal) is Atom for literal in ready)
        return found

    def _is_joined(self, literal: Literal, bound: set[str]) -> bool:
        if type(literal) is Atom:
            return any(type(a) is Constant or names(a).keys() & bound for a in literal.args)
        return newly_bound(literal, bound, self.level) is not None

    def _is_test(self, atom: Atom) -> bool:
        return self._known_columns(atom.args) == len(atom.args)

    def _known_columns(self, args: Sequence[Term]) -> int:
        """Return how many columns have a value, or must equal another column."""
        known, seen = 0, set()
        for arg in args:
            if type(arg) is Variable:
                known += arg.name in self.bound or arg.name in seen
                seen.add(arg.name)
            elif type(arg) is not Wildcard:
                known += 1
        return known

    def _cost(self, atom: Atom) -> tuple[bool, float]:
        """Return whether the atom makes a cross product, and how many rows it may give."""
        rows = self.sizes.get(atom.relation, UNKNOWN)
        arity = len(atom.args)
        known = self._known_columns(atom.args)
        if known == arity:
            return False, 0.0
        if not known:
            return bool(self.out), float(rows)
        # Each column is taken to split the rows alike, as nothing is known of its values.
        return False, float(rows) ** ((arity - known) / arity)


def _has_aggregate(literal: Literal) -> bool:
    return type(literal) is Constraint and type(literal.right) is Aggregate
