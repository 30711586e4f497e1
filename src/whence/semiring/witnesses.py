"""Minimal witnesses: the sets of base facts that derive a fact and lose it with any member.

They come one at a time, each once, after Lawler (1972): a witness found splits the search into
parts that each lack one of its facts and have those before it. To say that a part holds no further
witness is hard in general, so the time between two of them has no bound but the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from whence.semiring.cone import Cone, Facts, cone_of
from whence.semiring.hypergraph import Hypergraph, Ints

_NONE: Facts = frozenset()


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
    cone = cone_of(graph, node, {int(leaf) for leaf in leaves})
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


def _witness_in(cone: Cone, part: _Part) -> Facts | None:
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
