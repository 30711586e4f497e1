"""Minimal witnesses: the sets of base facts that derive a fact and lose it with any member.

They come one at a time, each once, after Lawler (1972): a witness found splits the search into
parts that each lack one of its facts and have those before it. To say that a part holds no further
witness is hard in general, so the time between two of them has no bound but the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

import numpy as np

from whence.semiring.hypergraph import Hypergraph, Ints

Facts = frozenset[int]
_NONE: Facts = frozenset()
_GIVEN = -1


def minimal_witnesses(
    graph: Hypergraph,
    node: int,
    leaves: Iterable[int] | Ints,
    check: Callable[[], None] = lambda: None,
) -> Iterator[Facts]:
    """Yield the minimal sets of leaves from which alone a node is derived, small ones first.

    A leaf may be derived, too. The order is by size wherever a proof of fewest leaves, each
    counted as often as it is used, is one of a least set; elsewhere it is nearly so. `check` is
    called now and then, and may raise.
    """
    cone = _cone_of(graph, node, {int(leaf) for leaf in leaves})
    if cone.target in cone.reached(_NONE):
        yield _NONE
        return
    order = count()
    queue: list[tuple[int, int, _Part]] = []
    heappush(queue, (0, next(order), _Part()))
    while queue:
        check()
        least, _, part = heappop(queue)
        if part.witness is None:
            witness = _witness_in(cone, part)
            if witness is not None:
                size = max(least, len(witness | part.having))
                found = _Part(part.having, part.lacking, witness)
                heappush(queue, (size, next(order), found))
            continue
        if part.having <= part.witness:
            yield frozenset(cone.names[leaf] for leaf in part.witness)
        having = part.having
        for leaf in sorted(part.witness - part.having):
            heappush(queue, (least, next(order), _Part(having, part.lacking | {leaf})))
            having |= {leaf}


@dataclass(frozen=True, slots=True)
class _Part:
    """The minimal witnesses that have some leaves and lack others, and one that lacks these."""

    having: Facts = _NONE
    lacking: Facts = _NONE
    witness: Facts | None = None


def _witness_in(cone: _Cone, part: _Part) -> Facts | None:
    """Return a minimal witness that lacks what it must, None when no such part can have one.

    It need not have what it must: then it belongs to another part, and only splits this one.
    """
    for leaf in part.having:
        # What the others derive is in no minimal witness with them.
        if leaf in cone.reached(part.having - {leaf}, until=leaf):
            return None
    witness = cone.cheapest(part.having, part.lacking)
    if witness is None:
        return None
    # Leaves that the part must have go last, so that they stay where there is a choice.
    for leaf in sorted(witness, key=lambda leaf: (leaf in part.having, leaf)):
        if cone.target in cone.reached(witness - {leaf}, until=cone.target):
            witness -= {leaf}
    if not part.having <= witness and not part.having <= cone.useful(part.lacking):
        return None
    return witness


@dataclass(slots=True)
class _Cone:
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

    def reached(self, given: Facts, until: int = -1) -> set[int]:
        """Return the nodes derived from some leaves; the search may end once `until` is there."""
        out = self.free | given
        open_premises: dict[int, int] = {}
        stack = [node for node in given if node not in self.free]
        while stack and until not in out:
            for instance in self.uses[stack.pop()]:
                left = open_premises.get(instance)
                if left is None:
                    left = sum(p not in self.free for p in self.premises[instance])
                open_premises[instance] = left - 1
                head = self.heads[instance]
                if left == 1 and head not in out:
                    out.add(head)
                    stack.append(head)
        return out

    def cheapest(self, having: Facts, lacking: Facts) -> Facts | None:
        """Return the leaves of a proof with the fewest beside those it has for nothing.

        A leaf counts as often as the proof, written as a tree, names it (Knuth 1977).
        """
        cost: dict[int, int] = {}
        choice: dict[int, int] = {}
        queue = [(0, node, _GIVEN) for node in self.free]
        queue += [(int(n not in having), n, _GIVEN) for n in self.leaves if n not in lacking]
        queue.sort()
        left: dict[int, int] = {}
        while queue and self.target not in cost:
            price, node, instance = heappop(queue)
            if node in cost:
                continue
            cost[node], choice[node] = price, instance
            for user in self.uses[node]:
                open_premises = left.get(user, len(self.premises[user])) - 1
                left[user] = open_premises
                if open_premises == 0 and self.heads[user] not in cost:
                    total = sum([cost[premise] for premise in self.premises[user]])
                    heappush(queue, (total, self.heads[user], user))
        if self.target not in cost:
            return None
        proof = self._below(lambda node: [choice[node]] if choice[node] != _GIVEN else [])
        return frozenset(n for n in proof if choice[n] == _GIVEN and n not in self.free)

    def useful(self, lacking: Facts) -> set[int]:
        """Return the nodes that some proof without some leaves may use."""
        there = self.reached(frozenset(self.leaves - lacking))
        return self._below(
            lambda node: [i for i in self.derived[node] if there.issuperset(self.premises[i])]
        )

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


def _cone_of(graph: Hypergraph, node: int, leaves: set[int]) -> _Cone:
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
    cone = _Cone(0, names, inside, heads, premises, uses, derived)
    axioms = frozenset(heads[i] for i, needed in enumerate(premises) if not needed)
    cone.free = cone.reached(axioms)
    return cone
