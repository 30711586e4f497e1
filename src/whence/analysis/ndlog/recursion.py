"""Which relations are computed from each other, and by which rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from whence.analysis.ndlog.state import State, positive_atoms, states
from whence.analysis.strata import strata
from whence.syntax.nodes import Atom, Program, Rule


@dataclass(frozen=True, slots=True)
class Recursion:
    """Relations that depend on each other, and the rules that go round."""

    relations: tuple[str, ...]
    rules: tuple[Rule, ...]

    def premises(self, rule: Rule) -> Iterator[Atom]:
        """Yield the predicates of a body that are computed together with its head."""
        return (atom for atom in positive_atoms(rule) if atom.relation in self.relations)


def recursions(program: Program) -> list[Recursion]:
    """Return the recursions of a program; rules that delete derive nothing, so they make none."""
    rules = tuple(rule for rule in program.rules if not rule.delete)
    found: list[Recursion] = []
    for stratum in strata(replace(program, rules=rules)):
        if not stratum.recursive:
            continue
        whole = Recursion(stratum.relations, rules)
        going_round = tuple(
            rule
            for rule in rules
            if rule.head.relation in stratum.relations
            and next(whole.premises(rule), None) is not None
        )
        found.append(replace(whole, rules=going_round))
    return found


def unprompted(program: Program) -> list[Recursion]:
    """Return the recursions that go round by themselves, without an event from outside."""
    known = states(program)
    while True:
        found = recursions(program)
        prompted = {
            id(rule)
            for recursion in found
            for rule in recursion.rules
            for atom in positive_atoms(rule)
            if known[atom.relation] is State.EVENT and atom.relation not in recursion.relations
        }
        if not prompted:
            return found
        program = replace(
            program, rules=tuple(rule for rule in program.rules if id(rule) not in prompted)
        )
