"""Columns that a recursion makes larger round by round while nothing could stop it.

A column is free when no rule of the recursion depends on it: it is handed on, computed with, and
never tested, joined on or compared. A free column that is computed from itself grows as long as
the rest of the row can be derived from itself again, which is for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from whence.analysis.strata import components
from whence.diagnostics import Diagnostic, Span
from whence.plan.bodies import Body, columns_of, fixed_columns, known_name
from whence.plan.nodes import Growth, Plan
from whence.rewrite.terms import names
from whence.syntax.nodes import Atom, Call, Kind, Record, Rule, Term, Variable

_GROWING = frozenset(("+", "-", "*", "^", "cat", "bshl"))

Column: TypeAlias = tuple[str, int]


def find_growth(relations: Collection[str], bodies: Sequence[Body]) -> list[Growth]:
    """Return what grows freely in relations that are computed together by these rules."""
    recursion = [(b, a) for b in bodies for a in b.atoms if a.relation in relations]
    if all(isinstance(arg, Variable) for body, _ in recursion for arg in body.head):
        return []
    free = _free(recursion)
    edges: dict[Column, dict[Column, None]] = {column: {} for column in free}
    made: dict[tuple[Column, Column], Rule] = {}
    for body, atom in recursion:
        for name, column in columns_of(atom).items():
            source = (atom.relation, column)
            if source not in free:
                continue
            for place, term in enumerate(body.head):
                if name in names(term):
                    target = (body.rule.head.relation, place)
                    edges[source][target] = None
                    if _makes(term, name):
                        made.setdefault((source, target), body.rule)
    growing: dict[Column, Rule] = {}
    for component in _components(edges):
        for (source, target), rule in made.items():
            if source in component and target in component:
                growing.setdefault(target, rule)
    reached = _reached(edges, growing)
    found: list[Growth] = []
    for relation in relations:
        columns = sorted(c for name, c in reached if name == relation)
        rules = [rule for (name, _), rule in growing.items() if name == relation]
        if columns and rules:
            ways = {c: _ways(c, set(columns), recursion) for c in columns}
            if len(relations) > 1:
                ways = {}
            certain = tuple(c for c, way in ways.items() if way in ("record", "sum", "text"))
            scaled = tuple(c for c, way in ways.items() if way == "product")
            found.append(Growth(relation, tuple(columns), certain, scaled, _span(rules[0])))
    return found


def _makes(term: Term, name: str) -> bool:
    """Say whether a value is made of the variable's that may be larger each time."""
    pending: list[Term] = [] if isinstance(term, Variable) else [term]
    while pending:
        match pending.pop():
            case Variable(name=found) if found == name:
                return True
            case Record(items=inside):
                pending.extend(inside)
            case Call(functor=functor, args=inside) if functor in _GROWING:
                pending.extend(inside)
    return False


def _free(recursion: Sequence[tuple[Body, Atom]]) -> set[Column]:
    """Return the columns on which no rule depends, the greatest such set."""
    heads = {(body.rule.head.relation, c) for body, _ in recursion for c in range(len(body.head))}
    free = heads | {(a.relation, c) for _, a in recursion for c in range(len(a.args))}
    for body, atom in recursion:
        free -= {(atom.relation, c) for c in fixed_columns(atom)}
        tested = names(*body.elsewhere(atom))
        free -= {(atom.relation, c) for name, c in columns_of(atom).items() if name in tested}
    while True:
        bound = {
            (atom.relation, column)
            for body, atom in recursion
            for name, column in columns_of(atom).items()
            for place, term in enumerate(body.head)
            if name in names(term) and (body.rule.head.relation, place) not in free
        }
        if not bound & free:
            return free
        free -= bound


def _components(edges: Mapping[Column, Mapping[Column, None]]) -> Iterator[set[Column]]:
    known = {f"{name}\n{column}": (name, column) for name, column in edges}
    graph = {
        f"{name}\n{column}": [f"{n}\n{c}" for n, c in edges[name, column]] for name, column in edges
    }
    for component in components(graph):
        yield {known[key] for key in component}


def _reached(
    edges: Mapping[Column, Mapping[Column, None]], start: Collection[Column]
) -> set[Column]:
    found = set(start)
    pending = list(found)
    while pending:
        for column in edges.get(pending.pop(), {}):
            if column not in found:
                found.add(column)
                pending.append(column)
    return found


def _ways(column: int, free: set[int], recursion: Sequence[tuple[Body, Atom]]) -> str | None:
    """Say what rules do to the column beside handing it on, if all do the same.

    They put it into a record, a text, a sum or a product, with what does not depend on the row
    that it came from.
    """
    ways: set[str] = set()
    for body, atom in recursion:
        own = {name for name, c in columns_of(atom).items() if c in free}
        source = atom.args[column]
        if not isinstance(source, Variable):
            return None
        way = _way(body.head[column], source.name, own - {source.name})
        if way is None:
            return None
        ways.add(way)
    ways.discard("same")
    return ways.pop() if len(ways) == 1 else None


def _way(term: Term, name: str, others: Collection[str]) -> str | None:
    if isinstance(term, Variable):
        return "same" if term.name == name else None
    if isinstance(term, Record):
        return "record" if _nested(term, name) else None
    way: str | None = None
    while not isinstance(term, Variable):
        if not isinstance(term, Call):
            return None
        inside = [arg for arg in term.args if name in names(arg)]
        rest = names(*(arg for arg in term.args if arg is not inside[0])) if inside else {}
        if len(inside) != 1 or not rest.keys().isdisjoint(others):
            return None
        match term.functor:
            case "cat":
                found = "text"
            case "+":
                found = "text" if term.kind is Kind.SYMBOL else "sum"
            case "-" if inside[0] is term.args[0]:
                found = "sum"
            case "*":
                found = "product"
            case _:
                return None
        if way not in (None, found):
            return None
        way, term = found, inside[0]
    return way if term.name == name else None


def _nested(record: Record, name: str) -> bool:
    """Say whether the variable itself is a part of the record, at some depth."""
    pending: list[Term] = [record]
    while pending:
        current = pending.pop()
        if isinstance(current, Variable) and current.name == name:
            return True
        if isinstance(current, Record):
            pending.extend(current.items)
    return False


def _span(rule: Rule) -> Span:
    return rule.head.span or rule.span


def growth_warnings(plan: Plan) -> list[Diagnostic]:
    """Warn of each recursion that may never end, because no selection keeps it within bounds."""
    refusals = dict(plan.refusals)
    found: list[Diagnostic] = []
    limited = {d.relation for d in plan.program.directives if d.action == "limitsize"}
    for stratum in plan.strata:
        selections = dict(stratum.selections)
        for growth in stratum.growths:
            name = growth.relation
            if name in limited:
                continue
            keys = [set(s.key) for s in selections.get(name, ())]
            if keys and all(key.isdisjoint(growth.free) for key in keys):
                continue
            attributes = [a.name for a in plan.program.relation(name).attributes]
            columns = ", ".join(f"`{attributes[c]}`" for c in growth.free)
            why, shown = refusals.get(name), known_name(name)
            found.append(
                Diagnostic(
                    "W0910",
                    f"the recursion of `{shown}` may never end",
                    growth.span,
                    f"nothing bounds {columns}",
                    notes=(why.message,) if why is not None else (),
                    hint=f"bound {columns} by a test, "
                    f"or read `{shown}` only through the `min` or `max` of a column",
                    severity="warning",
                )
            )
    return found
