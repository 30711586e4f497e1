"""All that can take part in derivations of a fact: its cone, found backwards from the fact."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import numpy as np

from whence.diagnostics import Diagnostic, LimitError
from whence.explain.model import Cone, Fact
from whence.explain.premises import beside_of, step_of
from whence.explain.search import Instance, Search
from whence.semiring.hypergraph import Hypergraph


@dataclass(slots=True)
class Grounded:
    """Facts by number and the instances between them; the fact that was asked about is 0."""

    facts: list[Fact] = field(default_factory=list)
    numbers: dict[Fact, int] = field(default_factory=dict)
    base: list[bool] = field(default_factory=list)
    instances: list[Instance] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    premises: list[list[int]] = field(default_factory=list)

    def number(self, fact: Fact) -> int:
        """Return the number of a fact, a new one when it has none."""
        found = self.numbers.setdefault(fact, len(self.facts))
        if found == len(self.facts):
            self.facts.append(fact)
        return found


def ground(
    search: Search,
    is_base: Callable[[Fact], bool],
    fact: Fact,
    limit: int,
    *,
    within: Collection[str] | None = None,
    beyond_base: bool = True,
) -> Grounded:
    """Find every instance from which the fact can follow, at most `limit` of them.

    `within` keeps to some relations: premises of others are left out. Without `beyond_base`
    nothing is asked about base facts.
    """
    graph = Grounded()
    graph.number(fact)
    while len(graph.base) < len(graph.facts):
        head = len(graph.base)
        current = graph.facts[head]
        graph.base.append(is_base(current))
        if graph.base[head] and not beyond_base:
            continue
        for instance in search.instances(current):
            if len(graph.instances) == limit:
                raise too_large(fact, limit)
            graph.instances.append(instance)
            graph.heads.append(head)
            graph.premises.append(
                [
                    graph.number(premise)
                    for premise in instance.premises
                    if within is None or premise.relation in within
                ]
            )
    return graph


def cone_of(search: Search, graph: Grounded) -> Cone:
    """Return the cone as a graph for semirings, with its facts and rules."""
    counts = [len(premises) for premises in graph.premises]
    start = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=start[1:])
    return Cone(
        Hypergraph(
            len(graph.facts),
            np.array(graph.heads, dtype=np.int64),
            np.array([i.rule.number for i in graph.instances], dtype=np.int64),
            start,
            np.array([p for premises in graph.premises for p in premises], dtype=np.int64),
        ),
        tuple(graph.facts),
        tuple(graph.base),
        search.rules.program.rules,
        tuple([beside_of(search, step_of(search, i, 0)) for i in graph.instances]),
    )


def too_large(fact: Fact, limit: int) -> LimitError:
    """Return the error that says that a cone is not searched to its end."""
    return LimitError(
        Diagnostic(
            "W0953",
            f"derivations of `{fact}` have more than {limit:,} rule instances",
            hint="ask for one proof, about a fact with fewer derivations, or for a higher limit",
        )
    )
