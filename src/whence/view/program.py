"""The program that a view maintains: aggregates as relations, base facts apart from rules.

A relation that has rules and is also given facts keeps those in a relation of their own, which
its rules read, so that base facts and derived tuples never mix.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from whence.plan.build import build_plan
from whence.plan.keyed import recognise_keyed
from whence.plan.nodes import Keyed, Plan, Stratum
from whence.rewrite.annotate import COLUMN
from whence.rewrite.materialise_aggregates import Grouping, materialise_aggregates
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constraint,
    Program,
    Rule,
    UserCall,
    Variable,
    walk,
)
from whence.view.apart import Searched, searches_apart
from whence.view.best import ALL, best_per_key, keep_all_rows
from whence.view.reading import reads

_BASE = "@base:"


@dataclass(frozen=True, slots=True)
class Maintained:
    """A plan to be maintained, and what its internal relations stand for."""

    plan: Plan
    groupings: Mapping[str, Grouping]
    base: Mapping[str, str]
    """For each relation that may be given facts, the relation that holds them."""
    searches: Mapping[str, Searched] = field(default_factory=dict)
    """The recursions that are kept current as searches over steps and seeds."""
    annotated: Mapping[str, Keyed] = field(default_factory=dict)
    """The relations that keep the best annotation of each tuple."""

    @property
    def read(self) -> frozenset[str]:
        """The relations that another stratum reads."""
        return frozenset(
            name for s in self.plan.strata for name in reads(s) if name not in s.relations
        )

    @property
    def visible(self) -> tuple[str, ...]:
        """The relations that people know."""
        return tuple(d.name for d in self.plan.program.relations if not d.name.startswith("@"))

    def without_facts(self) -> Maintained:
        """Return it without the facts of the program's text, which are base facts by now."""
        holders = set(self.base.values())
        strata = tuple(
            replace(
                stratum, facts=(), rules=() if holders & {*stratum.relations} else stratum.rules
            )
            for stratum in self.plan.strata
        )
        return replace(self, plan=replace(self.plan, strata=strata))


def maintained(
    program: Program,
    given: Collection[str],
    *,
    unsearched: Collection[str] | None = (),
    reach: bool = False,
) -> Maintained:
    """Return what to maintain; `given` are relations that are given facts though they have rules.

    The program is one that has been through the passes. Recursions that are searches are kept as
    such, but for those of `unsearched`, or all if that is None; with `reach` also those that find
    what is reached, and not the best way.
    """
    apart, base = _base_apart(program, given)
    searches: Mapping[str, Searched] = {}
    if unsearched is not None:
        found = searches_apart(apart, unsearched, reach=reach)
        apart, searches = found.program, found.searches
    annotated = _annotated(apart)
    keyed = {n: best for n, best in best_per_key(apart).items() if n not in {*searches, *annotated}}
    while True:
        whole, groupings = materialise_aggregates(keep_all_rows(apart, keyed))
        plan = _plan(whole, base)
        unsound = _not_selected(plan, keyed)
        if not unsound:
            return Maintained(plan, {g.relation: g for g in groupings}, base, searches, annotated)
        keyed = {name: best for name, best in keyed.items() if name not in unsound}


def _annotated(program: Program) -> dict[str, Keyed]:
    """Return the relations whose last column is an annotation, of which the best is kept."""
    last = {d.name: d.attributes[-1].name for d in program.relations if d.attributes}
    return {
        name: keyed
        for subsumption in program.subsumptions
        if last.get(name := subsumption.dominated.relation) == COLUMN
        and (keyed := recognise_keyed(subsumption)) is not None
    }


def _base_apart(program: Program, given: Collection[str]) -> tuple[Program, dict[str, str]]:
    """Return the program with base facts in relations without rules, and where they are."""
    with_rules = {r.head.relation for r in program.rules if not _is_fact(r)}
    with_rules |= {s.dominated.relation for s in program.subsumptions}
    stated = {r.head.relation for r in program.rules if _is_fact(r)}
    heads = {r.head.relation for r in program.rules if not _is_fact(r)}
    twins = {
        decl.name: _BASE + decl.name
        for decl in program.relations
        if decl.name in with_rules
        and (decl.name in given or decl.name in stated or decl.name not in heads)
    }
    rules = [
        replace(r, heads=(replace(r.head, relation=twins[r.head.relation]),))
        if _is_fact(r) and r.head.relation in twins
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
    base = {
        decl.name: twins.get(decl.name, decl.name)
        for decl in program.relations
        if decl.name not in with_rules or decl.name in twins
    }
    relations = (*program.relations, *declared)
    return replace(program, relations=relations, rules=tuple(rules)), base


def _plan(program: Program, base: Mapping[str, str]) -> Plan:
    """Plan the program; of what people do not know, only best rows are kept where that is sound."""
    growing = {g.relation for s in build_plan(program).strata for g in s.growths}
    asked = [d.name for d in program.relations if not d.name.startswith("@")]
    asked = [name for name in asked if name not in growing]
    return build_plan(program, asked=asked, inputs=tuple(base.values()))


def _not_selected(plan: Plan, keyed: Mapping[str, Keyed]) -> set[str]:
    """Return the keyed relations whose recursion would have to follow all rows."""
    return {
        name
        for stratum in plan.strata
        for name in keyed
        if stratum.recursive
        and ALL + name in stratum.relations
        and ALL + name not in dict(stratum.selections)
    }


def _is_fact(rule: Rule) -> bool:
    """Say whether the rule is a fact, or was one before its records were taken apart."""
    return all(
        isinstance(literal, Constraint)
        and literal.op == "="
        and not any(isinstance(node, Aggregate | UserCall) for node in walk(literal))
        for literal in rule.body
    )


def why_recomputed(stratum: Stratum, program: Program) -> str | None:
    """Return why the rules of a stratum cannot be maintained tuple by tuple, None when they can."""
    limited = {d.relation for d in program.directives if d.action == "limitsize"}
    for name in stratum.relations:
        if name in limited:
            return f"`.limitsize` of `{name}` depends on the order of derivation"
    if stratum.subsumptions:
        name = stratum.subsumptions[0].dominated.relation
        return f"tuples of `{name}` are dropped by subsumption"
    for rule in stratum.rules:
        for literal in (*rule.heads, *rule.body):
            for node in walk(literal):
                if isinstance(node, Aggregate):
                    return "an aggregate depends on the recursion that it stands in"
    return None
