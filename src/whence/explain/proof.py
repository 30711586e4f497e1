"""One proof of a fact: premises of lower rank, and so on down; a search where there are no ranks.

A rank is the round in which a fact was derived, so the first instance whose premises all have
lower ranks is one of least height among those that are computed together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from whence.diagnostics import DataError, Diagnostic
from whence.explain.cone import ground, too_large
from whence.explain.least import least_heights
from whence.explain.model import Cut, Derived, Fact, Given, Proof
from whence.explain.premises import Step, bindings_of, premises_of, step_of
from whence.explain.search import Instance, Search

Choice: TypeAlias = Callable[[Fact], Instance | None]
"""The instance that a proof takes for a fact, None for a fact that was given."""

_TRIED = 16
"""Instances of which the best is taken, where the first would do."""


class Unranked(Exception):
    """Ranks do not lead to a proof of a fact of this component, as after subsumption."""

    def __init__(self, component: int) -> None:
        super().__init__(component)
        self.component = component


class ByRank:
    """Chooses instances by the ranks of their premises."""

    def __init__(self, search: Search, is_base: Callable[[Fact], bool], limit: int) -> None:
        self._search = search
        self._is_base = is_base
        self._limit = limit
        self._searched: set[int] = set()
        """The components whose facts have no ranks, so that heights are found by a search."""
        self._chosen: dict[Fact, Instance | None] = {}

    def search_in(self, component: int) -> None:
        """Look for heights in this component instead of ranks."""
        self._searched.add(component)

    def __call__(self, fact: Fact) -> Instance | None:
        if self._is_base(fact):
            return None
        rules = self._search.rules
        component = rules.component.get(fact.relation, -1)
        together = rules.recursive.get(component)
        if together is None:
            found = self._lowest(self._search.instances(fact))
            if found is None:
                raise unsupported(fact)
            return found
        if component in self._searched:
            return self._by_height(fact, together)
        rank = self._search.tuples.rank(fact)
        if rank is None:
            raise Unranked(component)
        below = self._search.below(dict.fromkeys(together, rank))
        found = self._lowest(below.instances(fact))
        if found is None:
            raise Unranked(component)
        return found

    def _lowest(self, instances: Iterator[Instance]) -> Instance | None:
        """Return the instance that promises the lowest proof, of the first few."""
        some = list(islice(instances, _TRIED))
        if len(some) < 2:
            return some[0] if some else None
        return min(some, key=lambda i: max(map(self._promise, i.premises), default=0))

    def _promise(self, fact: Fact) -> int:
        if self._is_base(fact):
            return 0
        return 1 + (self._search.tuples.rank(fact) or 0)

    def _by_height(self, fact: Fact, together: frozenset[str]) -> Instance | None:
        """Choose by least height among facts computed together, which no choice goes up."""
        if fact not in self._chosen:
            graph = ground(
                self._search,
                self._is_base,
                fact,
                self._limit,
                within=together,
                beyond_base=False,
            )
            settled = least_heights(graph)
            for node, found in enumerate(graph.facts):
                if settled.values[node] is not None:
                    self._chosen[found] = settled.choice(found)
            if fact not in self._chosen:
                raise unsupported(fact)
        return self._chosen[fact]


def prove(
    search: Search,
    fact: Fact,
    choice: Choice,
    *,
    depth: int | None,
    over: int,
    limit: int,
    annotation: Callable[[Fact], object] = lambda _: None,
) -> Proof:
    """Return the proof that the choices make; the proof of a fact is made once.

    Facts that are `depth` steps away and not given are cut. No recursion: proofs can be very deep.
    """
    steps, distance = _collect(search, fact, choice, depth, over, limit)
    proofs: dict[Fact, Proof] = {}
    heights: dict[Fact, int | None] = {}
    for current in _premises_first(fact, steps):
        step = steps.get(current)
        if step is None:
            given = current in steps
            heights[current] = 0 if given else None
            proofs[current] = Given(current, annotation(current)) if given else Cut(current)
            continue
        below = [heights[premise] for premise in step.instance.premises]
        height = 1 + max((h for h in below if h is not None), default=0)
        heights[current] = None if None in below else height
        if depth is not None and distance[current] >= depth:
            proofs[current] = Cut(current, heights[current])
            continue
        proofs[current] = Derived(
            current,
            step.instance.rule.source,
            step.instance.rule.number,
            bindings_of(step.instance),
            premises_of(search, step, proofs.__getitem__),
            height,
            annotation(current),
        )
    return proofs[fact]


def _collect(
    search: Search, fact: Fact, choice: Choice, depth: int | None, over: int, limit: int
) -> tuple[dict[Fact, Step | None], dict[Fact, int]]:
    """Return the step that proves each fact, None of those given, and how far away each is.

    Beyond the depth that is shown, steps only tell heights, so those past the limit are left out.
    """
    steps: dict[Fact, Step | None] = {}
    distance = {fact: 0}
    order = [fact]
    for current in order:
        if len(steps) >= limit:
            if depth is None:
                raise too_large(fact, limit)
            if distance[current] >= depth:
                break
        instance = choice(current)
        step = steps[current] = None if instance is None else step_of(search, instance, over)
        for premise in step.facts() if step is not None else ():
            if premise not in distance:
                distance[premise] = distance[current] + 1
                order.append(premise)
    return steps, distance


def _premises_first(fact: Fact, steps: Mapping[Fact, Step | None]) -> Iterator[Fact]:
    """Yield every fact of a proof once, after all that it rests on."""
    done: set[Fact] = set()
    pending = [(fact, False)]
    while pending:
        current, ready = pending.pop()
        if current in done:
            continue
        if ready:
            done.add(current)
            yield current
            continue
        pending.append((current, True))
        step = steps.get(current)
        pending += [(f, False) for f in step.facts() if f not in done] if step is not None else []


def unsupported(fact: Fact) -> DataError:
    """Return the error that says that what a fact was derived from is not there any more."""
    return DataError(
        Diagnostic(
            "W0954",
            f"`{fact}` holds, but nothing that is there now derives it",
            hint="subsumption or `.limitsize` has dropped what it was derived from",
        )
    )
