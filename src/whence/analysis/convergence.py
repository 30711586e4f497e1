"""Whether annotations of a recursive program come to an end, as far as rules and laws can tell.

By its laws a semiring may end on every program. Where it does not, derivations must be finite:
rules may make sure of that, or of the contrary; else the facts decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from math import prod
from typing import Any, Final

from whence.analysis.strata import components, strata
from whence.diagnostics import Diagnostic, Span
from whence.semiring.base import Law, Semiring, converges
from whence.syntax.nodes import Atom, Call, Constant, Constraint, Program, Rule, Term, Variable

MAX_CHOICES: Final = 256
"""Choices of a column for each relation that are tried to show that a recursion makes progress."""

_SMALL: Final = 1 << 31
"""Steps up to this wrap round only after more facts than there can be."""

_INSTEAD: Final = {
    "counting": "`counting-inf` counts them as ∞, and `why` has one witness for all that use "
    "the same facts",
    "how": "witnesses are finite: ask for them, or in the semiring `minwhy` or `absorption`",
}


def instead_of(semiring: Semiring[Any]) -> str:
    """Return what would work where derivations are infinite."""
    otherwise = "use a semiring that is stable, such as `why`, or facts without a cycle"
    return _INSTEAD.get(semiring.name, otherwise)


class Outlook(Enum):
    """What is known before facts are."""

    LAW = "the laws of the semiring promise an end"
    PROGRESS = "each fact is derived from facts that come before it"
    FACTS = "it ends unless some fact is derived from itself, which is looked for first"
    NEVER = "every fact is derived from itself again"


@dataclass(frozen=True, slots=True)
class Recursion:
    """A recursive stratum, and whether annotating it ends."""

    relations: tuple[str, ...]
    outlook: Outlook
    reason: str
    rule: Rule | None = None
    """The rule that decides it, where there is one."""


def recursions(program: Program, semiring: Semiring[Any]) -> tuple[Recursion, ...]:
    """Return the recursive strata of a normalised program, with the outlook of each."""
    found = []
    for stratum in strata(program):
        if stratum.recursive:
            names = stratum.relations
            rules = [rule for rule in program.rules if rule.head.relation in names]
            found.append(_outlook(names, rules, semiring))
    return tuple(found)


def check_convergence(program: Program, semiring: Semiring[Any]) -> list[Diagnostic]:
    """Report each recursion that would go on for ever as soon as it has a fact."""
    return [
        Diagnostic(
            "W0930",
            f"`{semiring.name}` cannot annotate `{recursion.relations[0]}`: {recursion.reason}",
            recursion.rule.span if recursion.rule is not None else Span(),
            "derives each fact from itself",
            hint=f"leave the rule out, or choose another semiring: {instead_of(semiring)}",
        )
        for recursion in recursions(program, semiring)
        if recursion.outlook is Outlook.NEVER
    ]


def _outlook(names: tuple[str, ...], rules: Sequence[Rule], semiring: Semiring[Any]) -> Recursion:
    if converges(semiring):
        return Recursion(names, Outlook.LAW, _law(semiring))
    circle = _circle(names, rules)
    if circle is not None:
        reason = "its derivations go round for ever"
        return Recursion(names, Outlook.NEVER, reason, circle)
    column = _progress(names, rules)
    if column is not None:
        return Recursion(names, Outlook.PROGRESS, column)
    return Recursion(names, Outlook.FACTS, "no column shows progress in each of its rules")


def _law(semiring: Semiring[Any]) -> str:
    if semiring.laws & Law.ABSORPTIVE:
        return "absorptive: going round a cycle adds nothing"
    if semiring.laws & Law.STABLE:
        return "stable: going round a cycle adds nothing after some rounds"
    return "what goes round a cycle is infinite"


# ── circles ──


def _circle(names: Sequence[str], rules: Sequence[Rule]) -> Rule | None:
    """Return a rule that takes each fact it derives from to itself, alone or with others."""
    copies: dict[str, dict[str, Rule]] = {name: {} for name in names}
    for rule in rules:
        if any(rule.head == literal for literal in rule.body):
            return rule
        for atom in rule.body if len(rule.body) == 1 else ():
            if isinstance(atom, Atom) and atom.relation in copies and _permutes(rule.head, atom):
                copies[rule.head.relation].setdefault(atom.relation, rule)
    for component in components(copies):
        for name in component:
            for source, rule in copies[name].items():
                if source in component:
                    return rule
    return None


def _permutes(head: Atom, atom: Atom) -> bool:
    """Say whether both have the same variables, each once: then each fact gives one, and back."""
    ours = [arg.name for arg in head.args if isinstance(arg, Variable)]
    theirs = [arg.name for arg in atom.args if isinstance(arg, Variable)]
    every = len(ours) == len(head.args) and len(theirs) == len(atom.args)
    return every and len(set(ours)) == len(ours) and sorted(ours) == sorted(theirs)


# ── progress ──


def _progress(names: Sequence[str], rules: Sequence[Rule]) -> str | None:
    """Return how each recursive rule leads to later facts, if one column of each shows it.

    No fact is then derived from itself: along a derivation the column only grows, or only shrinks.
    """
    pairs = [
        (rule, atom)
        for rule in rules
        for atom in rule.body
        if isinstance(atom, Atom) and atom.relation in names
    ]
    arities = {rule.head.relation: len(rule.head.args) for rule in rules}
    if prod(arities.get(name, 0) for name in names) > MAX_CHOICES:
        return None
    for choice in product(*(range(arities.get(name, 0)) for name in names)):
        column = dict(zip(names, choice, strict=True))
        for word, sign in (("grows", 1), ("shrinks", -1)):
            if all(_leads_on(rule, atom, column, sign) for rule, atom in pairs):
                places = ", ".join(f"column {at + 1} of `{name}`" for name, at in column.items())
                return f"{places} {word} with every step"
    return None


def _leads_on(rule: Rule, atom: Atom, column: Mapping[str, int], sign: int) -> bool:
    """Say whether the head's column is surely beyond the premise's."""
    source = atom.args[column[atom.relation]]
    target = rule.head.args[column[rule.head.relation]]
    if not isinstance(source, Variable):
        return False
    return any(
        (lesser, greater) == ((source, target) if sign > 0 else (target, source))
        for lesser, greater in _ordered(rule, target)
    )


def _ordered(rule: Rule, target: Term) -> Iterator[tuple[Term, Term]]:
    """Yield pairs of terms of which the first is less than the second where the body holds."""
    terms: list[tuple[Term, Term]] = [(target, target)]
    for literal in rule.body:
        match literal:
            case Constraint(op="<", left=left, right=right):
                yield left, right
            case Constraint(op=">", left=left, right=right):
                yield right, left
            case Constraint(op="=", left=left, right=right):
                terms += [(left, right), (right, left)]
    for name, term in terms:
        match term:
            case (
                Call(functor="+", args=(other, Constant(value=int(step))))
                | Call(functor="+", args=(Constant(value=int(step)), other))
            ) if 0 < abs(step) < _SMALL:
                yield (other, name) if step > 0 else (name, other)
            case Call(functor="-", args=(other, Constant(value=int(step)))) if (
                0 < abs(step) < _SMALL
            ):
                yield (name, other) if step > 0 else (other, name)
