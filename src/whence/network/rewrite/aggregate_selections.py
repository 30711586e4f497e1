"""Aggregate selections: tuples that cannot change a minimum or maximum are not followed.

Loo (2006), section 8.1.1, after Sudarshan and Ramakrishnan (1991). A relation may be selected from
if whoever reads it wants the best of a group only, and its own rules make the best from the best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from whence.network.rewrite.monotone import NEVER_BETTER, definitions, depends, steps
from whence.network.rewrite.places import body_atoms, positive, tables
from whence.network.rewrite.selection import AggregateSelection, selections, with_selections
from whence.syntax.nodes import (
    Atom,
    Call,
    Constant,
    Constraint,
    HeadAggregate,
    Literal,
    Negation,
    Program,
    Rule,
    Term,
    Variable,
    variables,
    walk,
)


def aggregate_selections(program: Program, *, period: float | None = None) -> Program:
    """Return the program with a selection for each relation that allows one.

    With a `period` in seconds they are periodic: what is best goes on so often.
    """
    found = dict.fromkeys((*selections(program), *found_selections(program).chosen))
    chosen = tuple(replace(one, period=period) for one in found)
    return with_selections(program, chosen) if chosen else program


@dataclass(frozen=True, slots=True)
class Found:
    """The selections that are allowed, and why others are not."""

    chosen: tuple[AggregateSelection, ...]
    refused: tuple[tuple[AggregateSelection, str], ...]


def found_selections(program: Program) -> Found:
    """Return which selections the aggregates of a program suggest, and what became of each."""
    suggested = list(dict.fromkeys(one for _, one in _suggested(program)))
    refused: list[tuple[AggregateSelection, str]] = []
    alive = suggested
    while True:
        # A consumer may be content with another selection of its relation: ask until all agree.
        objections = [(one, _objection(program, one, alive)) for one in alive]
        out = [(one, why) for one, why in objections if why]
        if not out:
            return Found(tuple(alive), tuple(refused))
        refused.extend(out)
        alive = [one for one, why in objections if not why]


def _suggested(program: Program) -> Iterator[tuple[str, AggregateSelection]]:
    """Yield the aggregates `h(G…, min<C>) :- r(…)`, each by the relation that holds its value."""
    heads = {rule.head.relation for rule in program.rules if rule.body}
    for rule in program.rules:
        shape = _aggregate(rule)
        if shape is None:
            continue
        function, value = shape
        for atom in positive(rule.body):
            names = [arg.name if isinstance(arg, Variable) else "" for arg in atom.args]
            if value not in names or atom.relation not in heads:
                continue
            column = names.index(value)
            wanted = set(variables(*(a for a in rule.head.args if isinstance(a, Variable))))
            group = tuple(i for i, n in enumerate(names) if n in wanted)
            yield rule.head.relation, AggregateSelection(atom.relation, group, function, column)


def _aggregate(rule: Rule) -> tuple[str, str] | None:
    """Return function and variable of a rule whose head has one aggregate, a minimum or maximum."""
    found = [arg for arg in rule.head.args if isinstance(arg, HeadAggregate)]
    match found:
        case [HeadAggregate(function="min" | "max" as function, target=Variable(name=name))]:
            return function, name
    return None


def _objection(program: Program, one: AggregateSelection, alive: list[AggregateSelection]) -> str:
    """Return why a selection would change answers; empty if it would not."""
    name = one.relation
    table = tables(program).get(name)
    if table is None or table.lifetime is not None:
        return f"`{name}` is not stored for good"
    if any(query.atom.relation == name for query in program.queries):
        return f"`{name}` itself is asked for"
    if any(watch.relation == name for watch in program.watches):
        return f"`{name}` itself is watched"
    if any(other.relation == name and other.group != one.group for other in alive):
        return f"aggregates over `{name}` group it in different ways"
    if not any(_reads(rule, name) for rule in program.rules if rule.head.relation == name):
        return f"`{name}` is not recursive: nothing is sent for what is not best"
    best = {(head, chosen) for head, chosen in _suggested(program) if chosen in alive}
    for rule in program.rules:
        if name in {atom.relation for atom in rule.heads} and rule.delete:
            return f"rule {_label(rule)} deletes from `{name}`"
        used = [atom for atom in body_atoms(rule.body) if atom.relation == name]
        if not used:
            continue
        if len(used) > 1:
            return f"rule {_label(rule)} reads `{name}` twice"
        if used[0] not in rule.body:
            return f"rule {_label(rule)} denies `{name}`, or has it in an alternative"
        if rule.head.relation == name:
            why = _step_objection(rule, used[0], one)
            if why:
                return f"rule {_label(rule)} {why}"
        elif not _wants_best(rule, used[0], best):
            return f"rule {_label(rule)} needs more of `{name}` than the best"
    return ""


def _reads(rule: Rule, name: str) -> bool:
    return any(atom.relation == name for atom in body_atoms(rule.body))


def _label(rule: Rule) -> str:
    return f"`{rule.name or rule.head.relation}`"


def _wants_best(rule: Rule, atom: Atom, best: set[tuple[str, AggregateSelection]]) -> bool:
    """Say whether a rule that reads a relation is content with the best of each group."""
    shape = _aggregate(rule)
    for head, one in best:
        if one.relation != atom.relation:
            continue
        group = {a.name for i in one.group if isinstance(a := atom.args[i], Variable)}
        others = {*variables(atom)} - group
        value = atom.args[one.column]
        if shape is not None and isinstance(value, Variable):
            rest = [item for item in rule.body if item is not atom]
            plain = variables(*(a for a in rule.head.args if isinstance(a, Variable)))
            if shape == (one.function, value.name) and not others & {*plain, *variables(*rest)}:
                return True
        if any(_is_best(item, head, atom, one) for item in rule.body):
            return True
    return False


def _is_best(item: Literal, head: str, atom: Atom, one: AggregateSelection) -> bool:
    """Say whether a literal is the aggregate of the group that an atom is in, with its value."""
    if not isinstance(item, Atom) or item.relation != head:
        return False
    wanted = {_key(atom.args[i]) for i in (*one.group, one.column)}
    return wanted <= {_key(arg) for arg in item.args}


def _key(term: Term) -> object:
    return term.name if isinstance(term, Variable) else term


def _step_objection(rule: Rule, atom: Atom, one: AggregateSelection) -> str:
    """Return why a rule of the relation itself may make something better from what is not best."""
    value = atom.args[one.column]
    if not isinstance(value, Variable):
        return "reads tuples of one value only"
    group = {a.name for i in one.group if isinstance(a := atom.args[i], Variable)}
    free = {*variables(atom)} - group
    given = definitions(rule.body)
    joined = [other for other in positive(rule.body) if other is not atom]
    known = {*variables(atom, *joined)}
    if free & {*variables(*joined)}:
        return "joins by more than the group"
    head = rule.head
    for i in one.group:
        if any(depends(head.args[i], name, given, known) for name in free):
            return "makes a group from more than a group"
    grown = steps(head.args[one.column], value.name, given, known)
    if grown is None:
        return "computes a value that does not only grow with the one it is made from"
    never_better = grown <= NEVER_BETTER[one.function]
    for item in rule.body:
        if isinstance(item, Atom) or _defines(item, given):
            continue
        touched = {
            n for n in variables(item) if any(depends(Variable(n), f, given, known) for f in free)
        }
        if not touched:
            continue
        if _is_cycle_check(item) and never_better:
            continue  # what goes round is no better than the rest of it, which is there
        if _is_bound(item, one, head, value):
            continue
        return "has a condition that what is best may fail and others pass"
    return ""


def _defines(item: Literal, given: dict[str, Term]) -> bool:
    return isinstance(item, Constraint) and any(
        isinstance(one, Variable) and given.get(one.name) is other
        for one, other in ((item.left, item.right), (item.right, item.left))
    )


def _is_cycle_check(item: Literal) -> bool:
    """Say whether a literal says that a node is not on a path: `f_inPath(P, S) = false`."""
    if isinstance(item, Negation):
        return False
    calls = [n.functor for n in walk(item) if isinstance(n, Call)]
    match item:
        case Constraint(op="=", left=Call(), right=Constant(value=wrong)) if not wrong:
            return calls == ["f_inPath"]
        case Constraint(op="=", left=Constant(value=wrong), right=Call()) if not wrong:
            return calls == ["f_inPath"]
    return False


def _is_bound(item: Literal, one: AggregateSelection, head: Atom, value: Variable) -> bool:
    """Say whether a literal bounds the value on the side where the best is."""
    ours = {value.name, *variables(head.args[one.column])}
    match item:
        case Constraint(op=op, left=Variable(name=name), right=Constant()) if name in ours:
            return op in (("<", "<=") if one.function == "min" else (">", ">="))
        case Constraint(op=op, left=Constant(), right=Variable(name=name)) if name in ours:
            return op in ((">", ">=") if one.function == "min" else ("<", "<="))
    return False
