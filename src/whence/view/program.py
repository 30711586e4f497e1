"""The program that a view maintains: aggregates as relations, base facts apart from rules.

A relation that has rules and is also given facts keeps those in a relation of their own, which
its rules read, so that base facts and derived tuples never mix.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from whence.plan.build import build_plan
from whence.plan.nodes import Plan, Stratum
from whence.rewrite.materialise_aggregates import Grouping, materialise_aggregates
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constant,
    Counter,
    Nil,
    Program,
    Rule,
    Variable,
    walk,
)

_BASE = "@base:"


@dataclass(frozen=True, slots=True)
class Maintained:
    """A plan to be maintained, and what its internal relations stand for."""

    plan: Plan
    groupings: Mapping[str, Grouping]
    base: Mapping[str, str]
    """For each relation that may be given facts, the relation that holds them."""

    @property
    def visible(self) -> tuple[str, ...]:
        """The relations that people know."""
        return tuple(d.name for d in self.plan.program.relations if not d.name.startswith("@"))

    def without_facts(self) -> Maintained:
        """Return it without the facts of the program's text, which are base facts by now."""
        strata = tuple(replace(stratum, facts=()) for stratum in self.plan.strata)
        return replace(self, plan=replace(self.plan, strata=strata))


def maintained(program: Program, given: Collection[str]) -> Maintained:
    """Return what to maintain; `given` are relations that are given facts though they have rules.

    The program is one that has been through the passes.
    """
    with_rules = {r.head.relation for r in program.rules if not _is_plain_fact(r)}
    stated = {r.head.relation for r in program.rules if _is_plain_fact(r)}
    twins = {
        decl.name: _BASE + decl.name
        for decl in program.relations
        if decl.name in with_rules and (decl.name in given or decl.name in stated)
    }
    rules = [
        replace(r, heads=(replace(r.head, relation=twins[r.head.relation]),))
        if _is_plain_fact(r) and r.head.relation in twins
        else r
        for r in program.rules
    ]
    declared = []
    for decl in program.relations:
        if decl.name in twins:
            columns = tuple(Variable(f"c{i}") for i in range(decl.arity))
            twin = twins[decl.name]
            rules.append(Rule((Atom(decl.name, columns),), (Atom(twin, columns),)))
            declared.append(replace(decl, name=twin))
    apart = replace(program, relations=(*program.relations, *declared), rules=tuple(rules))
    whole, groupings = materialise_aggregates(apart)
    base = {
        decl.name: twins.get(decl.name, decl.name)
        for decl in program.relations
        if decl.name not in with_rules or decl.name in twins
    }
    return Maintained(build_plan(whole), {g.relation: g for g in groupings}, base)


def _is_plain_fact(rule: Rule) -> bool:
    return rule.is_fact and all(isinstance(a, Constant | Nil) for a in rule.head.args)


def why_recomputed(stratum: Stratum, program: Program) -> str | None:
    """Return why the rules of a stratum cannot be maintained tuple by tuple, None when they can."""
    limited = {d.relation for d in program.directives if d.action == "limitsize"}
    for name in stratum.relations:
        if name in limited:
            return f"`.limitsize` of `{name}` depends on the order of derivation"
    if stratum.subsumptions:
        name = stratum.subsumptions[0].dominated.relation
        return f"tuples of `{name}` are dropped by subsumption"
    if stratum.selections:
        name = stratum.selections[0][0]
        return f"of `{name}` only the best rows are followed"
    for rule in stratum.rules:
        for literal in (*rule.heads, *rule.body):
            for node in walk(literal):
                if isinstance(node, Aggregate):
                    return "an aggregate depends on the recursion that it stands in"
                if isinstance(node, Counter):
                    return "a counter numbers tuples in the order of derivation"
    return None
