"""Aggregate selections: where they are allowed, and that they keep the answers."""

from __future__ import annotations

import pytest

from network.rewrite.running import costs, distances, network, path_vector, settled
from whence.network.protocols.library import protocol, protocol_path
from whence.network.rewrite.aggregate_selections import aggregate_selections, found_selections
from whence.network.rewrite.passes import Options
from whence.network.rewrite.selection import AggregateSelection, parse_selection, selections
from whence.network.simulation import PLAIN
from whence.syntax.ndlog import parse_ndlog

TEXT = protocol_path("path_vector").read_text(encoding="utf-8")
ONE = AggregateSelection("path", (0, 1), "min", 4)


def why(change: tuple[str, str]) -> str:
    assert change[0] in TEXT
    found = found_selections(parse_ndlog(TEXT.replace(*change)))
    assert not found.chosen
    return found.refused[0][1]


def test_of_paths_only_the_shortest_between_two_nodes_go_on() -> None:
    program = aggregate_selections(path_vector())
    assert selections(program) == (ONE,)
    assert "// aggregateSelection path(1,2) min 5" in str(program)
    assert parse_selection(str(ONE)) == ONE


def test_periodic_selections_say_how_often() -> None:
    (one,) = selections(aggregate_selections(path_vector(), period=0.5))
    assert str(one) == "path(1,2) min 5 every 0.5"
    assert parse_selection(str(one)) == one


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("C = C1 + C2", "C = C1 - C2"), "rule `sp2` computes a value that does not only grow"),
        (("min<C>", "max<C>"), "rule `sp2` has a condition that what is best may fail"),
        (("spCost(@S,D,min<C>)", "spCost(@S,Z,min<C>)"), "rule `sp4` needs more of `path`"),
        (("Query shortestPath(@S,D,P,C)", "Query path(@S,D,Z,P,C)"), "`path` itself is asked for"),
        (("Query", "watch(path).\nQuery"), "`path` itself is watched"),
        (("Query", "x far(@S,D) :- path(@S,D,Z,P,C), C > 9.\nQuery"), "rule `x` needs more of `path`"),
        (("Query", "x no(@S,D) :- path(@D,S,Z,P,C), !path(@S,D,Z,P,C).\nQuery"), "rule `x` reads"),
        (("Query", "x none(@S,D) :- #link(@S,D,C), !path(@S,D,D,P,C).\nQuery"), "rule `x` denies"),
        (("Query", "x delete path(@S,D,Z,P,C) :- bad(@S,D,Z,P,C).\nQuery"), "rule `x` deletes from"),
        (("f_inPath(P2,S) = false", "f_size(P2) < 4"), "rule `sp2` has a condition"),
        (("path(@Z,D,Z2,P2,C2)", "path(@Z,D,Z2,P2,C2), #link(@Z,Z2,C3)"), "rule `sp2` joins by more"),
        (("path, infinity", "path, 10"), "`path` is not stored for good"),
        (("Query", "x least(@S,min<C>) :- path(@S,D,Z,P,C).\nQuery"), "aggregates over `path` group"),
    ],
)  # fmt: skip
def test_a_selection_that_would_change_answers_is_refused(
    change: tuple[str, str], reason: str
) -> None:
    assert why(change).startswith(reason)


def test_a_limit_on_the_side_of_the_best_is_no_hindrance() -> None:
    text = TEXT.replace("f_inPath(P2,S) = false", "C < 30")
    assert found_selections(parse_ndlog(text)).chosen == (ONE,)
    assert not found_selections(parse_ndlog(text.replace("C < 30", "C > 3"))).chosen


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("widest_path", ["path(1,2) max 5"]),
        ("shortest_cheapest_path", ["path(1,2) min 4", "path(1,2) min 5"]),
        ("dynamic_source_routing", ["request(1,2,3) min 5"]),
        ("all_paths", []),
        ("resilience", []),
        ("chord", []),
    ],
)
def test_programs_of_the_library_are_selected_from_where_that_helps(
    name: str, chosen: list[str]
) -> None:
    assert [str(one) for one in found_selections(protocol(name)).chosen] == chosen


@pytest.mark.parametrize("period", [None, 0.5])
def test_answers_stay_and_fewer_tuples_are_sent(period: float | None) -> None:
    links = network(7, 3, seed=3)
    plain = settled(path_vector(), links, PLAIN)
    less = settled(path_vector(), links, Options(period=period))
    assert less.rows("shortestPath") == plain.rows("shortestPath")
    assert costs(less) == distances(links)
    sent = [sum(node.updates_sent for node in made) for made in (plain, less)]
    assert sent[1] < sent[0] / 2


def test_what_is_deleted_gives_way_to_the_second_best() -> None:
    for period in (None, 0.5):
        links = network(8, 4, seed=4)
        made = settled(path_vector(), links, Options(period=period))
        gone = sorted(links)[:4]
        gone += [(b, a, c) for a, b, c in gone]
        left = links - set(gone)
        made.delete("link", *(row for row in dict.fromkeys(gone)))
        made.settle()
        assert costs(made) == distances(left)


def test_without_a_check_for_cycles_a_selection_lets_the_program_end() -> None:
    text = TEXT.replace("f_inPath(P2,S) = false, ", "")
    links = network(6, 2, seed=5)
    made = settled(parse_ndlog(text), links, Options())
    assert costs(made) == distances(links)


def test_a_period_spares_what_is_soon_replaced() -> None:
    links = network(14, 14, seed=6)
    sent = []
    for period in (None, 0.5):
        made = settled(path_vector(), links, Options(period=period))
        assert costs(made) == distances(links)
        sent.append(made.transport.counters.sent_bytes)  # type: ignore[attr-defined]
    assert sent[1] < sent[0]
