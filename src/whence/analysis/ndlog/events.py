"""Events: at most one triggers a rule, `periodic` says when, and nothing of them is kept.

Loo 2006, definitions 2.8, 2.9 and 2.15.
"""

from __future__ import annotations

from whence.analysis.ndlog.state import PERIODIC, State, body_atoms, positive_atoms, states
from whence.diagnostics import Diagnostic
from whence.syntax.nodes import Atom, Constant, Program, Rule, Variable, Wildcard


def check_events(program: Program) -> list[Diagnostic]:
    """Report bodies with two events, timers that say no time, and events taken for tables."""
    found: list[Diagnostic] = []
    known = states(program)
    for table in program.tables:
        if table.relation == PERIODIC:
            found.append(_built_in(table.span))
    for rule in program.rules:
        if rule.head.relation == PERIODIC:
            found.append(_built_in(rule.head.span))
        events = [a for a in positive_atoms(rule) if known.get(a.relation) is State.EVENT]
        if len(events) > 1:
            found.append(_two(events))
        positive = set(map(id, positive_atoms(rule)))
        for atom in body_atoms(rule):
            if id(atom) not in positive and known.get(atom.relation) is State.EVENT:
                found.append(_negated(atom))
            if atom.relation == PERIODIC:
                found += _periodic(atom)
        if rule.delete and known.get(rule.head.relation) is State.EVENT:
            found.append(_deleted(rule))
    return found


def _two(events: list[Atom]) -> Diagnostic:
    first, second, *_ = events
    return Diagnostic(
        "W1319",
        f"`{first.relation}` and `{second.relation}` are both events",
        second.span,
        "another event",
        notes=(
            "what is not declared as a table is an event",
            "two events never happen at once, so the rule would derive nothing",
        ),
        hint=f"keep the tuples of one: `materialize({second.relation}, infinity, infinity, "
        "keys()).`",
    )


def _negated(atom: Atom) -> Diagnostic:
    return Diagnostic(
        "W1319",
        f"`{atom.relation}` is an event, of which nothing is kept",
        atom.span,
        "negated",
        hint=f"declare a table: `materialize({atom.relation}, infinity, infinity, keys()).`",
    )


def _deleted(rule: Rule) -> Diagnostic:
    relation = rule.head.relation
    return Diagnostic(
        "W1326",
        f"`{relation}` is an event, so there is nothing to delete",
        rule.head.span,
        hint=f"declare the table whose tuples are to go: `materialize({relation}, …).`",
    )


def _built_in(span: object) -> Diagnostic:
    return Diagnostic(
        "W1325",
        "`periodic` is built in",
        span,  # type: ignore[arg-type]
        hint="use it in bodies: `periodic(@X, E, 5)` happens every 5 seconds",
    )


def _periodic(atom: Atom) -> list[Diagnostic]:
    wrong = _wrong(atom)
    if not wrong:
        return []
    return [
        Diagnostic(
            "W1324",
            f"`periodic` {wrong}",
            atom.span,
            hint="`periodic(@X, E, 5)` is every 5 seconds, `periodic(@X, E, 0, 1)` once at once",
        )
    ]


def _wrong(atom: Atom) -> str:
    if len(atom.args) not in (3, 4):
        return f"has {len(atom.args)} arguments"
    if atom.location != 0:
        return "needs its location in the first column"
    event, period, *times = atom.args[1:]
    if not isinstance(event, Variable | Wildcard):
        return "needs a variable for the identifier of the event in the second column"
    if not isinstance(period, Constant) or type(period.value) not in (int, float):
        return "needs a number of seconds in the third column"
    if times and not (
        isinstance(times[0], Constant) and type(times[0].value) is int and times[0].value > 0
    ):
        return "needs a number of times in the fourth column"
    if period.value < 0 or (period.value == 0 and not times):  # type: ignore[operator]
        return "would happen without end at once"
    return ""
