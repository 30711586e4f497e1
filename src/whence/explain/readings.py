"""The derivations of one fact, read: its annotation in any semiring, witnesses, the polynomial."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from whence.explain.diagram import Diagram
from whence.explain.model import Cone, Fact
from whence.semiring.base import Semiring
from whence.semiring.solve import Endless, solve

Annotation = Callable[[Fact], Any]
"""What a base fact is annotated with."""


def witnesses(cone: Cone, check: Callable[[], None] = lambda: None) -> Iterator[tuple[Fact, ...]]:
    """Yield the minimal sets of base facts that derive the fact, one at a time, small ones first.

    What is under a negation or in an aggregate is taken as it is. `check` is called now and then,
    and may raise.
    """
    from whence.semiring.witnesses import minimal_witnesses

    leaves = [node for node, given in enumerate(cone.base) if given]
    for found in minimal_witnesses(cone.graph, 0, leaves, check):
        yield tuple(sorted((cone.facts[node] for node in found), key=str))


def read_in(cone: Cone, semiring: Semiring[Any], annotation: Annotation | None = None) -> list[Any]:
    """Return the annotation of each fact of the cone, over its derivations there.

    Base facts have theirs from `annotation`, or from the semiring. A semiring in which the sum
    over a cycle never ends is refused where there is one.
    """
    given = annotation or (lambda fact: semiring.variable(str(fact)))
    leaves = [
        given(fact) if base else semiring.zero
        for fact, base in zip(cone.facts, cone.base, strict=True)
    ]
    try:
        return solve(cone.graph, semiring, leaves)
    except Endless as fault:
        from whence.engine.endless import endless

        cycle = fault.cycle
        facts = [str(cone.facts[node]) for node in cycle.nodes]
        rules = [cone.rules[int(cone.graph.rules[i]) - 1] for i in cycle.instances]
        raise endless(facts, rules, semiring) from None


def polynomial(cone: Cone) -> str:
    """Return the provenance polynomial of the fact over its base facts (N[X]), as text."""
    from whence.semiring.how import How

    how = How()
    return how.show(read_in(cone, how)[0])


def annotated(diagram: Diagram, values: dict[Fact, Any]) -> Diagram:
    """Return the diagram with these annotations of its facts."""
    nodes = tuple(
        node
        if node.relation is None or node.row is None
        else replace(node, annotation=values.get(Fact(node.relation, node.row)))
        for node in diagram.nodes
    )
    return replace(diagram, nodes=nodes)
