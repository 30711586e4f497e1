"""Bursts of changes of links: those of Hypothesis, and random ones that keep a graph connected."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterable, Iterator, Mapping

from hypothesis import settings
from hypothesis import strategies as st

Changes = Mapping[tuple[str, str], int | None]
"""New costs of links between two nodes, both ways; None for a link that goes."""

few = settings(max_examples=max(1, int(os.environ.get("WHENCE_EXAMPLES", "500")) // 60))


def bursts(
    nodes: Iterable[str], *, most: int = 4, directed: bool = False
) -> st.SearchStrategy[list[Changes]]:
    """Return a strategy for bursts, of which the first makes a network."""
    pairs = list((itertools.permutations if directed else itertools.combinations)(nodes, 2))
    costs = st.integers(1, 5)
    first = st.dictionaries(st.sampled_from(pairs), costs, min_size=3, max_size=len(pairs))
    later = st.dictionaries(st.sampled_from(pairs), st.none() | costs, min_size=1, max_size=4)
    rest = st.lists(later, max_size=most - 1)
    return st.tuples(first, rest).map(lambda both: [both[0], *both[1]])


def random_bursts(nodes: Iterable[str], *, links: int, bursts: int, seed: int) -> Iterator[Changes]:
    """Yield a connected network, then bursts of a tenth of its links that go, come and change."""
    dice = random.Random(seed)
    names = list(nodes)
    pairs = list(itertools.combinations(names, 2))
    made = {(dice.choice(names[:i]), names[i]) for i in range(1, len(names))}
    while len(made) < links:
        made.add(dice.choice(pairs))
    yield {pair: dice.randint(1, 9) for pair in sorted(made)}
    for _ in range(bursts):
        touched: dict[tuple[str, str], int | None] = {}
        for pair in dice.sample(sorted(made), max(1, links // 10)):
            touched[pair] = dice.choice([None, dice.randint(1, 9)])
        touched[dice.choice(pairs)] = dice.randint(1, 9)
        yield touched
