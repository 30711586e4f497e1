"""Aggregates over tuples of several nodes: their rows are brought to one node first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from whence.diagnostics import Diagnostic, ProgramError
from whence.network.rewrite.intermediate import Intermediates
from whence.network.rewrite.places import (
    body_atoms,
    located_in_aggregate,
    place,
    positive,
    same_place,
)
from whence.syntax.nodes import (
    Atom,
    HeadAggregate,
    Literal,
    Materialize,
    Program,
    Rule,
    Term,
    Variable,
    Wildcard,
    rebuild,
    variables,
)


def gather_aggregates(program: Program, made: Intermediates) -> Iterator[Rule]:
    """Yield the rules; one that aggregates over several nodes becomes two.

    The first brings the rows to the node of the head, the second aggregates them there. What an
    event sets off is aggregated where the event is, event by event.
    """
    for rule in program.rules:
        head = rule.head
        if not rule.body or not any(isinstance(arg, HeadAggregate) for arg in head.args):
            yield rule
            continue
        places = [place(atom) for atom in body_atoms(rule.body)]
        one = all(same_place(other, places[0]) for other in places)
        event = any(atom.relation in made.events for atom in positive(rule.body))
        if one and (event or located_in_aggregate(head) or same_place(place(head), places[0])):
            yield rule
        elif event or located_in_aggregate(head):
            raise ProgramError(_scattered(rule))
        else:
            yield from _gathered(rule, made)


def _gathered(rule: Rule, made: Intermediates) -> tuple[Rule, Rule]:
    rule = _wildcards_named(rule)
    head = rule.head
    aggregates = [arg for arg in head.args if isinstance(arg, HeadAggregate)]
    # Only these do not care how often a value is there.
    by_value = all(a.function in ("min", "max") for a in aggregates)
    names = variables(head) if by_value else variables(head, *rule.body)
    columns: list[Term] = list(names.values())
    assert head.location is not None
    where = head.args[head.location]
    if isinstance(where, Variable):
        at = columns.index(where)
    else:
        at, columns = len(columns), [*columns, where]
    label = f"{head.relation}_{rule.name or 'rows'}"
    row = Atom(made.fresh(label), tuple(columns), location=at)
    stored = [a.relation for a in positive(rule.body) if a.relation not in made.windows]
    lives = [made.stored[name].lifetime for name in stored]
    life = min((life for life in lives if life is not None), default=None)
    table = Materialize(row.relation, life, None, ())
    made.tables[row.relation] = made.stored[row.relation] = table
    first = replace(rule, heads=(row,), name=made.label(rule, []))
    body: tuple[Literal, ...] = (row,)
    second = replace(rule, body=body, name=made.label(rule, [first], last=True))
    return first, second


def _wildcards_named(rule: Rule) -> Rule:
    """Return the rule with a name for each `_`, as a count is over all that a body matches."""
    taken = {*variables(rule.head, *rule.body)}
    numbers = count()

    def name(node: Term | Literal) -> Term | Literal:
        if isinstance(node, Wildcard):
            fresh = next(n for i in numbers if (n := f"W{i}") not in taken)
            return Variable(fresh, span=node.span)
        return rebuild(node, name)

    # What is denied binds nothing.
    body = tuple(rebuild(item, name) if isinstance(item, Atom) else item for item in rule.body)
    return replace(rule, body=body)


def _scattered(rule: Rule) -> Diagnostic:
    return Diagnostic(
        "W1382",
        f"rule `{rule.name or rule.head.relation}` aggregates what an event finds at several nodes",
        rule.span,
        notes=("nobody knows when all of them have answered",),
        hint="store the answers in a table at one node, and aggregate that",
    )
