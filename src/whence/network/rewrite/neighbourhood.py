"""The neighbourhood function N(x, r): how many nodes are within r hops of x, and what follows from
it for a search (Loo, 2006, section 8.3).

Exactly, by an NDlog program that nodes run in the background, or from sketches that neighbours
exchange: r messages of a few words for each link (Palmer, Gibbons and Faloutsos, 2002).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

import numpy as np

from whence.network.rewrite.options import Direction, Options
from whence.syntax.ndlog import parse_ndlog
from whence.syntax.nodes import Program

NodeT = TypeVar("NodeT", bound=Hashable)

_CORRECTION: Final = 0.77351  # Flajolet and Martin (1985)
_BITS: Final = 32

_TEXT: Final = """
materialize(#link, infinity, infinity, keys(1,2)).
materialize(near, infinity, infinity, keys(1,2,3)).
materialize(hops, infinity, infinity, keys(1,2)).
materialize(radius, infinity, infinity, keys(1,2)).
materialize(neighbourhood, infinity, infinity, keys(1,2)).

nh1 near(@X,Y,H) :- #link(@X,Y{rest}), H = 1.
nh2 near(@X,Y,H) :- #link(@X,Z{rest}), near(@Z,Y,H1), H1 < {radius}, X != Y, H = H1 + 1.
nh3 hops(@X,Y,min<H>) :- near(@X,Y,H).
nh4 neighbourhood(@X,R,count<Y>) :- radius(@X,R), hops(@X,Y,H), H <= R.
Query neighbourhood(@X,R,N).
"""


def neighbourhood_program(radius: int, *, metrics: int = 1) -> Program:
    """Return the program by which each node counts its neighbourhood; `radius` says how far.

    Rows (node, r) of the table `radius` ask for N(node, r), the node itself not counted. Links have
    so many `metrics` after their ends.
    """
    return parse_ndlog(_TEXT.format(radius=radius, rest=", _" * metrics))


def neighbourhood(links: Iterable[tuple[NodeT, NodeT]], node: NodeT, radius: int) -> list[int]:
    """Return N(node, r) for r from 0 on: how many nodes a search of so many hops reaches.

    >>> neighbourhood([("a", "b"), ("b", "c"), ("b", "d")], "a", 2)
    [1, 2, 4]
    """
    hops = list(neighbourhood_of(links, node).values())
    return [sum(far <= r for far in hops) for r in range(radius + 1)]


def _following(links: Iterable[tuple[NodeT, NodeT]]) -> dict[NodeT, list[NodeT]]:
    following: dict[NodeT, list[NodeT]] = {}
    for one, other in links:
        following.setdefault(one, []).append(other)
    return following


def estimates(
    links: Sequence[tuple[NodeT, NodeT]], radius: int, *, copies: int = 64, seed: int = 0
) -> dict[NodeT, list[float]]:
    """Return N(x, r) for every node x, estimated from `copies` sketches of 32 bits.

    The error is about 0.78 divided by the root of the number of copies.
    """
    nodes = list(dict.fromkeys(node for link in links for node in link))
    number = {node: i for i, node in enumerate(nodes)}
    start = np.fromiter((number[one] for one, _ in links), np.int64, len(links))
    end = np.fromiter((number[other] for _, other in links), np.int64, len(links))
    dice = np.random.default_rng(seed)
    heights = np.minimum(dice.geometric(0.5, (len(nodes), copies)) - 1, _BITS - 1)
    sketches = np.left_shift(np.uint64(1), heights.astype(np.uint64))
    found = [_counted(sketches)]
    for _ in range(radius):
        heard = sketches.copy()
        np.bitwise_or.at(heard, start, sketches[end])  # each node takes in what its links know
        sketches = heard
        found.append(_counted(sketches))
    return {node: [float(counts[i]) for counts in found] for node, i in number.items()}


def _counted(
    sketches: np.ndarray[tuple[int, ...], np.dtype[np.uint64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the sizes of the sets that sketches stand for: by the lowest bit that is not set."""
    lowest = ~sketches & (sketches + np.uint64(1))
    heights = np.log2(lowest.astype(np.float64)).mean(axis=1)
    return np.asarray(np.exp2(heights) / _CORRECTION, dtype=np.float64)


def best_radii(ahead: Sequence[float], behind: Sequence[float], distance: int) -> tuple[int, int]:
    """Return how far to search from source and destination so that fewest nodes take part.

    `ahead` and `behind` are their neighbourhood functions, `distance` is how many hops are between
    them. Of equals the one that goes further from the source is taken.

    >>> best_radii([1, 3, 9, 27], [1, 2, 3, 4], 3)
    (0, 3)
    >>> best_radii([1, 4, 13, 40], [1, 4, 13, 40], 2)
    (1, 1)
    """
    ways = [(r, distance - r) for r in range(distance + 1)]
    return min(ways, key=lambda way: (_at(ahead, way[0]) + _at(behind, way[1]), -way[0]))


def _at(counts: Sequence[float], radius: int) -> float:
    # Beyond what is known there is as much as at the end of it, or more.
    return counts[min(radius, len(counts) - 1)] if radius else 0.0


def cheapest_search(
    counts: Mapping[NodeT, Sequence[float]], source: NodeT, destination: NodeT, distance: int
) -> Direction:
    """Return which search sends least: from source, from destination, or hybrid.

    >>> cheapest_search({"a": [1, 5, 25], "b": [1, 2, 3]}, "a", "b", 2)
    'from destination'
    """
    ahead, behind = best_radii(counts[source], counts[destination], distance)
    if not behind:
        return "from source"
    return "hybrid" if ahead else "from destination"


def search_options(
    options: Options,
    links: Sequence[tuple[NodeT, NodeT]],
    source: NodeT,
    destination: NodeT,
    *,
    copies: int | None = None,
) -> Options:
    """Return options for the search between two nodes that reaches fewest others.

    It is a hybrid one even if one radius is 0, as other searches do not stop at a distance. For
    walks measured in hops: others may be best though they are longer. N is counted, or estimated
    from so many `copies` of sketches. Where there is no way nothing is changed.
    """
    reached = neighbourhood_of(links, source)
    distance = reached.get(destination)
    if not distance:
        return options
    if copies is None:
        counts: Mapping[NodeT, Sequence[float]] = {
            source: neighbourhood(links, source, distance),
            destination: neighbourhood([(b, a) for a, b in links], destination, distance),
        }
    else:
        counts = estimates(links, distance, copies=copies)
    radius = best_radii(counts[source], counts[destination], distance)
    return replace(options, search="hybrid", radius=radius)


def neighbourhood_of(links: Iterable[tuple[NodeT, NodeT]], node: NodeT) -> dict[NodeT, int]:
    """Return the nodes that can be reached, each with the hops to it."""
    following = _following(links)
    found, frontier = {node: 0}, [node]
    while frontier:
        further = dict.fromkeys(y for x in frontier for y in following.get(x, ()) if y not in found)
        hops = found[frontier[0]] + 1
        found.update((y, hops) for y in further)
        frontier = list(further)
    return found
