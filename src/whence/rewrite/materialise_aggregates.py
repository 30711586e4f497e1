"""Give each aggregate a relation of its own, with one row per group, for views to maintain.

`n = count : { c(x, y) }` becomes `@count0(x, n)`. Where an empty group has a value, a second rule
says so: `!@count0(x, _), n = 0`. So rules read aggregates as they read any relation, and only the
relation of groups has to know how an aggregate changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from whence.functor.aggregate import AGGREGATES
from whence.rewrite.column_types import declare
from whence.rewrite.terms import level_names
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constant,
    Constraint,
    Kind,
    Literal,
    Negation,
    Program,
    RelationDecl,
    Rule,
    Term,
    Variable,
    Wildcard,
)


@dataclass(frozen=True, slots=True)
class Grouping:
    """A relation with one row per group of another: the key's columns, then the value."""

    relation: str
    source: str
    key: tuple[int, ...]
    target: int | None
    function: str
    kind: Kind


def materialise_aggregates(program: Program) -> tuple[Program, tuple[Grouping, ...]]:
    """Return the program with a relation for each aggregate over one atom, and those relations.

    >>> from whence.syntax.souffle import parse
    >>> text = ".decl c(x: number, y: number) a(x, n) :- b(x), n = count : { c(x, y) }."
    >>> print(materialise_aggregates(parse(text))[0])
    .decl c(x: number, y: number)
    .decl @count0(x: number, value: number)
    <BLANKLINE>
    a(x, n) :- b(x), @count0(x, n).
    a(x, n) :- b(x), !@count0(x, _), n = 0.
    @count0(x, value) :- c(x, _), value = count : { c(x, @1) }.
    """
    found = _Materialising(program)
    rules = [r for rule in program.rules for r in found.rewrite(rule)]
    added = [found.definition(grouping) for grouping in found.groupings.values()]
    whole = replace(
        program,
        relations=(*program.relations, *found.declared),
        rules=(*rules, *added),
    )
    return whole, tuple(found.groupings.values())


class _Materialising:
    """The relations of groups made so far."""

    def __init__(self, program: Program) -> None:
        self.relations = {decl.name: decl for decl in program.relations}
        self.declared: list[RelationDecl] = []
        self.groupings: dict[tuple[object, ...], Grouping] = {}
        self._numbers = count()

    def rewrite(self, rule: Rule) -> Iterator[Rule]:
        """Yield the rule with its first aggregate read from a relation, until none is left."""
        for position, literal in enumerate(rule.body):
            if not isinstance(literal, Constraint) or literal.op != "=":
                continue
            aggregate, value = literal.right, literal.left
            if not isinstance(aggregate, Aggregate):
                aggregate, value = value, aggregate
            if not isinstance(aggregate, Aggregate) or not _over_an_atom(aggregate):
                continue
            outside = level_names(*rule.heads, *rule.body).keys()
            for body in self._readings(aggregate, value, outside):
                before, after = rule.body[:position], rule.body[position + 1 :]
                yield from self.rewrite(replace(rule, body=(*before, *body, *after), orders=()))
            return
        yield rule

    def _readings(
        self, aggregate: Aggregate, value: Term, outside: object
    ) -> Iterator[tuple[Literal, ...]]:
        (atom,) = aggregate.body
        assert isinstance(atom, Atom)
        key = tuple(
            column
            for column, arg in enumerate(atom.args)
            if isinstance(arg, Constant) or (isinstance(arg, Variable) and arg.name in outside)  # type: ignore[operator]
        )
        grouping = self._grouping(aggregate, atom, key)
        args = tuple(atom.args[column] for column in key)
        yield (Atom(grouping.relation, (*args, value), span=aggregate.span),)
        if AGGREGATES[grouping.function, grouping.kind].total:
            kind = grouping.kind
            zero = Constant(0.0 if kind is Kind.FLOAT else 0, kind)
            yield (
                Negation(Atom(grouping.relation, (*args, Wildcard())), span=aggregate.span),
                Constraint("=", value, zero, kind, span=aggregate.span),
            )

    def _grouping(self, aggregate: Aggregate, atom: Atom, key: tuple[int, ...]) -> Grouping:
        target = None if aggregate.target is None else atom.args.index(aggregate.target)
        counting = aggregate.function == "count"
        kind = Kind.NUMBER if counting else aggregate.kind or Kind.NUMBER
        target = None if counting else target
        known = (atom.relation, key, target, aggregate.function, kind)
        if known not in self.groupings:
            name = self._name(aggregate.function)
            self.groupings[known] = Grouping(
                name, atom.relation, key, target, aggregate.function, kind
            )
            source = self.relations[atom.relation].attributes
            result = AGGREGATES[aggregate.function, kind].result
            columns: dict[str, str | None] = {source[c].name: source[c].type for c in key}
            columns[_fresh("value", columns)] = result.value
            self.declared.append(declare(name, columns))
        return self.groupings[known]

    def _name(self, function: str) -> str:
        return next(
            name for i in self._numbers if (name := f"@{function}{i}") not in self.relations
        )

    def definition(self, grouping: Grouping) -> Rule:
        """Return the rule that defines a relation of groups: an aggregate for each group."""
        attributes = self.relations[grouping.source].attributes
        value = Variable(_fresh("value", {attributes[c].name: None for c in grouping.key}))
        inside: list[Term] = [Variable(f"@{i}") for i in range(len(attributes))]
        outside: list[Term] = [Wildcard() for _ in attributes]
        for column in grouping.key:
            inside[column] = outside[column] = Variable(attributes[column].name)
        target = None if grouping.target is None else inside[grouping.target]
        aggregate = Aggregate(
            grouping.function, target, (Atom(grouping.source, tuple(inside)),), grouping.kind
        )
        head = Atom(grouping.relation, (*(outside[c] for c in grouping.key), value))
        body = (
            Atom(grouping.source, tuple(outside)),
            Constraint("=", value, aggregate, grouping.kind),
        )
        return Rule((head,), body)


def _over_an_atom(aggregate: Aggregate) -> bool:
    match aggregate.body:
        case (Atom(args=args),):
            names = [a.name for a in args if isinstance(a, Variable)]
            plain = all(isinstance(a, Variable | Constant) for a in args)
            target = aggregate.target
            return plain and len(set(names)) == len(names) and (target is None or target in args)
        case _:
            return False


def _fresh(name: str, taken: dict[str, str | None] | dict[str, None]) -> str:
    while name in taken:
        name += "_"
    return name
