"""Searches on simulated nodes keep up with links that come and go."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network.rewrite.random_rules import networks
from network.rewrite.running import Links, asking, costs, distances, hop_count, path_vector, running
from whence.network.rewrite.passes import Options

NODES = "abcde"
WAYS = {
    "all pairs": Options(),
    "all pairs, now and then": Options(period=0.3),
    "all pairs, now and then, with provenance": Options(period=0.3),
    "messages are shared, with provenance": Options(share=0.2),
    "messages are shared": Options(share=0.2),
    "no link back": Options(backward=False),
    "from source": Options(search="from source"),
    "from destination": Options(search="from destination"),
    "hybrid": Options(search="hybrid", radius=(2, 2)),
    "zone": Options(search="zone", radius=(1, 0)),
}


@settings(max_examples=8)
@given(states=st.lists(networks(NODES, most=6), min_size=1, max_size=3))
@pytest.mark.parametrize("way", WAYS)
def test_after_each_change_the_answers_are_those_of_networkx(way: str, states: list[Links]) -> None:
    hops = way in ("hybrid", "zone")
    program = hop_count() if hops else path_vector()
    one_pair = WAYS[way].search != "auto"
    if one_pair:
        program = asking(program, "a", "d")
    everywhere = {(node, node, 1) for node in NODES}
    scheme = "absorption" if "provenance" in way else "auto"
    made = running(program, everywhere, WAYS[way], scheme)  # so that there are nodes
    made.delete("link", *sorted(everywhere))
    made.settle()
    now: Links = set()
    for links in states:
        changes = [(-1, "link", row) for row in sorted(now - links)]
        changes += [(1, "link", row) for row in sorted(links - now)]
        made.update(changes)
        made.settle()
        now = links
        least, found = distances(links, hops=hops), costs(made)
        for answers in (least, found) if one_pair else ():
            for pair in set(answers) - {("a", "d")}:
                del answers[pair]  # nobody asked
        assert found == least
