"""Recursions that are searches, taken apart: their steps and seeds are relations of their own.

`path(x, z, a + w) :- path(x, y, a), edge(y, z, w)` becomes a rule for `@step:path(y, z, w)`, and
the other rules of `path` become rules for `@seed:path`. Those are maintained as any relation is,
and their changes are what repairs the searches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from whence.plan.build import build_plan
from whence.plan.nodes import Combine, Search
from whence.plan.search import SEED, STEP, find_search
from whence.syntax.nodes import Atom, Attribute, Call, Constant, Kind, Program, Rule, Term, Variable


@dataclass(frozen=True, slots=True)
class Apart:
    """A program whose searches read steps and seeds, and the searches by relation."""

    program: Program
    searches: Mapping[str, Search]


def searches_apart(program: Program) -> Apart:
    """Return the program with each search taken apart."""
    limited = {d.relation for d in program.directives if d.action == "limitsize"}
    found = {
        search.relation: search
        for stratum in build_plan(program).strata
        if (search := find_search(stratum)) is not None and search.relation not in limited
    }
    rules = [rule for rule in program.rules if rule.head.relation not in found]
    relations = list(program.relations)
    for name, search in found.items():
        decl = program.relation(name)
        columns = tuple(Variable(f"c{i}") for i in range(decl.arity))
        states = [decl.attributes[c] for c in search.state]
        ends = [Attribute(f"{side}{i}", a.type) for side in "mn" for i, a in enumerate(states)]
        value = decl.attributes[search.keyed.value]
        step = (*ends, Attribute("w", value.type))
        relations.append(replace(decl, name=STEP + name, attributes=step, provenance=None))
        relations.append(replace(decl, name=SEED + name, provenance=None))
        rules += search.steps
        rules += [
            replace(rule, heads=(replace(rule.head, relation=SEED + name),))
            for rule in search.seeds
        ]
        rules.append(Rule((Atom(name, columns),), (Atom(SEED + name, columns),)))
        rules.append(_follow(search, columns))
    return Apart(replace(program, relations=tuple(relations), rules=tuple(rules)), found)


def _follow(search: Search, columns: tuple[Variable, ...]) -> Rule:
    """The rule that follows a step from what has been reached."""
    leaves: list[Term] = list(columns)
    for column in search.state:
        leaves[column] = Variable(f"m{column}")
    weight = Variable("w")
    premise = Atom(search.relation, tuple(leaves))
    step = Atom(
        STEP + search.relation,
        (*(leaves[c] for c in search.state), *(columns[c] for c in search.state), weight),
    )
    head: list[Term] = list(columns)
    value = columns[search.keyed.value]
    head[search.keyed.value] = _combined(search.combine, value, weight, search.keyed.kind)
    return Rule((Atom(search.relation, tuple(head)),), (premise, step))


def _combined(combine: Combine, value: Term, weight: Term, kind: Kind) -> Term:
    if combine is not Combine.BOUNDED:
        return Call(combine.value, (value, weight), kind)
    less = Call("-", (Call("+", (value, weight), kind), Constant(1.0, kind)), kind)
    return Call("max", (Constant(0.0, kind), less), kind)
