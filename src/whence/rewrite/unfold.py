"""Put the body of a relation with one rule where the relation is read, if that is once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from whence.rewrite.dependencies import recursion
from whence.rewrite.simplify import simplify_rule
from whence.rewrite.terms import Names, is_deterministic, names, rule_names, substitute
from whence.syntax.nodes import (
    Atom,
    Constant,
    Constraint,
    Literal,
    Negation,
    Nil,
    Program,
    Rule,
    Term,
    Variable,
    Wildcard,
    walk,
)

MAX_ATOMS = 8
"""Atoms of an unfolded body; longer joins are better kept in steps."""


def unfold(program: Program, roots: Collection[str], inputs: Collection[str] = ()) -> Program:
    """Leave out relations that only pass on what one rule joins.

    The rule must not project, or its relation would have removed duplicates; and a join stays
    where a recursive rule would otherwise repeat it.

    >>> from whence.syntax.souffle import parse
    >>> print(unfold(parse("a(x) :- b(x, 1). b(y, z) :- c(y, z), y < z."), roots=["a"]))
    a(x) :- c(x, 1), x < 1.
    """
    rules: dict[str, list[int]] = {}
    for number, rule in enumerate(program.rules):
        rules.setdefault(rule.head.relation, []).append(number)
    readers = _single_readers(program)
    recursive = recursion(program)
    fixed = {*roots, *inputs, *recursive, *(s.dominated.relation for s in program.subsumptions)}
    fixed.update(d.relation for d in program.directives if d.action == "input")
    current: list[Rule | None] = list(program.rules)
    gone: set[str] = set()
    for name, reader in readers.items():
        if name in fixed or len(rules.get(name, ())) != 1:
            continue
        inner, outer = current[rules[name][0]], current[reader]
        if inner is None or outer is None or not _passes_on(inner):
            continue
        atoms = _atom_count(inner.body)
        if atoms > 1 and outer.head.relation in recursive:
            continue
        if outer.orders or atoms + _atom_count(outer.body) - 1 > MAX_ATOMS:
            continue
        current[reader] = simplify_rule(_unfolded(outer, inner))
        current[rules[name][0]] = None
        gone.add(name)
    if not gone:
        return program
    return replace(
        program,
        relations=tuple(d for d in program.relations if d.name not in gone),
        rules=tuple(rule for rule in current if rule is not None),
        directives=tuple(d for d in program.directives if d.relation not in gone),
    )


def _single_readers(program: Program) -> dict[str, int]:
    """Return the relations that one positive literal of one rule reads, with that rule."""
    found: dict[str, int] = {}
    again: set[str] = set()
    for number, rule in enumerate(program.rules):
        for literal in rule.body:
            if isinstance(literal, Atom):
                if literal.relation in found:
                    again.add(literal.relation)
                found[literal.relation] = number
            else:
                again.update(n.relation for n in walk(literal) if isinstance(n, Atom))
    for subsumption in program.subsumptions:
        for literal in subsumption.body:
            again.update(n.relation for n in walk(literal) if isinstance(n, Atom))
    return {name: number for name, number in found.items() if name not in again}


def _atom_count(body: Iterable[Literal]) -> int:
    return sum(isinstance(literal, Atom) for literal in body)


def _passes_on(rule: Rule) -> bool:
    """Say whether each match of the body is a fact of its own, and always the same one."""
    head = rule.head.args
    if rule.orders or not all(isinstance(arg, Variable | Constant | Nil) for arg in head):
        return False
    if not names(*rule.body).keys() <= names(*head).keys():
        return False
    return is_deterministic(*rule.body) and not any(
        isinstance(node, Wildcard)
        for literal in rule.body
        if not isinstance(literal, Negation)
        for node in walk(literal)
    )


def _unfolded(outer: Rule, inner: Rule) -> Rule:
    supply = Names(rule_names(outer), rule_names(outer))
    body: list[Literal] = []
    for literal in outer.body:
        if not isinstance(literal, Atom) or literal.relation != inner.head.relation:
            body.append(literal)
            continue
        by: dict[str, Term] = {}
        equations: list[Literal] = []
        for arg, param in zip(literal.args, inner.head.args, strict=True):
            if isinstance(arg, Wildcard):
                continue
            if isinstance(param, Variable) and param.name not in by:
                by[param.name] = arg
            elif isinstance(param, Variable):
                equations.append(Constraint("=", arg, by[param.name], span=literal.span))
            else:
                equations.append(Constraint("=", arg, param, span=literal.span))
        for name in rule_names(inner):
            if name not in by:
                by[name] = Variable(supply.claim(name))
        body.extend(substitute(other, by) for other in inner.body)
        body.extend(equations)
    return Rule(outer.heads, tuple(body), span=outer.span)
