"""What cannot run by rounds, and why."""

from __future__ import annotations

from collections.abc import Iterator

from whence.analysis.kinds import relation_kinds, type_kinds, variable_kinds
from whence.functor.comparison import ORDERED
from whence.plan.build import plan_stratum
from whence.plan.nodes import Keyed, Plan, Stratum
from whence.syntax.nodes import (
    Atom,
    Call,
    Cast,
    Constraint,
    Counter,
    Kind,
    Literal,
    Negation,
    Program,
    Rule,
    Subsumption,
    Term,
    Variable,
    walk,
)


def why_not(plan: Plan, stratum: Stratum) -> str | None:
    """Return why rounds cannot evaluate a stratum, None where they can."""
    return next(_reasons(plan, stratum), None)


def _reasons(plan: Plan, stratum: Stratum) -> Iterator[str]:
    program = plan.program
    limited = {d.relation for d in program.directives if d.action == "limitsize"}
    for name in stratum.relations:
        if name in limited:
            yield f"`{name}` has a `.limitsize`, and a round does not stop in the middle"
    for growth in stratum.growths:
        if growth.certain:
            yield f"`{growth.relation}` may grow for ever, which only one process can watch"
    if stratum.selections:
        names = ", ".join(f"`{name}`" for name, _ in stratum.selections)
        yield f"only the best tuples of {names} are followed, which rounds do not"
    planned = plan_stratum(stratum, {})
    for domination in planned.dominations:
        several = [d for d in planned.dominations if d.relation == domination.relation]
        if len(several) > 1 or not _is_order(domination.subsumption):
            yield "its subsumption is no order of its columns, so it matters who comes first"
    for name, keyed in planned.keyed:
        if _may_have_several_nans(program, name, keyed):
            yield f"values of `{name}` that are no number stay side by side"
    written: list[Rule | Subsumption] = [*stratum.rules, *stratum.subsumptions]
    for rule in written:
        yield from _of_rule(program, rule)


def _may_have_several_nans(program: Program, name: str, keyed: Keyed) -> bool:
    return keyed.kind is Kind.FLOAT and len(relation_kinds(program)[name]) > len(keyed.key) + 1


def _is_order(subsumption: Subsumption) -> bool:
    """Say whether it compares tuples column by column, so that it is an order of them.

    Of two different tuples at most one dominates the other, and what dominates a dominating tuple
    dominates what that does: then it does not matter in which order tuples are judged.
    """
    worse, better = subsumption.dominated.args, subsumption.dominating.args
    names = [[a.name for a in args if isinstance(a, Variable)] for args in (worse, better)]
    if any(len(set(found)) < len(worse) for found in names):
        return False
    shared = {i for i, (a, b) in enumerate(zip(*names, strict=True)) if a == b}
    if len(set(names[0]) & set(names[1])) > len(shared):
        return False
    compared = set()
    for literal in subsumption.body:
        if not isinstance(literal, Constraint) or literal.op not in ORDERED:
            return False
        sides = [s.name for s in (literal.left, literal.right) if isinstance(s, Variable)]
        at = {i for i, pair in enumerate(zip(*names, strict=True)) if set(pair) == set(sides)}
        if len(sides) < 2 or not at:
            return False
        compared |= at
    return shared | compared == set(range(len(worse)))


def _of_rule(program: Program, rule: Rule | Subsumption) -> Iterator[str]:
    for node in _nodes(rule):
        if isinstance(node, Counter):
            yield "`$` gives numbers one after the other"
        if isinstance(node, Call) and node.functor == "ord" and node.kind in _CODED:
            yield "`ord` gives the number that one process has given to a value"
        if isinstance(node, Cast) and _reads_codes(program, rule, node):
            yield "`as` reads the number that one process has given to a value"


_CODED = (Kind.SYMBOL, Kind.RECORD)


def _reads_codes(program: Program, rule: Rule | Subsumption, cast: Cast) -> bool:
    """Say whether a symbol or a record is read as something else, or the other way round."""
    to = type_kinds(program)[cast.type]
    match cast.term:
        case Variable(name=name):
            of = variable_kinds(program, rule).get(name, to)
        case _:
            of = getattr(cast.term, "kind", None) or to
    return of is not to and (of in _CODED or to in _CODED)


def _nodes(rule: Rule | Subsumption) -> Iterator[Term | Literal]:
    heads: tuple[Atom, ...]
    if isinstance(rule, Rule):
        heads = rule.heads
    else:
        heads = (rule.dominated, rule.dominating)
    whole: tuple[Atom | Negation | Constraint | Literal, ...] = (*heads, *rule.body)
    for literal in whole:
        yield from walk(literal)
