"""Predicate reordering and magic sets: the same answers for the nodes that a query names."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from network.rewrite.random_rules import networks
from whence.network.definition import central
from whence.network.protocols.library import protocol, protocol_path
from whence.network.rewrite.passes import Direction, Options, run_passes
from whence.network.rewrite.paths import find_paths
from whence.syntax.ndlog import parse_ndlog
from whence.syntax.nodes import Program

ASKED = {
    "path_vector": "shortestPath",
    "best_path": "bestPath",
    "widest_path": "bestPath",
    "qos_path": "bestPath",
    "shortest_cheapest_path": "shortestCheapestPath",
}
Links = set[tuple[str, str, int]]


def asking(name: str, source: str, destination: str) -> Program:
    """A protocol whose query names nodes; a capital letter is a node that it does not name."""
    program = protocol(name)
    (query,) = program.queries
    ends = parse_ndlog(f"Query {ASKED[name]}(@{source},{destination}).").queries[0].atom.args
    args = (*ends, *query.atom.args[2:])
    return replace(program, queries=(replace(query, atom=replace(query.atom, args=args)),))


def after(program: Program, name: str, **options: object) -> Program:
    steps = {step.name: step.program for step in run_passes(program, Options(**options))}  # type: ignore[arg-type]
    return steps[name]


def rules(program: Program) -> dict[str, str]:
    return {
        rule.name: " ".join(str(Program(rules=(rule,), dialect="ndlog")).split())
        for rule in program.rules
    }


def test_path_vector_becomes_dynamic_source_routing() -> None:
    found = rules(after(asking("path_vector", "a", "b"), "magic_sets"))
    assert found["sp1-sd"] == (
        "sp1-sd pathDst(S, @D, D, P, C) :- magicSrc(@S), #link(@S, D, C), P = f_init(S, D)."
    )
    assert found["sp2-sd"] == (
        "sp2-sd pathDst(S, @D, Z2, P, C) :- pathDst(S, @Z, Z2, P2, C2), #link(@Z, D, C1), "
        "f_inPath(P2, D) = false, P = f_concatPath(P2, D), C = C2 + C1."
    )
    assert found["sp3-sd"] == (
        "sp3-sd spCostDst(S, @D, min<C>) :- magicDst(@D), pathDst(S, @D, Z, P, C)."
    )


def test_a_query_for_a_destination_is_figure_8_1() -> None:
    program = after(asking("path_vector", "S", "a"), "magic_sets")
    assert rules(program)["sp1"] == (
        "sp1 path(@S, D, D, P, C) :- magicDst(@D), #link(@S, D, C), P = f_init(S, D)."
    )
    assert rules(program)[""] == "magicDst(@a)."
    assert "magicSrc" not in str(program)


def test_a_query_for_all_pairs_stays_as_it_is() -> None:
    program = asking("path_vector", "S", "D")
    assert after(program, "magic_sets") == program


def test_queries_may_come_later() -> None:
    program = after(asking("path_vector", "S", "D"), "magic_sets", later=True)
    assert "magicSrc(@S)" in str(program)
    assert all(rule.body for rule in program.rules)


def test_a_path_that_is_not_kept_gives_no_way_back() -> None:
    text = """
        materialize(#link, infinity, infinity, keys(1,2)).
        materialize(path, infinity, infinity, keys(1,2,3)).
        materialize(best, infinity, infinity, keys(1,2)).
        p1 path(@S,D,C) :- #link(@S,D,C).
        p2 path(@S,D,C) :- #link(@S,Z,C1), path(@Z,D,C2), C = C1 + C2.
        p3 best(@S,D,min<C>) :- path(@S,D,C).
        Query best(@a,D,C).
        """
    first, *_ = run_passes(parse_ndlog(text))
    assert first.program == parse_ndlog(text)
    assert first.notes == ("`best` has no path along which it could be sent back",)
    connected = run_passes(parse_ndlog(f"fullyConnected. {text}"))[0].program
    assert rules(connected)["back"] == "back best(@S, D, C) :- bestDst(S, @D, C)."


@pytest.mark.parametrize(
    "change",
    [
        ("C = C1 + C2", "C = C1 - C2"),
        ("C = C1 + C2", "C = C2 + C2"),
        ("#link(@S,Z,C1), ", "#link(@S,Z,C1), up(@Z), "),
        ("P = f_concatPath(S,P2)", "P = f_concatPath(P2,S)"),
        ("f_inPath(P2,S) = false", "f_size(P2) != 3"),
    ],
)
def test_other_recursions_are_not_turned_round(change: tuple[str, str]) -> None:
    text = protocol_path("path_vector").read_text(encoding="utf-8")
    assert change[0] in text
    assert find_paths(parse_ndlog(text))
    assert not find_paths(parse_ndlog(text.replace(*change)))


def test_who_reads_all_paths_keeps_them_where_they_are() -> None:
    text = protocol_path("path_vector").read_text(encoding="utf-8")
    text = text.replace(
        "Query shortestPath(@S", "far(@S,D) :- path(@S,D,Z,P,C), C > 9.\nQuery shortestPath(@a"
    )
    program = parse_ndlog(text)
    first, *_ = run_passes(program)
    assert first.program == program
    assert first.notes == ("rule `far` also reads `path`",)


@settings(max_examples=5)
@given(links=networks("abcd", most=4))
@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("search", ["from source", "from destination"])
def test_answers_to_a_query_stay(name: str, search: Direction, links: Links) -> None:
    wanted = central(protocol(name), {"link": links})[ASKED[name]]
    for source, destination in (("a", "b"), ("a", "D"), ("S", "b")):
        program = asking(name, source, destination)
        for after in dict.fromkeys(s.program for s in run_passes(program, Options(search=search))):
            found = central(after, {"link": links})[ASKED[name]]
            assert answers(found, source, destination) == answers(wanted, source, destination)


def answers(
    rows: set[tuple[object, ...]], source: str, destination: str
) -> set[tuple[object, ...]]:
    return {row for row in rows if source in ("S", row[0]) and destination in ("D", row[1])}


@settings(max_examples=8)
@given(links=networks("abcd", most=5))
def test_fewer_paths_are_followed_for_one_pair(links: Links) -> None:
    both = {"link": links}
    every = central(protocol("path_vector"), both)["path"]
    some = central(after(asking("path_vector", "a", "b"), "magic_sets"), both)["pathDst"]
    assert some == {row for row in every if row[0] == "a"}
