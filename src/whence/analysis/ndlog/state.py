"""Hard state, soft state and events; and the classes of rules by what they read and derive.

Loo 2006, definitions 2.6 to 2.15.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from whence.syntax.nodes import Atom, HeadAggregate, Negation, Program, Rule, walk

PERIODIC: Final = "periodic"
"""The built-in event: `periodic(@X, E, T, K)` happens every T seconds, K times."""


class State(Enum):
    """How long the tuples of a relation stay."""

    HARD = "hard state"
    SOFT = "soft state"
    EVENT = "event"


class RuleClass(Enum):
    """What a rule does with hard and soft state."""

    HARD = "hard-state"
    PURE = "pure soft-state"
    DERIVED = "derived soft-state"
    ARCHIVAL = "archival soft-state"


@dataclass(frozen=True, slots=True)
class Classified:
    """The class of a rule; `event` is the predicate that triggers an event rule."""

    rule: Rule
    kind: RuleClass
    event: Atom | None

    def __str__(self) -> str:
        return f"{self.kind.value} rule" + (", triggered by an event" if self.event else "")


def relations(program: Program) -> tuple[str, ...]:
    """Return the relations of a program, declared ones first."""
    found = dict.fromkeys(table.relation for table in program.tables)
    for rule in program.rules:
        found.update((atom.relation, None) for atom in atoms(rule))
    return tuple(found)


def states(program: Program) -> dict[str, State]:
    """Return the state of each relation; one that is not declared is an event."""
    found = dict.fromkeys(relations(program), State.EVENT)
    for table in program.tables:
        if table.lifetime is None:
            found[table.relation] = State.HARD
        elif table.lifetime > 0:
            found[table.relation] = State.SOFT
    return found


def atoms(rule: Rule) -> Iterator[Atom]:
    """Yield the predicates of a rule, heads first, also negated ones."""
    for part in (*rule.heads, *rule.body):
        for node in walk(part):
            if isinstance(node, Atom):
                yield node


def body_atoms(rule: Rule) -> Iterator[Atom]:
    """Yield the predicates of a rule's body, also negated ones."""
    for part in rule.body:
        for node in walk(part):
            if isinstance(node, Atom):
                yield node


def positive_atoms(rule: Rule) -> Iterator[Atom]:
    """Yield the predicates of a rule's body that stand under no negation."""
    pending = list(reversed(rule.body))
    while pending:
        literal = pending.pop()
        if isinstance(literal, Atom):
            yield literal
        elif not isinstance(literal, Negation):
            inner = getattr(literal, "items", ())
            pending.extend(reversed(inner))


def aggregates(rule: Rule) -> bool:
    """Say whether a rule has an aggregate in its head."""
    return any(isinstance(arg, HeadAggregate) for head in rule.heads for arg in head.args)


def classify(rule: Rule, known: Mapping[str, State]) -> Classified:
    """Return the class of a rule."""
    body = list(body_atoms(rule))
    soft_head = any(known.get(head.relation) is not State.HARD for head in rule.heads)
    soft_body = any(known.get(atom.relation) is not State.HARD for atom in body)
    events = [a for a in positive_atoms(rule) if known.get(a.relation) is State.EVENT]
    if soft_head:
        kind = RuleClass.PURE if soft_body else RuleClass.DERIVED
    else:
        kind = RuleClass.ARCHIVAL if soft_body else RuleClass.HARD
    return Classified(rule, kind, events[0] if events else None)


def classes(program: Program) -> list[Classified]:
    """Return the class of each rule with a body, in the order of the text."""
    known = states(program)
    return [classify(rule, known) for rule in program.rules if rule.body]


def hard_part(program: Program) -> tuple[Rule, ...]:
    """Return the rules that define relations: facts of hard state, and hard-state rules.

    A rule that deletes says what happens, not what holds; so it is none of them.
    """
    known = states(program)
    return tuple(
        rule
        for rule in program.rules
        if not rule.delete and classify(rule, known).kind is RuleClass.HARD
    )
