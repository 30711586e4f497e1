"""Predicate reordering: walks are searched from their source instead of their destination.

`#link, path` becomes `path, #link` (Loo, 2006, section 8.1.2, figure 8.2): what was path vector is
then dynamic source routing. Columns keep their meaning, so the answers are the same.
"""

from __future__ import annotations

from dataclasses import replace

from whence.network.rewrite.moved import Moved
from whence.network.rewrite.paths import Column
from whence.network.rewrite.places import fresh, fully_connected, positive, tables
from whence.syntax.nodes import (
    Atom,
    Call,
    Constant,
    Constraint,
    HeadAggregate,
    Literal,
    Materialize,
    Program,
    Rule,
    Term,
    Variable,
    Wildcard,
    variables,
)


def reorder(program: Program, moved: Moved) -> Program:
    """Return the program with the walks searched from their source, and the answers sent back."""
    paths = moved.paths
    rules: list[Rule] = []
    for rule in program.rules:
        if rule is paths.base:
            rules.append(_base(rule, moved))
        elif rule is paths.step:
            rules.append(search_step(rule, moved))
        elif rule in moved.rules:
            rules.append(_at_destination(rule, moved))
        else:
            rules.append(rule)
    back, table = _answer(program, moved, moved.names[moved.asked])
    stored = [_moved_table(one, moved) for one in program.tables]
    kept = [one for one in program.tables if one.relation == moved.asked]
    return replace(program, rules=(*rules, *back), tables=(*stored, *kept, *table))


def _moved_table(table: Materialize, moved: Moved) -> Materialize:
    if table.relation not in moved.names:
        return table
    # Until now all tuples of a table had the same source.
    source = moved.columns[table.relation].source + 1
    keys = tuple(sorted({*table.keys, source})) if table.keys else ()
    return replace(table, relation=moved.names[table.relation], keys=keys)


def _there(atom: Atom, moved: Moved) -> Atom:
    """Return an atom of a relation that moves, as it is at the destination."""
    pair = moved.columns[atom.relation]
    return replace(atom, relation=moved.names[atom.relation], location=pair.destination)


def _at_destination(rule: Rule, moved: Moved) -> Rule:
    body = tuple(_there(item, moved) if isinstance(item, Atom) else item for item in rule.body)
    return replace(rule, heads=(_there(rule.head, moved),), body=body, name=_td(rule))


def _td(rule: Rule) -> str:
    return f"{rule.name}-sd" if rule.name else ""


def _base(rule: Rule, moved: Moved) -> Rule:
    return replace(rule, heads=(_there(rule.head, moved),), name=_td(rule))


def search_step(rule: Rule, moved: Moved) -> Rule:
    """Return the rule that goes one link further from a walk that ended at Z."""
    paths = moved.paths
    link, again = _atoms(rule)
    pair = moved.columns[paths.relation]
    via, end = link.args[1], rule.head.args[pair.destination]
    further = replace(link, args=(via, end, *link.args[2:]))
    before: list[Term] = list(again.args)
    after: list[Term] = list(rule.head.args)
    before[pair.source], before[pair.destination] = rule.head.args[pair.source], via
    checks: list[Literal] = []
    values: list[Literal] = []
    for i, column in enumerate(paths.columns):
        if column.kind == "hop":
            before[i] = after[i] = _named(before[i], rule, f"N{i}")
        elif column.kind in ("path", "fold"):
            after[i] = _named(after[i], rule, f"V{i}")
            values.append(Constraint("=", after[i], _longer(column, before[i], further, end)))
        if column.kind == "path" and paths.simple and not checks:
            never = Call("f_inPath", (before[i], end))
            checks.append(Constraint("=", never, Constant(False, None)))
    limits = [Constraint(op, after[i], limit) for op, i, limit in paths.bounds]
    name = moved.names[paths.relation]
    walk = Atom(name, tuple(before), location=pair.destination)
    head = Atom(name, tuple(after), location=pair.destination)
    body = (walk, further, *checks, *values, *limits)
    return Rule((head,), body, name=_td(rule), span=rule.span)


def _atoms(rule: Rule) -> tuple[Atom, Atom]:
    """Return the link and the walk of the step."""
    one, other = positive(rule.body)
    return (other, one) if one.relation == rule.head.relation else (one, other)


def _named(term: Term, rule: Rule, name: str) -> Variable:
    """Return a variable for a column: that of the rule, or one that the rule does not have."""
    taken = variables(rule.head, *rule.body)
    if isinstance(term, HeadAggregate) and term.target is not None:
        term = term.target
    if isinstance(term, Variable):
        return term
    while name in taken:
        name += "_"
    return Variable(name)


def _longer(column: Column, old: Term, link: Atom, end: Term) -> Term:
    if column.kind == "path":
        return Call("f_concatPath", (old, end))
    more = link.args[column.metric] if isinstance(column.metric, int) else column.metric
    assert more is not None
    return Call(column.functor, (old, more))


def _answer(program: Program, moved: Moved, name: str) -> tuple[list[Rule], list[Materialize]]:
    """Return the rules that bring an answer from the destination to the source."""
    pair = moved.columns[moved.asked]
    rule = next(r for r in moved.rules if r.head.relation == moved.asked)
    args = [_named(arg, rule, f"A{i}") for i, arg in enumerate(rule.head.args)]
    found = Atom(name, tuple(args), location=pair.destination)
    asked = Atom(moved.asked, tuple(args), location=pair.source)
    if fully_connected(program):
        return [Rule((asked,), (found,), name="back")], []
    assert pair.path is not None
    reply = fresh(program, f"{moved.asked}Reply")
    free = Constant(0, None)
    here, there, left, rest = (_named(free, rule, n) for n in ("X", "Y", "R1", "R"))
    way = args[pair.path]
    link = Atom(
        moved.paths.link.relation,
        (here, there, *(Wildcard() for _ in moved.paths.link.args[2:])),
        location=0,
        link=True,
    )
    # The way that is left, from the source to the node where the reply is.
    sent = Atom(reply, (there, *args, rest), location=0)
    got = Atom(reply, (here, *args, left), location=0)
    from_end = replace(link, args=(args[pair.destination], *link.args[1:]))
    rules = [
        Rule((sent,), (found, from_end, *_shorter(rest, way, there)), name="back1"),
        Rule(
            (sent,),
            (got, link, Constraint("!=", here, args[pair.source]), *_shorter(rest, left, there)),
            name="back2",
        ),
        Rule(
            (asked,),
            (Atom(reply, (args[pair.source], *args, rest), location=0),),
            name="back3",
        ),
    ]
    stored = tables(program).get(moved.asked)
    lifetime = None if stored is None else stored.lifetime
    return rules, [Materialize(reply, lifetime, None, ())]


def _shorter(rest: Variable, way: Term, last: Variable) -> tuple[Literal, Literal]:
    return (
        Constraint("=", rest, Call("f_removeLast", (way,))),
        Constraint("=", last, Call("f_last", (rest,))),
    )
