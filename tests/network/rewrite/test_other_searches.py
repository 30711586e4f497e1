"""Searches that meet half-way, end in a zone, or remember: the answers are those of networkx."""

from __future__ import annotations

import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from network.rewrite.random_rules import networks
from network.rewrite.running import (
    Links,
    asking,
    costs,
    distances,
    hop_count,
    network,
    path_vector,
    running,
    settled,
)
from whence.network.definition import central
from whence.network.rewrite.neighbourhood import (
    best_radii,
    cheapest_search,
    estimates,
    neighbourhood,
    neighbourhood_program,
    search_options,
)
from whence.network.rewrite.passes import Options, run_passes
from whence.syntax.ndlog import parse_ndlog
from whence.syntax.nodes import Program


def wanted(program: Program, links: Links) -> set[tuple[object, ...]]:
    rows = central(program, {"link": links})["shortestPath"]
    return {row for row in rows if row[:2] == ("a", "c")}


def changed(program: Program, options: Options) -> list[Program]:
    """The programs that are searched by: with their rules as made, and localized."""
    steps = {step.name: step.program for step in run_passes(program, options)}
    assert steps["hybrid_search"] != program
    return [steps["hybrid_search"], steps["localize"]]


@settings(max_examples=5)
@given(links=networks("abcd", most=5))
@pytest.mark.parametrize("radius", [(0, 4), (1, 3), (2, 2), (4, 0)])
def test_halves_that_meet_are_the_shortest_paths(radius: tuple[int, int], links: Links) -> None:
    for program in (hop_count(), path_vector()):
        query = asking(program, "a", "c")
        for after in changed(query, Options(search="hybrid", radius=radius)):
            assert wanted(after, links) == wanted(program, links)


@settings(max_examples=5)
@given(links=networks("abcd", most=5))
@pytest.mark.parametrize("hops", [1, 2])
def test_a_search_may_end_in_the_zone_of_its_target(hops: int, links: Links) -> None:
    query = asking(hop_count(), "a", "c")
    for after in changed(query, Options(search="zone", radius=(hops, 0))):
        assert wanted(after, links) == wanted(hop_count(), links)


def test_zones_do_not_know_the_best_where_links_have_costs() -> None:
    query = asking(path_vector(), "a", "c")
    notes = {step.name: step.notes for step in run_passes(query, Options(search="zone"))}
    assert notes["hybrid_search"][0].startswith("a walk that leaves a zone may be better")


def test_in_a_connected_network_what_was_found_is_sent_at_once() -> None:
    connected = parse_ndlog(f"fullyConnected.\n{hop_count()}")
    links = network(9, 4, seed=9)
    query = asking(connected, "n1", "n5")
    for search in ("hybrid", "zone", "from source"):
        made = settled(query, links, Options(search=search))  # type: ignore[arg-type]
        assert costs(made)["n1", "n5"] == distances(links, hops=True)["n1", "n5"]
        assert "Reply" not in str(made.program.source)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("Query", "far(@S,D) :- path(@S,D,Z,P,C), C > 9.\nQuery"), "also reads `path`"),
        (("min<C>", "max<C>"), "more of `path` is needed than the best"),
    ],
)
def test_what_is_not_best_does_not_meet(change: tuple[str, str], why: str) -> None:
    program = parse_ndlog(str(asking(path_vector(), "a", "c")).replace(*change))
    steps = run_passes(program, Options(search="hybrid"))
    assert steps[2].name == "hybrid_search"
    assert steps[2].program == steps[1].program
    notes = " ".join(note for step in steps for note in step.notes)
    assert why in notes


def test_a_hybrid_search_sends_less() -> None:
    links = network(40, 30, seed=1)
    far = max(pair := distances(links, hops=True), key=lambda ends: (pair[ends], ends))
    ahead = pair[far] // 2
    sent = {}
    for search, radius in (("from source", (0, 0)), ("hybrid", (ahead, pair[far] - ahead))):
        options = Options(search=search, radius=radius)  # type: ignore[arg-type]
        made = settled(asking(hop_count(), *far), links, options)
        assert costs(made)[far] == pair[far]
        sent[search] = made.transport.counters.sent_bytes  # type: ignore[attr-defined]
    assert sent["hybrid"] < sent["from source"]


# ── result caching


def test_later_searches_end_where_the_rest_of_the_way_is_known() -> None:
    links = network(16, 10, seed=2)
    least = distances(links)
    dice = random.Random(3)
    queries = [(f"n{dice.randrange(16)}", f"n{dice.choice((3, 9))}") for _ in range(24)]
    queries = [query for query in dict.fromkeys(queries) if query[0] != query[1]]
    made = running(path_vector(), links, Options(later=True, cache=600))
    sent = [0]
    for query in queries:
        made.insert("magicQuery", query)
        made.run(4)
        sent.append(made.transport.counters.sent)  # type: ignore[attr-defined]
    assert {pair: costs(made)[pair] for pair in queries} == {pair: least[pair] for pair in queries}
    each = np.diff(sent)
    third = len(each) // 3
    assert each[-third:].sum() < each[:third].sum() / 2
    assert 0 in each


def test_what_is_remembered_is_best_from_where_it_is() -> None:
    links = network(12, 8, seed=4)
    least = distances(links)
    made = running(path_vector(), links, Options(later=True, cache=600))
    for source in range(1, 6):
        made.insert("magicQuery", (f"n{source}", "n0"))
        made.run(4)
    kept = made.rows("shortestPathCache")
    assert len(kept) >= 6
    for node, target, path, cost in kept:
        assert node == target or cost == least[node, target]  # type: ignore[index]
        assert path[0] == node  # type: ignore[index]


def test_hops_are_counted_along_what_is_remembered() -> None:
    links = network(12, 8, seed=4)
    least = distances(links, hops=True)
    made = running(asking(hop_count(), "n5", "n0"), links, Options(cache=600))
    made.run(4)
    made.insert("magicQuery", ("n6", "n0"))
    made.run(4)
    pairs = [("n5", "n0"), ("n6", "n0")]
    assert [costs(made)[pair] for pair in pairs] == [least[pair] for pair in pairs]
    for node, target, _, hops in made.rows("shortestPathCache"):
        assert node == target or hops == least[node, target]  # type: ignore[index]


def test_costs_that_do_not_add_up_are_not_cached() -> None:
    text = str(path_vector()).replace("C1 + C2", "f_max(C1, C2)")
    notes = {s.name: s.notes for s in run_passes(parse_ndlog(text), Options(cache=9, later=True))}
    assert "not the sum of its links" in notes["cache_results"][0]


# ── the neighbourhood function


def test_nodes_count_their_neighbourhood_themselves() -> None:
    links = network(9, 4, seed=5)
    nodes = sorted({node for node, _, _ in links})
    asked = {(node, r) for node in nodes for r in (1, 2, 3)}
    found = central(neighbourhood_program(3), {"link": links, "radius": asked})["neighbourhood"]
    pairs = [(one, other) for one, other, _ in links]
    counts = {node: neighbourhood(pairs, node, 3) for node in nodes}
    assert found == {(node, r, counts[node][r] - 1) for node, r in asked}


def test_a_neighbourhood_is_what_networkx_reaches() -> None:
    links = [(one, other) for one, other, _ in network(20, 8, seed=6)]
    graph = nx.DiGraph(links)
    for node in graph:
        reach = nx.single_source_shortest_path_length(graph, node)
        exact = [sum(far <= r for far in reach.values()) for r in range(5)]
        assert neighbourhood(links, node, 4) == exact


def test_sketches_estimate_it() -> None:
    links = [(one, other) for one, other, _ in network(300, 300, seed=7)]
    found = estimates(links, 4, copies=256)
    ratios = [found[node][4] / neighbourhood(links, node, 4)[4] for node in found]
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)
    assert np.std(ratios) < 0.15


def test_a_search_begins_where_fewer_nodes_are() -> None:
    sparse, dense = [1, 2, 3, 4, 5], [1, 6, 36, 200, 900]
    assert best_radii(sparse, dense, 4) == (4, 0)
    assert best_radii(dense, sparse, 4) == (0, 4)
    assert best_radii(dense, dense, 4) == (2, 2)
    counts = {"a": sparse, "b": dense, "c": dense}
    assert cheapest_search(counts, "a", "b", 4) == "from source"
    assert cheapest_search(counts, "b", "a", 4) == "from destination"
    assert cheapest_search(counts, "b", "c", 4) == "hybrid"


def test_the_search_that_is_chosen_follows_fewest_walks() -> None:
    # a dense core around n0, and a long tail with n39 at its end
    core = network(20, 60, seed=8)
    tail = {(f"n{a}", f"n{b}", 1) for i in range(20, 40) for a, b in ((i - 1, i), (i, i - 1))}
    links = core | tail
    pairs = [(one, other) for one, other, _ in links]
    for source, target, likes in (("n39", "n21", 0), ("n0", "n33", 1), ("n0", "n14", None)):
        chosen = search_options(Options(), pairs, source, target)
        far = distances(links, hops=True)[source, target]
        assert sum(chosen.radius) == far
        assert likes is None or chosen.radius[likes] > far // 2
        followed = []
        for radius in (chosen.radius, (far, 0), (0, far)):
            options = Options(search="hybrid", radius=radius)
            made = settled(asking(hop_count(), source, target), links, options)
            assert costs(made)[source, target] == far
            followed.append(
                sum(
                    len(made.rows(name))
                    for name in ("pathDst", "pathSrc")
                    if name in made.program.relations
                )
            )
        assert followed[0] == min(followed)


def test_without_a_way_nothing_is_chosen() -> None:
    assert search_options(Options(), [("a", "b")], "b", "a") == Options()
    assert search_options(Options(), [("a", "b")], "a", "b", copies=8).search == "hybrid"
