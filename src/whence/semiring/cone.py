"""What a node is derived from, and what some of its base facts derive: the searches of witnesses.

Small cones are walked node by node. In large ones that are flat all instances are gone over as
arrays, round by round, which costs a hundredth for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whence.semiring.hypergraph import Hypergraph, Ints

Facts = frozenset[int]

FEW = 2000
"""Fewer instances than this are walked."""
ROUNDS = 60
"""A cone that takes more rounds than this is walked."""
_GIVEN = -1
_NEVER = 1 << 50
_LARGEST = 1 << 40


class Solved(NamedTuple):
    """The fewest leaves that each node takes, and the round in which it came down to that."""

    cost: Ints
    rank: Ints


@dataclass(frozen=True, slots=True)
class Arrays:
    """The instances that have premises, ordered by their heads."""

    premises: Ints
    owner: Ints
    """For each premise its instance."""
    start: Ints
    """For each instance its first premise."""
    heads: Ints
    different: Ints
    """The heads, each once."""
    first: Ints
    """For each of these its first instance."""

    def solve(self, prices: dict[int, int], nodes: int) -> Solved | None:
        """Return the costs of all nodes, given those of leaves.

        None says that it takes too many rounds, or that proofs are too large to be counted.
        """
        cost = np.full(nodes, _NEVER, np.int64)
        cost[list(prices)] = list(prices.values())
        rank = np.zeros(nodes, np.int64)
        for number in range(1, ROUNDS):
            sums = np.minimum(np.add.reduceat(cost[self.premises], self.start), _NEVER)
            best = np.minimum.reduceat(sums, self.first)
            better = best < cost[self.different]
            if not better.any():
                return Solved(cost, rank)
            improved = self.different[better]
            cost[improved], rank[improved] = best[better], number
            if (cost[improved] >= _LARGEST).any():
                return None
        return None

    def useful(self, there: NDArray[np.bool_], target: int) -> set[int]:
        """Return the nodes that a proof of the target may use, of those that are there."""
        alive = np.logical_and.reduceat(there[self.premises], self.start)
        used = np.zeros(len(there), np.bool_)
        used[target] = True
        size = 0
        while size != (size := int(used.sum())):
            needed = alive & used[self.heads]
            used[self.premises[needed[self.owner]]] = True
        return set(np.flatnonzero(used).tolist())


@dataclass(slots=True)
class Cone:
    """What a node is derived from, renumbered; instances have their premises without repeats."""

    target: int
    names: list[int]
    leaves: set[int]
    heads: list[int]
    premises: list[list[int]]
    uses: list[list[int]]
    """For each node, the instances with it as a premise."""
    derived: list[list[int]]
    """For each node, the instances with it as the head."""
    free: set[int] = field(default_factory=set)
    """Nodes that are derived from nothing at all."""
    arrays: Arrays | None = None
    """All instances, while it pays to go over all of them at once."""

    def reached(self, given: Facts, until: int = -1) -> set[int]:
        """Return the nodes derived from some leaves; the search may end once `until` is there."""
        out = self.free | given
        left: dict[int, int] = {}
        stack = [node for node in given if node not in self.free]
        while stack and until not in out:
            for instance in self.uses[stack.pop()]:
                count = left.get(instance)
                if count is None:
                    count = len(self.premises[instance])
                    if self.free:
                        count -= len(self.free.intersection(self.premises[instance]))
                left[instance] = count - 1
                head = self.heads[instance]
                if count == 1 and head not in out:
                    out.add(head)
                    stack.append(head)
        return out

    def cheapest(self, having: Facts, lacking: Facts) -> Facts | None:
        """Return the leaves of a proof with the fewest beside those it has for nothing.

        A leaf counts as often as the proof, written as a tree, names it.
        """
        prices = {node: int(node not in having) for node in self.leaves if node not in lacking}
        prices.update(dict.fromkeys(self.free, 0))
        solved = self._solved(prices)
        if solved is None:
            choice = self._best_first(prices)
        elif solved.cost[self.target] < _NEVER:
            choice = self._chosen(solved)
        else:
            return None
        if self.target not in choice:
            return None
        proof = self._below(lambda node: [choice[node]] if choice[node] != _GIVEN else [])
        return frozenset(n for n in proof if choice[n] == _GIVEN and n not in self.free)

    def useful(self, lacking: Facts) -> set[int]:
        """Return the nodes that some proof without some leaves may use."""
        given = self.leaves - lacking
        solved = self._solved(dict.fromkeys(given | self.free, 0))
        if solved is not None and self.arrays is not None:
            return self.arrays.useful(solved.cost < _NEVER, self.target)
        there = self.reached(frozenset(given))
        return self._below(
            lambda node: [i for i in self.derived[node] if there.issuperset(self.premises[i])]
        )

    def _solved(self, prices: dict[int, int]) -> Solved | None:
        if self.arrays is None:
            return None
        solved = self.arrays.solve(prices, len(self.names))
        if solved is None:
            self.arrays = None  # it is not flat, and so not tried again
        return solved

    def _best_first(self, prices: dict[int, int]) -> dict[int, int]:
        """Return the instance that each node is cheapest by, up to the target (Knuth 1977)."""
        cost: dict[int, int] = {}
        choice: dict[int, int] = {}
        queue = sorted((price, node, _GIVEN) for node, price in prices.items())
        left: dict[int, int] = {}
        while queue and self.target not in cost:
            price, node, instance = heappop(queue)
            if node in cost:
                continue
            cost[node], choice[node] = price, instance
            for user in self.uses[node]:
                count = left.get(user, len(self.premises[user])) - 1
                left[user] = count
                if count == 0 and self.heads[user] not in cost:
                    total = sum([cost[premise] for premise in self.premises[user]])
                    heappush(queue, (total, self.heads[user], user))
        return choice

    def _chosen(self, solved: Solved) -> dict[int, int]:
        """Return the instances of one cheapest proof of the target."""
        cost, rank = solved.cost.tolist(), solved.rank.tolist()
        choice: dict[int, int] = {}
        stack = [self.target]
        while stack:
            node = stack.pop()
            if node in choice:
                continue
            if rank[node] == 0:
                choice[node] = _GIVEN
                continue
            # Some instance had its premises at their final costs in rounds before; one that only
            # has the right cost may be derived from its own head.
            choice[node] = next(
                instance
                for instance in self.derived[node]
                if sum([cost[p] for p in self.premises[instance]]) == cost[node]
                and all(rank[p] < rank[node] for p in self.premises[instance])
            )
            stack += self.premises[choice[node]]
        return choice

    def _below(self, through: Callable[[int], list[int]]) -> set[int]:
        """Return what the target comes from, through the instances that are followed."""
        out = {self.target}
        stack = [self.target]
        while stack:
            for instance in through(stack.pop()):
                for premise in self.premises[instance]:
                    if premise not in out:
                        out.add(premise)
                        stack.append(premise)
        return out


def cone_of(graph: Hypergraph, node: int, leaves: set[int]) -> Cone:
    """Return what a node is derived from."""
    order = np.argsort(graph.heads, kind="stable")
    bounds = np.searchsorted(graph.heads[order], np.arange(graph.nodes + 1))
    number = {node: 0}
    names = [node]
    heads: list[int] = []
    premises: list[list[int]] = []
    for at in names:  # which grows while it is walked
        for instance in order[bounds[at] : bounds[at + 1]].tolist():
            start, end = int(graph.start[instance]), int(graph.start[instance + 1])
            body = set(graph.premises[start:end].tolist())
            if at in body:
                continue  # a fact that needs itself gains nothing
            for premise in body:
                if premise not in number:
                    number[premise] = len(names)
                    names.append(premise)
            heads.append(number[at])
            premises.append(sorted(number[premise] for premise in body))
    uses: list[list[int]] = [[] for _ in names]
    derived: list[list[int]] = [[] for _ in names]
    for instance, needed in enumerate(premises):
        derived[heads[instance]].append(instance)
        for premise in needed:
            uses[premise].append(instance)
    inside = {number[leaf] for leaf in leaves if leaf in number}
    cone = Cone(0, names, inside, heads, premises, uses, derived)
    axioms = frozenset(heads[i] for i, needed in enumerate(premises) if not needed)
    cone.free = cone.reached(axioms)
    if sum(map(len, premises)) >= FEW:
        cone.arrays = _arrays_of(cone)
    return cone


def _arrays_of(cone: Cone) -> Arrays | None:
    # Instances without premises are known by what is free; the others are in order of their heads.
    kept = [instance for instance, body in enumerate(cone.premises) if body]
    if not kept:
        return None
    heads = np.array([cone.heads[instance] for instance in kept], np.int64)
    sizes = np.array([len(cone.premises[instance]) for instance in kept], np.int64)
    flat = np.array([p for instance in kept for p in cone.premises[instance]], np.int64)
    different, first = np.unique(heads, return_index=True)
    owner = np.repeat(np.arange(len(kept), dtype=np.int64), sizes)
    return Arrays(flat, owner, np.cumsum(sizes) - sizes, heads, different, first.astype(np.int64))
