"""Magic sets: only the nodes that a query names begin a search, or end one.

Loo (2006), section 8.1.2: `magicSrc(@S)` and `magicDst(@D)` are tables with the constants of the
query, and more queries are more rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from whence.network.rewrite.moved import Moved
from whence.network.rewrite.places import fresh, positive
from whence.syntax.nodes import (
    Atom,
    Constant,
    Literal,
    Materialize,
    Program,
    Rule,
    Term,
    Variable,
    Wildcard,
)


@dataclass(frozen=True, slots=True)
class Bound:
    """The ends of walks that a query names: a constant, None for one that is given later."""

    source: Constant | None
    destination: Constant | None
    by_source: str
    """The table of sources; empty where all nodes are."""
    by_destination: str


def bound_by(program: Program, moved: Moved, *, later: bool = False) -> Bound:
    """Return what the query of a program names; `later` if queries come while it runs."""
    pair = moved.columns[moved.asked]
    atom = next(q.atom for q in program.queries if q.atom.relation == moved.asked)
    start, end = atom.args[pair.source], atom.args[pair.destination]
    source = start if isinstance(start, Constant) else None
    destination = end if isinstance(end, Constant) else None
    return Bound(
        source,
        destination,
        fresh(program, "magicSrc") if later or source is not None else "",
        fresh(program, "magicDst") if later or destination is not None else "",
    )


def from_source(program: Program, moved: Moved, bound: Bound) -> Program:
    """Return a program whose walks are searched from their source, for the ends of the query."""
    walks = moved.names[moved.paths.relation]
    pair = moved.columns[moved.paths.relation]
    ends = {moved.names[name]: moved.columns[name].destination for name in moved.names}
    rules = []
    for rule in program.rules:
        inner = {atom.relation for atom in positive(rule.body)}
        if rule.head.relation == walks and walks not in inner and bound.by_source:
            rules.append(_filtered(rule, bound.by_source, pair.source))
        elif bound.by_destination and inner == {walks} and rule.head.relation != walks:
            rules.append(_filtered(rule, bound.by_destination, ends[rule.head.relation]))
        else:
            rules.append(rule)
    return _with_facts(replace(program, rules=tuple(rules)), bound)


def from_destination(program: Program, moved: Moved, bound: Bound) -> Program:
    """Return a program whose walks are built from their destination, for the ends of the query.

    Sources are no filter for what is built backwards. Where the query names nothing else, at
    least only nodes that a source can reach take part (`magicSrc` runs ahead along links).
    """
    if bound.by_destination:
        bound = replace(bound, source=None, by_source="")
    paths = moved.paths
    pair = moved.columns[paths.relation]
    rules: list[Rule] = []
    for rule in program.rules:
        if rule is paths.base and bound.by_destination:
            rule = _filtered(rule, bound.by_destination, pair.destination)
        if rule.head.relation == paths.relation and bound.by_source:
            rule = _filtered(rule, bound.by_source, pair.source)
        rules.append(rule)
    if bound.by_source:
        rules.append(_ahead(paths.link, bound.by_source))
    return _with_facts(replace(program, rules=tuple(rules)), bound)


def _ahead(link: Atom, magic: str) -> Rule:
    here, there = Variable("S"), Variable("Z")
    args: tuple[Term, ...] = (here, there, *(Wildcard() for _ in link.args[2:]))
    body: tuple[Literal, ...] = (
        Atom(magic, (here,), location=0),
        replace(link, args=args),
    )
    return Rule((Atom(magic, (there,), location=0),), body, name="magic")


def _filtered(rule: Rule, magic: str, column: int) -> Rule:
    """Return a rule that asks first whether the node in a column of its head takes part."""
    node = rule.head.args[column]
    return replace(rule, body=(Atom(magic, (node,), location=0), *rule.body))


def _with_facts(program: Program, bound: Bound) -> Program:
    facts: list[Rule] = []
    stored: list[Materialize] = []
    for name, value in (
        (bound.by_source, bound.source),
        (bound.by_destination, bound.destination),
    ):
        if name:
            stored.append(Materialize(name, None, None, (1,)))
            if value is not None:
                facts.append(Rule((Atom(name, (value,), location=0),)))
    return replace(program, rules=(*program.rules, *facts), tables=(*program.tables, *stored))
