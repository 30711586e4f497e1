"""Subsumption that keeps the best value per key, as an aggregate over all rows.

`sp(x, y, d1) <= sp(x, y, d2) :- d2 <= d1` drops rows, and what is dropped cannot come back when the
best goes. A view derives all rows into `@all:sp` instead, and `sp` are those with the least value.
That is the same where the recursion is monotone; then aggregate selection also keeps it from
following more than the best.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whence.analysis.strata import strata
from whence.plan.keyed import recognise_keyed
from whence.plan.nodes import Keyed
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constraint,
    Kind,
    Literal,
    Program,
    Rule,
    Term,
    Variable,
)

ALL = "@all:"


def best_per_key(program: Program) -> dict[str, Keyed]:
    """Return the relations of which subsumption keeps one row per key, the best.

    Not those with columns beside key and value: which of equally good rows stays depends on the
    order. Nor those with floats: a NaN neither dominates nor is dominated.
    """
    found: dict[str, Keyed] = {}
    seen: set[str] = set()
    arity = {decl.name: decl.arity for decl in program.relations}
    for subsumption in program.subsumptions:
        name = subsumption.dominated.relation
        keyed = recognise_keyed(subsumption)
        if name in seen:
            found.pop(name, None)
        elif (
            keyed is not None and len(keyed.key) + 1 == arity[name] and keyed.kind is not Kind.FLOAT
        ):
            found[name] = keyed
        seen.add(name)
    return found


def keep_all_rows(program: Program, keyed: Mapping[str, Keyed]) -> Program:
    """Return the program with an aggregate in place of each of these subsumptions."""
    if not keyed:
        return program
    component = {name: number for number, s in enumerate(strata(program)) for name in s.relations}

    def inner(literal: Literal, head: str) -> Literal:
        """Let rules of the same recursion read all rows."""
        if (
            isinstance(literal, Atom)
            and literal.relation in keyed
            and component[literal.relation] == component[head]
        ):
            return replace(literal, relation=ALL + literal.relation)
        return literal

    rules = []
    for rule in program.rules:
        head = rule.head
        name = ALL + head.relation if head.relation in keyed else head.relation
        body = tuple(inner(literal, head.relation) for literal in rule.body)
        rules.append(replace(rule, heads=(replace(head, relation=name),), body=body))
    declared = []
    for decl in program.relations:
        if decl.name in keyed:
            declared.append(replace(decl, name=ALL + decl.name))
            rules.append(_best(decl.name, decl.arity, keyed[decl.name]))
    return replace(
        program,
        relations=(*program.relations, *declared),
        rules=tuple(rules),
        subsumptions=tuple(s for s in program.subsumptions if s.dominated.relation not in keyed),
    )


def _best(name: str, arity: int, keyed: Keyed) -> Rule:
    columns: list[Term] = [Variable(f"c{i}") for i in range(arity)]
    inside = list(columns)
    inside[keyed.value] = other = Variable("@value")
    function = "max" if keyed.greatest else "min"
    aggregate = Aggregate(function, other, (Atom(ALL + name, tuple(inside)),), keyed.kind)
    test = Constraint("=", columns[keyed.value], aggregate, keyed.kind)
    # The value is bound by the atom, so the aggregate is compared with it.
    fresh = Variable("@best")
    same = Constraint("=", columns[keyed.value], fresh, keyed.kind)
    body = (Atom(ALL + name, tuple(columns)), replace(test, left=fresh), same)
    return Rule((Atom(name, tuple(columns)),), body)
