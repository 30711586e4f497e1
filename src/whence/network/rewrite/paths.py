"""Recursions that follow links: what each column is, as far as a change of direction must know.

`path(@S, D, …) :- #link(@S, D, …)` and `path(@S, D, …) :- #link(@S, Z, …), path(@Z, D, …)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from whence.network.rewrite.monotone import definitions, expanded
from whence.network.rewrite.places import fully_connected, positive
from whence.syntax.nodes import (
    Atom,
    Call,
    Constant,
    Constraint,
    Program,
    Record,
    Rule,
    Term,
    Variable,
    variables,
)
from whence.syntax.nodes import Literal as BodyLiteral

Kind = Literal["source", "destination", "hop", "path", "fold"]

_FOLDS: Final = frozenset(("+", "*", "f_sum", "f_min", "f_max", "min", "max"))
"""Functions by which the order of links does not matter."""


@dataclass(frozen=True, slots=True)
class Column:
    """What a column says of a walk along links.

    `fold` combines a column of the links, or a constant for each, by a function; `hop` is the
    first node after the source; `path` is the list of all nodes.
    """

    kind: Kind
    functor: str = ""
    metric: int | Constant | None = None


@dataclass(frozen=True, slots=True)
class Paths:
    """A relation of walks along links, from its source on, stored there."""

    relation: str
    base: Rule
    step: Rule
    link: Atom
    columns: tuple[Column, ...]
    simple: bool
    """Whether no node may be visited twice."""
    bounds: tuple[tuple[str, int, Constant], ...]
    """Conditions (operator, column, limit) on what is folded."""

    def index(self, kind: Kind) -> int | None:
        """Return the first column of a kind."""
        return next((i for i, c in enumerate(self.columns) if c.kind == kind), None)


def find_paths(program: Program) -> list[Paths]:
    """Return the recursions of a program that are walks along links."""
    names = dict.fromkeys(rule.head.relation for rule in program.rules if rule.body)
    found = (_paths(program, name) for name in names)
    return [one for one in found if one is not None]


def _paths(program: Program, name: str) -> Paths | None:
    own = [rule for rule in program.rules if rule.head.relation == name]
    if len(own) != 2 or any(rule.delete for rule in own):
        return None
    base, step = sorted(own, key=lambda rule: name in {a.relation for a in positive(rule.body)})
    linked = fully_connected(program)  # then any relation will do for links
    match positive(base.body), positive(step.body):
        case [first], [one, other] if first.link or linked:
            link, again = (other, one) if one.relation == name else (one, other)
            same = (link.relation, link.link) == (first.relation, first.link)
            if same and again.relation == name != link.relation:
                return _columns(name, base, step, first, link, again)
    return None


def _columns(
    name: str, base: Rule, step: Rule, first: Atom, link: Atom, again: Atom
) -> Paths | None:
    if first.location != 0 or link.location != 0 or len(first.args) != len(link.args):
        return None
    if len(first.args) < 2 or not all(_plain(atom) for atom in (first, link, again)):
        return None
    columns: list[Column] = []
    for i in range(len(base.head.args)):
        column = _column(i, base, step, first, link, again)
        if column is None:
            return None
        columns.append(column)
    kinds = [column.kind for column in columns]
    if kinds.count("source") != 1 or kinds.count("destination") != 1:
        return None
    conditions = _conditions(base, step, again, columns)
    if conditions is None:
        return None
    simple, bounds = conditions
    return Paths(name, base, step, first, tuple(columns), simple, bounds)


def _plain(atom: Atom) -> bool:
    names = [arg.name for arg in atom.args if isinstance(arg, Variable)]
    constant = any(not isinstance(arg, Variable) and variables(arg) for arg in atom.args)
    whole = not any(isinstance(arg, Constant | Call | Record) for arg in atom.args)
    return len(names) == len(set(names)) and not constant and whole


def _column(i: int, base: Rule, step: Rule, first: Atom, link: Atom, again: Atom) -> Column | None:
    """Return what column `i` is: what the base rule begins it with, and how the step goes on."""
    source, target, *metrics = first.args
    begun = _value(base, i)
    near, via, *costs = link.args
    grown = _value(step, i)
    old = again.args[i]
    at = again.location == base.head.location == step.head.location == i
    match begun, grown:
        case Variable(), Variable() if begun == source and grown == near and at and old == via:
            return Column("source")
        case Variable(), Variable() if begun == target and grown == old and old != via:
            return Column("destination")
        case Variable(), Variable() if begun == target and grown == via:
            return Column("hop")
        case Call(functor="f_init", args=(a, b)), Call(functor="f_concatPath", args=(c, d)):
            if (a, b, c, d) == (source, target, near, old):
                return Column("path")
        case _, Call(functor=functor, args=(a, b)) if functor in _FOLDS and old in (a, b):
            other = a if b == old else b
            if begun in metrics and other in costs:
                where = metrics.index(begun)
                if where == costs.index(other):
                    return Column("fold", functor, where + 2)
            if isinstance(begun, Constant) and begun == other:
                return Column("fold", functor, begun)
    return None


def _value(rule: Rule, i: int) -> Term:
    known = set(variables(*positive(rule.body)))
    return expanded(rule.head.args[i], definitions(rule.body), known)


def _conditions(
    base: Rule, step: Rule, again: Atom, columns: list[Column]
) -> tuple[bool, tuple[tuple[str, int, Constant], ...]] | None:
    """Return what the rules check: visiting no node twice, and limits; None for anything else."""
    simple = False
    bounds: list[tuple[str, int, Constant]] = []
    for rule in (base, step):
        given = definitions(rule.body)
        for item in rule.body:
            if isinstance(item, Atom) or _is_definition(item, given):
                continue
            if rule is step and _keeps_off(item, again, rule, columns):
                simple = True
                continue
            bound = _bound(item, rule, columns)
            if bound is None:
                return None
            bounds.append(bound)
    # A limit must hold of all walks, else one direction would follow what the other does not.
    counted = {bound: bounds.count(bound) for bound in bounds}
    if any(rule_count != 2 for rule_count in counted.values()):
        return None
    return simple, tuple(dict.fromkeys(bounds))


def _is_definition(item: BodyLiteral, given: dict[str, Term]) -> bool:
    match item:
        case Constraint(op="=", left=Variable(name=name), right=right):
            return given.get(name) is right
        case Constraint(op="=", left=left, right=Variable(name=name)):
            return given.get(name) is left
    return False


def _keeps_off(item: BodyLiteral, again: Atom, rule: Rule, columns: list[Column]) -> bool:
    paths = [again.args[i] for i, column in enumerate(columns) if column.kind == "path"]
    sources = [rule.head.args[i] for i, column in enumerate(columns) if column.kind == "source"]
    match item:
        case Constraint(
            op="=", left=Call(functor="f_inPath", args=(path, node)), right=Constant(value=wrong)
        ) if not wrong:
            return path in paths and node in sources
    return False


def _bound(
    item: BodyLiteral, rule: Rule, columns: list[Column]
) -> tuple[str, int, Constant] | None:
    match item:
        case Constraint(
            op="<" | "<=" | ">" | ">=" as op, left=Variable() as left, right=Constant() as right
        ):
            for i, column in enumerate(columns):
                if column.kind == "fold" and rule.head.args[i] == left:
                    return op, i, right
    return None
