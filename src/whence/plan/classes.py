"""Classes of columns whose values meet only in equality.

Values of such a class can be renumbered at will: nothing computes with them or asks for their
order. A column that some rule computes with belongs to no class.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constant,
    Constraint,
    Literal,
    Program,
    Term,
    Variable,
    Wildcard,
    walk,
)

Column: TypeAlias = tuple[str, int]
_Place: TypeAlias = tuple[str, int] | tuple[int, str]
"""A column of a relation, or a variable of a rule."""


@dataclass(slots=True)
class Classes:
    """The class of each column that has one, and the constants that meet it."""

    of: dict[Column, int] = field(default_factory=dict)
    constants: dict[int, list[Constant]] = field(default_factory=dict)

    def members(self) -> dict[int, list[Column]]:
        """Return the columns of each class."""
        found: dict[int, list[Column]] = {}
        for column, number in self.of.items():
            found.setdefault(number, []).append(column)
        return found


class _Unions:
    """Union-find over places, with a mark for classes that are computed with."""

    def __init__(self) -> None:
        self.parent: dict[_Place, _Place] = {}
        self.computed: set[_Place] = set()

    def find(self, place: _Place) -> _Place:
        parent = self.parent
        parent.setdefault(place, place)
        root = place
        while parent[root] != root:
            root = parent[root]
        while parent[place] != root:
            parent[place], place = root, parent[place]
        return root

    def union(self, a: _Place, b: _Place) -> None:
        self.parent[self.find(a)] = self.find(b)


def column_classes(program: Program) -> Classes:
    """Return the classes of the program's columns."""
    unions = _Unions()
    constants: list[tuple[Column, Constant]] = []
    for decl in program.relations:
        for i in range(decl.arity):
            unions.find((decl.name, i))
    statements: list[tuple[Literal, ...]] = [(*r.heads, *r.body) for r in program.rules]
    statements += [(s.dominated, s.dominating, *s.body) for s in program.subsumptions]
    for number, literals in enumerate(statements):
        _visit(number, literals, unions, constants)
    computed = {unions.find(place) for place in unions.computed}
    numbers: dict[_Place, int] = {}
    classes = Classes()
    for decl in program.relations:
        for i in range(decl.arity):
            root = unions.find((decl.name, i))
            if root not in computed:
                classes.of[decl.name, i] = numbers.setdefault(root, len(numbers))
    for column, constant in constants:
        if column in classes.of:
            classes.constants.setdefault(classes.of[column], []).append(constant)
    return classes


def _visit(
    rule: int,
    literals: Iterable[Literal],
    unions: _Unions,
    constants: list[tuple[Column, Constant]],
) -> None:
    def compute(*terms: Term | Literal) -> None:
        for term in terms:
            for inner in walk(term):
                if isinstance(inner, Variable):
                    unions.computed.add((rule, inner.name))

    for literal in literals:
        for node in walk(literal):
            match node:
                case Atom(relation=relation, args=args):
                    for i, arg in enumerate(args):
                        column = (relation, i)
                        if isinstance(arg, Variable):
                            unions.union(column, (rule, arg.name))
                        elif isinstance(arg, Constant):
                            constants.append((column, arg))
                        elif not isinstance(arg, Wildcard):
                            unions.computed.add(column)
                            compute(arg)
                case Constraint(op="=" | "!=", left=Variable() as a, right=Variable() as b):
                    unions.union((rule, a.name), (rule, b.name))
                case Constraint(left=left, right=right):
                    compute(*(t for t in (left, right) if not isinstance(t, Aggregate)))
                case Aggregate(target=target):
                    if target is not None:
                        compute(target)
                case _:
                    pass
