"""The worked example of Liu et al. 2008, figure 2, in synchronous rounds."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.network.provenance.definition import (
    EXAMPLE,
    SHIPS,
    Link,
    Rounds,
    Shipped,
    Sum,
    absorb,
    overdeletion,
)


def _sum(*products: str) -> Sum:
    return frozenset(frozenset(p.split()) for p in products)


TABLE = {
    ("A", "A"): _sum("p1 p2 p3"),
    ("A", "B"): _sum("p1"),
    ("A", "C"): _sum("p1 p2"),
    ("B", "A"): _sum("p2 p3"),
    ("B", "B"): _sum("p2 p4", "p1 p2 p3"),
    ("B", "C"): _sum("p2"),
    ("C", "A"): _sum("p3"),
    ("C", "B"): _sum("p4", "p1 p3"),
    ("C", "C"): _sum("p2 p4", "p1 p2 p3"),
}


@pytest.mark.parametrize("ship", ["plain", "eager"])
def test_the_final_table_is_the_printed_one(ship: str) -> None:
    assert Rounds(EXAMPLE, ship).view == TABLE


def test_lazy_shipping_holds_less_at_the_receiver_and_the_rest_waits_at_the_sender() -> None:
    rounds = Rounds(EXAMPLE, "lazy")
    assert rounds.view == TABLE | {("B", "B"): _sum("p2 p4")}
    assert rounds.sites["C"].buffered[("B", "B")] == _sum("p1 p2 p3")


@pytest.mark.parametrize(
    ("ship", "count"), [("set", 16), ("lazy", 16), ("plain", 20), ("eager", 19)]
)
def test_tuples_shipped_to_derive_the_view(ship: str, count: int) -> None:
    assert len(Rounds(EXAMPLE, ship).shipped) == count


def test_eager_saves_the_derivation_that_what_was_sent_absorbs() -> None:
    plain, eager = (
        {(m.source, m.target, m.row, m.annotation) for m in Rounds(EXAMPLE, ship).shipped}
        for ship in ("plain", "eager")
    )
    assert plain - eager == {("B", "C", ("C", "B"), _sum("p1 p2 p3 p4"))}


def _deletion(ship: str) -> tuple[list[Shipped], dict[Link, Sum]]:
    rounds = Rounds(EXAMPLE, ship)
    before = len(rounds.shipped)
    rounds.delete(("C", "B"))
    return rounds.shipped[before:], rounds.view


@pytest.mark.parametrize("ship", ["plain", "eager"])
def test_a_deletion_is_one_message_to_each_other_node(ship: str) -> None:
    shipped, view = _deletion(ship)
    assert [(m.sign, m.target) for m in shipped] == [("0", "A"), ("0", "B")]
    assert view.keys() == TABLE.keys()


def test_a_lazy_deletion_promotes_what_waited_and_what_follows_from_it() -> None:
    # Two messages say that p4 is false, two promote BB and BC. B then derives AB from BB, and must
    # send it though A needs it not: all that B had sent of AB was false.
    shipped, view = _deletion("lazy")
    assert [(m.sign, m.source, m.target, "".join(m.row)) for m in shipped] == [
        ("0", "C", "A", "CB"),
        ("0", "C", "B", "CB"),
        ("+", "C", "B", "BB"),
        ("+", "C", "B", "BC"),
        ("+", "B", "A", "AB"),
    ]
    assert view.keys() == TABLE.keys()


def test_over_deletion_ships_the_whole_table_twice() -> None:
    shipped, reachable = overdeletion(list(EXAMPLE), ("C", "B"))
    kinds = [(m.sign, m.relation) for m in shipped]
    assert kinds.count(("-", "link")) == 1
    assert kinds.count(("-", "reachable")) == 12
    assert kinds.count(("+", "reachable")) == 9
    assert len(shipped) == 22
    assert reachable == set(TABLE)


LINKS = st.sets(st.tuples(st.sampled_from("ABCD"), st.sampled_from("ABCD")), min_size=1, max_size=8)


def _named(links: set[Link]) -> dict[Link, str]:
    return {link: f"p{i}" for i, link in enumerate(sorted(links))}


def _walks(links: dict[Link, str]) -> dict[Link, Sum]:
    """Return the sets of links on all walks that repeat no node inside, by brute force."""
    found: dict[Link, set[frozenset[str]]] = {}
    ways = [list(link) for link in links]
    while ways:
        way = ways.pop()
        products = found.setdefault((way[0], way[-1]), set())
        products.add(frozenset(links[step] for step in pairwise(way)))
        if way[-1] not in way[:-1]:
            ways += [[*way, z] for x, z in links if x == way[-1]]
    return {row: absorb(products) for row, products in found.items()}


@given(LINKS)
def test_annotations_are_the_minimal_sets_of_links_that_connect(links: set[Link]) -> None:
    named = _named(links)
    judge = _walks(named)
    for ship in ("plain", "eager"):
        assert Rounds(named, ship).view == judge
    lazy = Rounds(named, "lazy").view
    assert lazy.keys() == judge.keys()
    assert all(absorb(judge[row] | annotation) == judge[row] for row, annotation in lazy.items())


@given(LINKS, st.data())
def test_every_way_to_delete_leaves_what_is_still_reachable(
    links: set[Link], data: st.DataObject
) -> None:
    named = _named(links)
    gone = data.draw(st.sampled_from(sorted(links)))
    judge = _walks({link: name for link, name in named.items() if link != gone})
    for ship in SHIPS[1:]:
        rounds = Rounds(named, ship)
        rounds.delete(gone)
        assert rounds.view.keys() == judge.keys()
    assert overdeletion(list(named), gone)[1] == judge.keys()
