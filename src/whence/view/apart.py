"""Recursions that are searches, taken apart: their steps and seeds are relations of their own.

`path(x, z, a + w) :- path(x, y, a), edge(y, z, w)` becomes a rule for `@step:path(y, z, w)`, and
the other rules of `path` become rules for `@seed:path`. Those are maintained as any relation is,
and their changes are what repairs the searches. Where they are just the tuples of one relation,
that relation is read itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from whence.plan.build import build_plan
from whence.plan.nodes import Combine, Search
from whence.plan.search import SEED, STEP, find_reach, find_search
from whence.syntax.nodes import Atom, Attribute, Call, Constant, Kind, Program, Rule, Term, Variable


@dataclass(frozen=True, slots=True)
class Source:
    """Where steps or seeds come from: these columns of a relation."""

    relation: str
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Searched:
    """A search, and where its steps and seeds come from."""

    search: Search
    steps: Source
    seeds: Source


@dataclass(frozen=True, slots=True)
class Apart:
    """A program whose searches read steps and seeds, and the searches by relation."""

    program: Program
    searches: Mapping[str, Searched]


def searches_apart(program: Program, without: Collection[str], *, reach: bool) -> Apart:
    """Return the program with each search taken apart, also for what is only reached if asked."""
    limited = {d.relation for d in program.directives if d.action == "limitsize"}
    left_out = {*without, *limited}
    found: dict[str, Searched] = {}
    for stratum in build_plan(program).strata:
        search = find_search(stratum) or (find_reach(stratum) if reach else None)
        if search is not None and search.relation not in left_out:
            name = search.relation
            width = 2 * len(search.state) + (search.keyed is not None)
            arity = program.relation(name).arity
            steps = _direct(search.steps) or Source(STEP + name, tuple(range(width)))
            seeds = _direct(search.seeds) or Source(SEED + name, tuple(range(arity)))
            found[name] = Searched(search, steps, seeds)
    rules, relations = list(program.rules), list(program.relations)
    for name, searched in found.items():
        search, decl = searched.search, program.relation(name)
        columns = tuple(Variable(f"c{i}") for i in range(decl.arity))
        if searched.steps.relation == STEP + name:
            states = [decl.attributes[c] for c in search.state]
            ends = [Attribute(f"{side}{i}", a.type) for side in "mn" for i, a in enumerate(states)]
            if search.keyed is not None:
                ends.append(Attribute("w", decl.attributes[search.keyed.value].type))
            step = replace(decl, name=STEP + name, attributes=tuple(ends), provenance=None)
            relations.append(step)
            rules = [r for r in rules if r.head.relation != name or not _reads(r, name)]
            rules += [*search.steps, _follow(search, columns)]
        if searched.seeds.relation == SEED + name:
            relations.append(replace(decl, name=SEED + name, provenance=None))
            rules = [r for r in rules if r.head.relation != name or _reads(r, name)]
            rules += [
                replace(r, heads=(replace(r.head, relation=SEED + name),)) for r in search.seeds
            ]
            rules.append(Rule((Atom(name, columns),), (Atom(SEED + name, columns),)))
    return Apart(replace(program, relations=tuple(relations), rules=tuple(rules)), found)


def _reads(rule: Rule, name: str) -> bool:
    return any(isinstance(literal, Atom) and literal.relation == name for literal in rule.body)


def _direct(rules: Sequence[Rule]) -> Source | None:
    """Return the relation whose tuples are the heads of the only rule, with columns in order."""
    if len(rules) != 1 or len(rules[0].body) != 1:
        return None
    (literal,), head = rules[0].body, rules[0].head
    if not isinstance(literal, Atom):
        return None
    given = [a.name for a in literal.args if isinstance(a, Variable)]
    taken = [a.name for a in head.args if isinstance(a, Variable)]
    if len(set(given)) < len(literal.args) or len(taken) < len(head.args):
        return None
    return (
        Source(literal.relation, tuple(map(given.index, taken))) if {*taken} == {*given} else None
    )


def _follow(search: Search, columns: tuple[Variable, ...]) -> Rule:
    """The rule that follows a step from what has been reached."""
    leaves: list[Term] = list(columns)
    for column in search.state:
        leaves[column] = Variable(f"m{column}")
    premise = Atom(search.relation, tuple(leaves))
    ends: list[Term] = [leaves[c] for c in search.state]
    ends += [columns[c] for c in search.state]
    head: list[Term] = list(columns)
    if search.keyed is not None:
        weight, value = Variable("w"), columns[search.keyed.value]
        ends.append(weight)
        head[search.keyed.value] = _combined(search.combine, value, weight, search.keyed.kind)
    step = Atom(STEP + search.relation, tuple(ends))
    return Rule((Atom(search.relation, tuple(head)),), (premise, step))


def _combined(combine: Combine, value: Term, weight: Term, kind: Kind) -> Term:
    if combine is not Combine.BOUNDED:
        return Call(combine.value, (value, weight), kind)
    less = Call("-", (Call("+", (value, weight), kind), Constant(1.0, kind)), kind)
    return Call("max", (Constant(0.0, kind), less), kind)
