"""What a goal asks, and which relations may be restricted to it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from whence.rewrite.column_types import Schema
from whence.rewrite.dependencies import INDIRECT, reachable, reads_of
from whence.rewrite.terms import Names, is_deterministic, rule_names, term_kind
from whence.syntax.nodes import (
    Atom,
    Constant,
    Constraint,
    Kind,
    Literal,
    Nil,
    Program,
    Rule,
    Term,
    Variable,
    Wildcard,
    walk,
)


def seed_of(program: Program, goal: Atom | None) -> Atom | None:
    """Return the goal with constants of the right kinds, unless it has none."""
    if goal is None or not any(isinstance(arg, Constant) for arg in goal.args):
        return None
    schema = Schema(program)
    args: list[Term] = []
    attributes = (
        schema.relations[goal.relation].attributes if goal.relation in schema.relations else ()
    )
    for position, arg in enumerate(goal.args):
        if isinstance(arg, Constant) and arg.kind is None and position < len(attributes):
            kind = schema.kind_of(attributes[position].type)
            value = float(arg.value) if kind is Kind.FLOAT else arg.value
            arg = Constant(value, kind, span=arg.span)
        args.append(arg if isinstance(arg, Constant) else Wildcard(span=arg.span))
    return Atom(goal.relation, tuple(args), span=goal.span)


def requested_relations(program: Program, *, everything: bool) -> set[str]:
    """Return the relations with rules that are to be restricted."""
    derived = {rule.head.relation for rule in program.rules if rule.body}
    named = {
        name for p in program.pragmas if p.key == "magic-transform" for name in _listed(p.value)
    }
    if everything or "*" in named:
        return derived
    named.update(decl.name for decl in program.relations if "magic" in decl.qualifiers)
    return derived & named


def _listed(value: str) -> list[str]:
    return [name.strip() for name in value.split(",")]


def computed_in_full(program: Program, inputs: Collection[str]) -> set[str]:
    """Return the relations that must not be restricted, and all that they are computed from."""
    seeds = {name for reads in reads_of(program, INDIRECT).values() for name in reads}
    seeds.update(s.dominated.relation for s in program.subsumptions)
    seeds.update(inputs)
    seeds.update(d.relation for d in program.directives if d.action == "input")
    seeds.update(d.name for d in program.relations if "no_magic" in d.qualifiers)
    for pragma in program.pragmas:
        if pragma.key == "magic-transform-exclude":
            seeds.update(_listed(pragma.value))
    seeds.update(
        rule.head.relation
        for rule in program.rules
        if rule.body and not is_deterministic(rule.head, *rule.body)
    )
    return reachable(reads_of(program), seeds)


def facts_apart(name: str, facts: list[Rule], rules: list[Rule]) -> tuple[list[Rule], list[Rule]]:
    """Return the facts under another name, and the rules with one more that reads them.

    So a question is put once to all the facts, not to each of them.
    """
    moved = [replace(fact, heads=(Atom(name, fact.head.args),)) for fact in facts]
    first = facts[0].head
    args = tuple(Variable(f"_{place}") for place in range(len(first.args)))
    reader = Rule((Atom(first.relation, args),), (Atom(name, args),), span=facts[0].span)
    return moved, [reader, *rules]


def makes_values(literal: Literal) -> bool:
    """Say whether the literal makes new values.

    Asking for values computed from what was asked could go on for ever, as from x for x + 1,
    unless an atom of the body has them among its own.
    """
    return any(
        not isinstance(node, Variable | Constant | Nil | Constraint) for node in walk(literal)
    )


def guard(rule: Rule, adornment: str, relation: str) -> tuple[Atom, tuple[Literal, ...]]:
    """Return the atom over `relation` of the known arguments of a head, and equations for terms."""
    supply = Names(rule_names(rule))
    args: list[Term] = []
    equations: list[Literal] = []
    for arg, known in zip(rule.head.args, adornment, strict=True):
        if known == "f":
            continue
        if not isinstance(arg, Variable | Constant | Nil):
            variable = Variable(supply.fresh(), span=arg.span)
            equations.append(Constraint("=", variable, arg, term_kind(arg), span=arg.span))
            arg = variable
        args.append(arg)
    question = Atom(relation, tuple(args), span=rule.head.span)
    return question, tuple(equations)
