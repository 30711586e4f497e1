"""Semi-naive strands: one delta rule for each way in which a change can set off a localized rule.

Loo (2006), figure 5.4. This is the plan that people read; nodes compile the same rules themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whence.network.rewrite.places import Place, negated_atom, place, positive, tables
from whence.syntax.ndlog_printer import print_ndlog_literal
from whence.syntax.nodes import Atom, Constant, Literal, Program, Rule, Variable


@dataclass(frozen=True, slots=True)
class Strand:
    """A rule, and which literal of its body sets it off; `event` if that is never stored."""

    name: str
    rule: Rule
    trigger: int
    event: bool
    at: Place

    def __str__(self) -> str:
        rest = [self._joined(i, item) for i, item in enumerate(self.rule.body) if i != self.trigger]
        changed = self.rule.body[self.trigger]
        atom = negated_atom(changed)
        mark = "" if self.event else "Δ"
        first = f"{mark}{print_ndlog_literal(changed if atom is None else atom)}"
        gone = "delete " if self.rule.delete else ""
        body = ", ".join((first, *rest))
        return f"{self.name} {gone}{print_ndlog_literal(self.rule.head)} :- {body}."

    def _joined(self, i: int, item: Literal) -> str:
        """Atoms before the changed one are joined as they were, later ones as they are by now."""
        old = isinstance(item, Atom) and i < self.trigger and not self.event
        return f"old {print_ndlog_literal(item)}" if old else print_ndlog_literal(item)


def strands(program: Program) -> Iterator[Strand]:
    """Yield the strands of a localized program, in its order.

    A rule with an event is set off by it alone; another by each of its atoms, also those it denies.
    """
    stored = tables(program)
    for number, rule in enumerate(program.rules):
        if not rule.body:
            continue
        name = rule.name or f"r{number + 1}"
        here = next((place(atom) for atom in positive(rule.body)), None)
        at = _where(here)
        events = [
            i
            for i, item in enumerate(rule.body)
            if isinstance(item, Atom) and item.relation not in stored
        ]
        if events:
            yield Strand(f"{name}{at}", rule, events[0], True, here)
            continue
        triggers = [
            i
            for i, item in enumerate(rule.body)
            if isinstance(item, Atom) or negated_atom(item) is not None
        ]
        for count, i in enumerate(triggers, 1):
            suffix = f"-{count}" if len(triggers) > 1 else ""
            yield Strand(f"{name}{suffix}{at}", rule, i, False, here)


def _where(here: Place) -> str:
    match here:
        case Variable(name=name):
            return f"@{name}"
        case Constant(value=value):
            return f"@{value}"
        case _:
            return ""
