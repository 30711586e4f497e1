"""Soft state that would flicker, and archives that feed other rules: warnings.

Loo 2006, section 5.5.2 and appendix A.3. A tuple stays if it is derived again before it expires: at
each refresh of its premises, or at each event that triggers its rule.
"""

from __future__ import annotations

from whence.analysis.ndlog.state import (
    PERIODIC,
    Classified,
    RuleClass,
    State,
    body_atoms,
    classes,
    positive_atoms,
    states,
)
from whence.diagnostics import Diagnostic
from whence.syntax.nodes import Atom, Constant, Program


def check_lifetimes(program: Program) -> list[Diagnostic]:
    """Warn of heads that expire before they are refreshed, and of archives that are read."""
    known = states(program)
    lifetimes = {t.relation: t.lifetime for t in program.tables if t.lifetime}
    read = {atom.relation: rule for rule in reversed(program.rules) for atom in body_atoms(rule)}
    found: list[Diagnostic] = []
    told: set[str] = set()
    for rule in classes(program):
        head = rule.rule.head.relation
        if rule.rule.delete:
            continue
        if known[head] is State.SOFT:
            found += _flicker(rule, lifetimes, known)
        elif rule.kind is RuleClass.ARCHIVAL and head in read and head not in told:
            told.add(head)
            found.append(_archive(rule, read[head].name or f"line {read[head].span.line}"))
    return found


def _flicker(
    found: Classified, lifetimes: dict[str, float], known: dict[str, State]
) -> list[Diagnostic]:
    rule = found.rule
    own = lifetimes[rule.head.relation]
    if found.event is not None:
        period = _period(found.event)
        if period is None or own >= period:
            return []
        return [_expires(found, own, f"the rule fires every {period:g} s")]
    if found.kind is RuleClass.DERIVED:
        return [_expires(found, own, "nothing refreshes what it is derived from")]
    longest = max(
        (a for a in positive_atoms(rule) if known[a.relation] is State.SOFT),
        key=lambda a: lifetimes[a.relation],
        default=None,
    )
    if longest is None or own >= lifetimes[longest.relation]:
        return []
    why = f"`{longest.relation}` may go unrefreshed for {lifetimes[longest.relation]:g} s"
    return [_expires(found, own, why)]


def _period(event: Atom) -> float | None:
    """Return how often a timer fires for ever."""
    if event.relation != PERIODIC or len(event.args) != 3:
        return None
    period = event.args[2]
    return float(period.value) if isinstance(period, Constant) else None


def _expires(found: Classified, lifetime: float, why: str) -> Diagnostic:
    head = found.rule.head
    return Diagnostic(
        "W1332",
        f"tuples of `{head.relation}` expire after {lifetime:g} s and may come and go",
        head.span,
        why,
        hint=f"give `{head.relation}` a longer lifetime, or derive it more often",
        severity="warning",
    )


def _archive(found: Classified, reader: str) -> Diagnostic:
    head = found.rule.head
    return Diagnostic(
        "W1333",
        f"`{head.relation}` keeps what this rule derived even when its premises are gone",
        head.span,
        f"and `{reader}` reads it" if not reader.startswith("line") else f"and {reader} reads it",
        hint="if that is not meant, delete its tuples by a rule, or let them expire",
        severity="warning",
    )
