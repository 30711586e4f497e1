"""Which variables of a body are known to be the best value of a group.

`c = min k : { path(x, y, k) }` says so of `c`, and so does an atom of a relation whose every rule
says so of the column, as in `minCost(x, y, c) :- path(x, y, _), c = min k : { path(x, y, k) }`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from whence.plan.bodies import Body, columns_of, fixed_columns
from whence.plan.monotone import ORDERED
from whence.plan.nodes import Selection
from whence.rewrite.terms import level_names
from whence.syntax.nodes import Aggregate, Atom, Constant, Kind, Term, Variable


@dataclass(frozen=True, slots=True)
class Certificate:
    """The term `value` is the best of the rows of a relation that have `group` as their key."""

    relation: str
    selection: Selection
    group: tuple[Term, ...]
    value: Term


def read_aggregate(body: Body, aggregate: Aggregate) -> tuple[Atom, Selection] | None:
    """Return the atom that a `min` or `max` ranges over and what it selects, if that is all."""
    kind, target = aggregate.kind, aggregate.target
    if aggregate.function not in ("min", "max") or kind not in ORDERED or kind is None:
        return None
    match aggregate.body:
        case (Atom() as atom,):
            columns = columns_of(atom)
            if len(columns) < len(atom.args) or not isinstance(target, Variable):
                return None
            if target.name not in columns:
                return None
            shared = level_names(*body.rule.heads, *body.rule.body)
            key = tuple(column for name, column in columns.items() if name in shared)
            value = columns[target.name]
            if value in key:
                return None
            return atom, Selection(key, value, kind, aggregate.function == "max")
        case _:
            return None


class Certificates:
    """What the rules of a program certify; `given` are relations that may hold other facts."""

    def __init__(
        self, bodies: Mapping[str, Sequence[Body]], order: Sequence[str], given: Collection[str]
    ) -> None:
        """Read the rules of the relations in `order`, each after those it is computed from."""
        self._bodies = bodies
        self._given = given
        self._columns: dict[str, list[tuple[Certificate, tuple[int, ...], int]]] = {}
        for name in order:
            rules = bodies.get(name, ())
            if rules and name not in given:
                found = [set(self._of_head(body)) for body in rules]
                self._columns[name] = list(set.intersection(*found))

    def of(self, body: Body) -> Iterator[Certificate]:
        """Yield what is certified within a body."""
        for value, aggregate in body.aggregates:
            found = read_aggregate(body, aggregate)
            if found is not None:
                atom, selection = found
                group = tuple(atom.args[c] for c in selection.key)
                yield from self._with_source(Certificate(atom.relation, selection, group, value))
        for atom in body.atoms:
            for certificate, key, at in self._columns.get(atom.relation, ()):
                yield Certificate(
                    certificate.relation,
                    certificate.selection,
                    tuple(atom.args[c] for c in key),
                    atom.args[at],
                )

    def _of_head(self, body: Body) -> Iterator[tuple[Certificate, tuple[int, ...], int]]:
        places = columns_of(body.rule.head)
        for found in self.of(body):
            terms = (*found.group, found.value)
            if all(isinstance(t, Variable) and t.name in places for t in terms):
                *key, value = [places[t.name] for t in terms if isinstance(t, Variable)]
                anonymous = Certificate(found.relation, found.selection, (), Constant(0, None))
                yield anonymous, tuple(key), value

    def _with_source(self, found: Certificate) -> Iterator[Certificate]:
        """Yield the certificate, and the same for what its relation is a plain part of.

        An aggregate over `path(x, "b", k)` ranges over a relation of its own, with the rule
        `@agg0(x, k) :- path(x, "b", k).`
        """
        yield found
        rules = self._bodies.get(found.relation, ())
        if len(rules) != 1 or found.relation in self._given:
            return
        (body,) = rules
        if len(body.atoms) != 1 or body.negated or body.aggregates or body.tests:
            return
        (source,) = body.atoms
        places = columns_of(source)
        terms: dict[int, Term] = {}
        for column, term in zip(found.selection.key, found.group, strict=True):
            arg = body.head[column]
            if not isinstance(arg, Variable) or arg.name not in places:
                return
            terms[places[arg.name]] = term
        value = body.head[found.selection.value]
        if not isinstance(value, Variable) or value.name not in places:
            return
        for column in fixed_columns(source):
            if not isinstance(source.args[column], Constant):
                return
            terms[column] = source.args[column]
        key = tuple(sorted(terms))
        kind: Kind = found.selection.kind
        selection = Selection(key, places[value.name], kind, found.selection.greatest)
        yield Certificate(source.relation, selection, tuple(terms[c] for c in key), found.value)


def certified(atom: Atom, certificates: Sequence[Certificate]) -> Selection | None:
    """Return what the atom's rows are best for, if all that the body lets through are."""
    for found in certificates:
        selection = found.selection
        if found.relation != atom.relation or not isinstance(found.value, Variable):
            continue
        if atom.args[selection.value] != found.value:
            continue
        if all(
            isinstance(term, Variable | Constant) and atom.args[c] == term
            for c, term in zip(selection.key, found.group, strict=True)
        ):
            return selection
    return None
