"""Recursion that computes ever new values, and recursion through aggregates and negation.

A rule whose head has a value computed from a recursive premise goes on for ever on a cycle, unless
something stops it: a bound, a check that a node is not on the path yet, a list that gets shorter,
or a relation that knows all values. Loo 2006, sections 2.2.2 and 3.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from whence.analysis.ndlog.growth import (
    Growth,
    definitions,
    depends_on,
    growth,
    is_computed,
)
from whence.analysis.ndlog.recursion import Recursion, recursions, unprompted
from whence.analysis.ndlog.state import aggregates, body_atoms, hard_part, positive_atoms
from whence.diagnostics import Diagnostic
from whence.syntax.nodes import (
    Atom,
    Call,
    Constant,
    Constraint,
    HeadAggregate,
    InInterval,
    Literal,
    Program,
    Rule,
    Term,
    Variable,
    variables,
)


def check_termination(program: Program) -> list[Diagnostic]:
    """Report recursive rules that nothing stops, and recursion through what must be complete."""
    found: list[Diagnostic] = []
    for recursion in unprompted(program):
        for rule in recursion.rules:
            found += _rule(rule, recursion, program)
    return found + _incomplete(program)


def _rule(rule: Rule, recursion: Recursion, program: Program) -> list[Diagnostic]:
    defined = definitions(rule)
    names = {name for premise in recursion.premises(rule) for name in variables(*premise.args)}
    new = [
        arg
        for column, arg in enumerate(rule.head.args)
        if is_computed(arg, names, defined) and not _shrinks(rule, recursion, column)
    ]
    if not new or any(_stops(literal, rule, recursion) for literal in rule.body):
        return []
    relation = rule.head.relation
    hint = "check for cycles, as in `f_inPath(P, S) = false`, or set a bound, as in `C < 100`"
    if _feeds_itself(rule):
        message = f"`{relation}` makes a new tuple from each of its tuples, without end"
        return [Diagnostic("W1330", message, new[-1].span, "computed", hint=hint)]
    best = next(_selections(program, recursion), None)
    name = "" if best is None else best.head.relation
    note = f"`{name}` asks only for the best ones: following those may end it"
    return [
        Diagnostic(
            "W1331",
            f"`{relation}` computes ever new values where its premises form a cycle",
            new[-1].span,
            "computed",
            notes=(note,) if best is not None else (),
            hint=hint,
            severity="warning",
        )
    ]


def _feeds_itself(rule: Rule) -> bool:
    """Say whether a rule reads nothing but what it derives, and asks nothing of it."""
    return all(
        (isinstance(literal, Atom) and literal.relation == rule.head.relation)
        or (isinstance(literal, Constraint) and literal.op == "=")
        for literal in rule.body
    )


def _shrinks(rule: Rule, recursion: Recursion, column: int) -> bool:
    """Say whether a column of the head is a list that only gets shorter."""
    defined = definitions(rule)
    found = [
        growth(rule.head.args[column], name, defined)
        for premise in recursion.premises(rule)
        for name in variables(*premise.args)
    ]
    return Growth.SHORTER in found


def _stops(literal: Literal, rule: Rule, recursion: Recursion) -> bool:
    """Say whether a literal keeps what is computed within bounds."""
    defined = definitions(rule)
    names = {name for premise in recursion.premises(rule) for name in variables(*premise.args)}
    match literal:
        case Constraint(left=left, right=right) if _is_absence(literal.op, left, right):
            return True
        case Constraint(op="<" | "<=" | ">" | ">=", left=left, right=right):
            sides = [depends_on(side, names, defined) for side in (left, right)]
            return sides[0] != sides[1]
        case InInterval(item=item):
            return depends_on(item, names, defined)
        case _:
            pass
    premises = set(map(id, recursion.premises(rule)))
    computed = {n for n, term in defined.items() if is_computed(term, names, defined)}
    return any(
        id(atom) not in premises
        and computed & {arg.name for arg in atom.args if isinstance(arg, Variable)}
        for atom in positive_atoms(replace(rule, body=(literal,)))
    )


def _is_absence(op: str, left: Term, right: Term) -> bool:
    """Say whether a comparison is `f_inPath(P, X) = false`, or says the same otherwise."""
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Call) and side.functor in ("f_inPath", "f_member"):
            return isinstance(other, Constant) and other.value is (op != "=")
    return False


def _selections(program: Program, recursion: Recursion) -> Iterator[Rule]:
    """Yield the rules that take the least or greatest of a relation of the recursion."""
    for rule in program.rules:
        best = any(
            isinstance(arg, HeadAggregate) and arg.function in ("min", "max")
            for arg in rule.head.args
        )
        if best and any(a.relation in recursion.relations for a in positive_atoms(rule)):
            yield rule


def _incomplete(program: Program) -> list[Diagnostic]:
    """Report hard state that depends on its own negation or aggregate."""
    found: list[Diagnostic] = []
    for recursion in recursions(replace(program, rules=hard_part(program))):
        here = [r for r in hard_part(program) if r.head.relation in recursion.relations]
        for rule in here:
            positive = set(map(id, positive_atoms(rule)))
            for atom in body_atoms(rule):
                if atom.relation not in recursion.relations:
                    continue
                if id(atom) not in positive:
                    found.append(_through(rule, atom, "its own negation", "error"))
                elif aggregates(rule):
                    best = all(
                        arg.function in ("min", "max")
                        for arg in rule.head.args
                        if isinstance(arg, HeadAggregate)
                    )
                    severity = "warning" if best else "error"
                    found.append(_through(rule, atom, "an aggregate of itself", severity))
    return found


def _through(rule: Rule, atom: object, way: str, severity: str) -> Diagnostic:
    name = rule.head.relation
    code = "W1328" if severity == "error" else "W1329"
    return Diagnostic(
        code,
        f"`{name}` depends on {way}",
        atom.span,  # type: ignore[attr-defined]
        "read here",
        hint="let an event lead back, such as a message every few seconds",
        severity=severity,  # type: ignore[arg-type]
    )
