"""Recursion through subsumption that ends the same whatever comes first.

What is shipped comes at another time than what is not, so a dominated tuple may have been used
before it goes. That does no harm where subsumption is an order of values, column by column, and a
better value only makes better values.
"""

from __future__ import annotations

from collections.abc import Mapping

from whence.engine.spark.cut.known import Known
from whence.plan.bodies import Body, read_body
from whence.plan.monotone import flow, passes_better
from whence.plan.nodes import Stratum
from whence.rewrite.terms import names
from whence.syntax.nodes import (
    Atom,
    Call,
    Constant,
    Constraint,
    Literal,
    Subsumption,
    Variable,
    Wildcard,
)

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}

Order = Mapping[int, bool]
"""The columns that are compared, and whether greater is better."""


def why_unordered(known: Known, stratum: Stratum) -> str | None:
    """Return why tuples of the stratum must come in the order of one evaluation, if they must."""
    orders: dict[str, Order] = {}
    for subsumption in stratum.subsumptions:
        name = subsumption.dominated.relation
        order = _order(subsumption)
        if order is None or orders.setdefault(name, order) != order:
            return f"which tuples of `{name}` dominate which is more than an order of values"
    if not stratum.recursive or not orders:
        return None
    for rule in stratum.rules:
        body = read_body(rule)
        for atom in body.atoms:
            for column, greatest in orders.get(atom.relation, {}).items():
                if not _improves(body, atom, column, greatest, orders):
                    shown = known.decls[atom.relation].attributes[column].name
                    return f"a better `{shown}` of `{atom.relation}` need not give a better tuple"
    return None


def _order(subsumption: Subsumption) -> Order | None:
    """Return the columns by which a tuple is better, if nothing else decides."""
    worse, better = subsumption.dominated.args, subsumption.dominating.args
    found: dict[int, bool] = {}
    for literal in subsumption.body:
        if not isinstance(literal, Constraint) or literal.op not in _FLIPPED:
            return None
        left, right, op = literal.left, literal.right, literal.op
        for column, (bad, good) in enumerate(zip(worse, better, strict=True)):
            if bad == good:
                continue
            if (left, right) == (good, bad):
                found[column] = op in (">", ">=")
                break
            if (left, right) == (bad, good):
                found[column] = op in ("<", "<=")
                break
        else:
            return None
    return found


def _improves(
    body: Body, atom: Atom, column: int, greatest: bool, orders: Mapping[str, Order]
) -> bool:
    """Say whether a better value of the atom's column only makes the head better."""
    term = atom.args[column]
    if not isinstance(term, Variable):
        return isinstance(term, Wildcard)
    name = term.name
    if atom.args.count(term) > 1:
        return False
    if not all(
        passes_better(literal, name, greatest=greatest) or _is_product(literal, greatest)
        for literal in body.elsewhere(atom)
        if name in names(literal)
    ):
        return False
    wanted = orders.get(body.rule.head.relation, {})
    return all(
        wanted.get(place) is greatest and flow(head, name) is not None
        for place, head in enumerate(body.head)
        if name in names(head)
    )


def _is_product(literal: Literal, greatest: bool) -> bool:
    """Say whether the literal asks that a bounded product is not zero, which is its least value."""
    match literal:
        case Constraint(op="!=", left=Call(functor="@bounded"), right=Constant()):
            return greatest
        case _:
            return False
