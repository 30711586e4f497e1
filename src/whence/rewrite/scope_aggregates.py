"""Give each aggregate variables of its own, so that a shared name means a shared value.

A name inside an aggregate is the rule's when the rule binds it and the target does not use it.
A name that only a min or max aggregate binds and the rule uses is a witness: it stands for the
assignments that reach the minimum or maximum.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from whence.rewrite.normalise import aggregate_bodies, one_of
from whence.rewrite.terms import (
    Names,
    as_rule,
    as_subsumption,
    bound_by,
    level_aggregates,
    level_names,
    names,
    rule_names,
    substitute,
    transform,
)
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constraint,
    Literal,
    Program,
    Rule,
    Term,
    Variable,
    Wildcard,
)


def scope_aggregates(program: Program) -> Program:
    """Rename what is local to an aggregate apart from the rule, and name its wildcards.

    >>> from whence.syntax.souffle import parse
    >>> print(scope_aggregates(parse("a(x, n) :- b(x, y), n = sum y : { c(x, y, _) }.")))
    a(x, n) :- b(x, y), n = sum y_1 : { c(x, y_1, _1) }.
    """
    return replace(
        program,
        rules=tuple(map(scope_rule, program.rules)),
        subsumptions=tuple(
            as_subsumption(scope_rule(as_rule(subsumption)))
            if level_aggregates(*subsumption.body)
            else subsumption
            for subsumption in program.subsumptions
        ),
    )


def scope_rule(rule: Rule) -> Rule:
    """Return a normalised rule whose aggregates stand in equations and share what they name."""
    if not level_aggregates(*rule.heads, *rule.body):
        return rule
    level = level_names(*rule.heads, *rule.body)
    supply = Names(rule_names(rule), level)
    rule = _name_results(rule, supply)
    level = level_names(*rule.heads, *rule.body)
    body: list[Literal] = []
    for literal in rule.body:
        match literal:
            case Constraint(op="=", left=Variable() as result, right=Aggregate() as aggregate):
                bound = bound_by(_without_aggregates(rule, literal), level.keys())
                body.append(replace(literal, right=_scope(aggregate, bound, supply)))
                body.extend(_ground_witnesses(aggregate, result, bound, level.keys(), supply))
            case _:
                body.append(literal)
    scoped = replace(rule, body=tuple(body))
    # The literals that bind witnesses may bring aggregates of their own.
    return scoped if all(map(_is_placed, scoped.body)) else scope_rule(scoped)


def _is_placed(literal: Literal) -> bool:
    """Say whether the literal has no aggregate, or is one's equation."""
    match literal:
        case Constraint(op="=", left=Variable(), right=Aggregate()):
            return True
        case _:
            return not level_aggregates(literal)


def _name_results(rule: Rule, supply: Names) -> Rule:
    """Move each aggregate of a rule into an equation `variable = aggregate` of its own."""
    results: list[Literal] = []

    def lift(node: Term | Literal) -> Term | Literal:
        if not isinstance(node, Aggregate):
            return node
        variable = Variable(supply.fresh(), span=node.span)
        results.append(Constraint("=", variable, node, node.kind, span=node.span))
        return variable

    body: list[Literal] = []
    for literal in rule.body:
        match literal:
            case Constraint(op="=", left=Variable(), right=Aggregate()):
                body.append(literal)
            case Constraint(op="=", left=Aggregate() as left, right=Variable() as right):
                body.append(replace(literal, left=right, right=left))
            case _ if level_aggregates(literal):
                plain = transform(literal, lift, Aggregate)
                body.extend((*results, plain))
                results.clear()
            case _:
                body.append(literal)
    heads = tuple(transform(head, lift, Aggregate) for head in rule.heads)
    return replace(rule, heads=heads, body=(*body, *results))


def _without_aggregates(rule: Rule, left_out: Literal) -> Iterator[Literal]:
    """Yield the other literals; an aggregate's result counts as bound."""
    for literal in rule.body:
        match literal:
            case Constraint(op="=", left=Variable() as result, right=Aggregate()):
                if literal is not left_out:
                    yield Atom("", (result,))
            case _:
                yield literal


def _own_names(aggregate: Aggregate) -> dict[str, None]:
    """Return the names of the aggregate that stand in no aggregate inside it."""
    target = () if aggregate.target is None else (aggregate.target,)
    return level_names(*target, *aggregate.body)


def _shared(aggregate: Aggregate, bound: Set[str]) -> set[str]:
    shared = names(aggregate).keys() & bound
    return shared if aggregate.target is None else shared - names(aggregate.target).keys()


def _scope(aggregate: Aggregate, bound: Set[str], supply: Names) -> Aggregate:
    """Return the aggregate with all but the variables it shares claimed for itself."""
    shared = _shared(aggregate, bound)
    by = {name: supply.claim(name) for name in _own_names(aggregate) if name not in shared}
    inside = shared | set(by.values())

    def scope(node: Term | Literal) -> Term | Literal:
        match node:
            case Variable(name=name) if name in by:
                return replace(node, name=by[name])
            case Aggregate(target=target):
                local = {} if target is None else names(target)
                passed = {old: Variable(new) for old, new in by.items() if old not in local}
                return _scope(substitute(node, passed), inside, supply)
            case _:
                return node

    def scope_atom(node: Term | Literal) -> Term | Literal:
        # A wildcard that an atom binds is an unknown of the body like any other.
        if isinstance(node, Wildcard):
            return Variable(supply.fresh(), span=node.span)
        return scope(node)

    return replace(
        aggregate,
        target=None if aggregate.target is None else transform(aggregate.target, scope, Aggregate),
        body=one_of(
            tuple(
                transform(literal, scope_atom if isinstance(literal, Atom) else scope, Aggregate)
                for literal in flat
            )
            for flat in aggregate_bodies(aggregate)
        ),
    )


def _ground_witnesses(
    aggregate: Aggregate, result: Variable, bound: Set[str], level: Set[str], supply: Names
) -> Iterator[Literal]:
    """Yield literals that bind the witnesses of a min or max aggregate."""
    witnesses = (_own_names(aggregate).keys() & level) - bound - {result.name}
    bodies = aggregate_bodies(aggregate)
    if not witnesses or aggregate.target is None or len(bodies) > 1:
        return
    if aggregate.function not in ("min", "max"):
        return
    kept = witnesses | _shared(aggregate, bound)
    by = {n: Variable(supply.claim(n)) for n in names(aggregate) if n not in kept}
    yield from (substitute(literal, by) for literal in bodies[0])
    target = substitute(aggregate.target, by)
    yield Constraint("=", result, target, aggregate.kind, span=aggregate.span)
