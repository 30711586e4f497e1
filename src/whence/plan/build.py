"""From a rewritten program to its plan: strata first, their rule plans when sizes are known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count

from whence.analysis.strata import strata
from whence.plan.bodies import read_body
from whence.plan.compile_rule import compile_rule
from whence.plan.growth import find_growth
from whence.plan.keyed import keyed_relations
from whence.plan.nodes import Domination, Growth, Plan, RulePlan, Stratum, StratumPlan, Version
from whence.plan.search import find_search
from whence.plan.selection import select
from whence.rewrite.reorder_body import order_body
from whence.syntax.nodes import (
    Atom,
    Constant,
    Literal,
    Nil,
    Program,
    Rule,
    Subsumption,
    Variable,
    Wildcard,
)

Cardinalities = Mapping[str, int]


def build_plan(
    program: Program,
    *,
    asked: Collection[str] | None = None,
    inputs: Collection[str] | None = None,
) -> Plan:
    """Return the program's strata in evaluation order, each with its facts and rules.

    `asked` are the relations whose facts somebody reads, None when that may be any; `inputs` are
    those that may be given facts, beside those with `.input`.
    """
    by_head: dict[str, list[Rule]] = {}
    for rule in program.rules:
        by_head.setdefault(rule.head.relation, []).append(rule)
    subsumed: dict[str, list[Subsumption]] = {}
    for subsumption in program.subsumptions:
        subsumed.setdefault(subsumption.dominated.relation, []).append(_named(subsumption))
    ordered = strata(program)
    growths: dict[str, Growth] = {}
    for stratum in ordered:
        if stratum.recursive and subsumed.keys().isdisjoint(stratum.relations):
            bodies = [read_body(r) for name in stratum.relations for r in by_head.get(name, ())]
            growths.update({g.relation: g for g in find_growth(stratum.relations, bodies)})
    selected = select(program, growths, asked, inputs)
    found = []
    for number, stratum in enumerate(ordered):
        rules = [r for name in stratum.relations for r in by_head.get(name, ())]
        names = stratum.relations
        found.append(
            Stratum(
                number,
                tuple(stratum.relations),
                stratum.recursive,
                tuple(r.head for r in rules if is_plain_fact(r)),
                tuple(r for r in rules if not is_plain_fact(r)),
                tuple(s for name in stratum.relations for s in subsumed.get(name, ())),
                tuple((n, selected.selections[n]) for n in names if n in selected.selections),
                tuple({a: None for n in names for a in selected.assumes.get(n, ())}),
                tuple(growths[n] for n in names if n in growths),
            )
        )
    return Plan(program, tuple(found), tuple(selected.refusals.items()))


def _named(subsumption: Subsumption) -> Subsumption:
    """Give each wildcard a name: which tuples dominate which is asked for in full."""
    fresh = (Variable(f"@any{i}") for i in count())

    def named(atom: Atom) -> Atom:
        args = tuple(next(fresh) if isinstance(a, Wildcard) else a for a in atom.args)
        return replace(atom, args=args)

    return replace(
        subsumption,
        dominated=named(subsumption.dominated),
        dominating=named(subsumption.dominating),
    )


def is_plain_fact(rule: Rule) -> bool:
    """Say whether the rule is a fact of constants, which needs no plan."""
    return rule.is_fact and all(isinstance(a, Constant | Nil) for a in rule.head.args)


def plan_stratum(
    stratum: Stratum, cardinalities: Cardinalities, *, keyed: bool = True, selected: bool = True
) -> StratumPlan:
    """Return the rule plans of a stratum, its bodies ordered for these sizes.

    Without `keyed` every subsumption is a domination, whatever its form; without `selected` the
    recursion follows all rows.
    """
    recursive = set(stratum.relations) if stratum.recursive else set()
    once: list[RulePlan] = []
    versions: list[tuple[Rule, int]] = []
    for rule in stratum.rules:
        deltas = [
            i
            for i, literal in enumerate(rule.body)
            if isinstance(literal, Atom) and literal.relation in recursive
        ]
        if deltas:
            versions.extend((rule, i) for i in deltas)
        else:
            once.append(_plan_rule(rule, None, (), cardinalities))
    keyed_names = {s.dominated.relation for s in stratum.subsumptions}
    repeated = [_delta_plan(r, i, recursive, keyed_names, cardinalities) for r, i in versions]
    best = keyed_relations(stratum.subsumptions, repeated) if keyed else {}
    search = find_search(stratum) if best else None
    dominations = tuple(
        _domination(s, recursive, cardinalities)
        for s in stratum.subsumptions
        if s.dominated.relation not in best
    )
    return StratumPlan(
        stratum.number,
        stratum.relations,
        stratum.recursive,
        tuple(once),
        tuple(repeated),
        tuple(best.items()),
        dominations,
        stratum.selections if selected else (),
        stratum.assumes if selected else (),
        stratum.growths,
        search,
        tuple(_plan_rule(step, None, (), cardinalities) for step in search.steps) if search else (),
    )


def _delta_plan(
    rule: Rule,
    delta: int,
    recursive: set[str],
    changing: set[str],
    cardinalities: Cardinalities,
) -> RulePlan:
    """The version of the rule that starts from the new rows of one recursive atom.

    Recursive atoms before it read old rows only, so that no pair of new rows is met twice;
    relations whose rows change in place have no old rows to read.
    """
    old = tuple(
        i
        for i, literal in enumerate(rule.body)
        if isinstance(literal, Atom)
        and literal.relation in recursive
        and literal.relation not in changing
        and i < delta
    )
    return _plan_rule(rule, delta, old, cardinalities)


def _plan_rule(
    rule: Rule, delta: int | None, old: Sequence[int], cardinalities: Cardinalities
) -> RulePlan:
    body, positions = _ordered(rule, delta, cardinalities)
    versions = {
        at: Version.DELTA if source == delta else Version.OLD
        for at, source in enumerate(positions)
        if source == delta or source in old
    }
    relation = None
    if delta is not None:
        atom = rule.body[delta]
        assert isinstance(atom, Atom)
        relation = atom.relation
    return compile_rule(rule, rule.head, body, versions, relation)


def _ordered(
    rule: Rule, first: int | None, cardinalities: Cardinalities
) -> tuple[tuple[Literal, ...], list[int]]:
    """Order the body, and say for each literal where it stood in the rule."""
    body = order_body(rule, first, cardinalities)
    left = list(enumerate(rule.body))
    positions = []
    for literal in body:
        at = next(
            (i for i, (_, known) in enumerate(left) if known is literal),
            next((i for i, (_, known) in enumerate(left) if known == literal), None),
        )
        positions.append(-1 if at is None else left.pop(at)[0])
    return body, positions


def _domination(
    subsumption: Subsumption, recursive: set[str], cardinalities: Cardinalities
) -> Domination:
    """The delta versions of `which pairs of tuples are dominated and dominating`.

    New pairs come from new tuples of the relation, and from new tuples of relations in the
    subsumption's body that are computed together with it.
    """
    worse, better = subsumption.dominated, subsumption.dominating
    name = worse.relation
    body: tuple[Literal, ...] = (worse, better, *subsumption.body)
    rule = Rule((Atom(name, worse.args + better.args),), body, span=subsumption.span)
    changing = recursive | {name}
    deltas = [
        i
        for i, literal in enumerate(body)
        if isinstance(literal, Atom) and literal.relation in changing
    ]
    plans = tuple(
        _plan_rule(rule, delta, deltas[:at], cardinalities) for at, delta in enumerate(deltas)
    )
    return Domination(name, subsumption, plans)
