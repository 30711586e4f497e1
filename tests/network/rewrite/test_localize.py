"""Localization: every body at one place, and the same answers."""

from __future__ import annotations

import pytest

from whence.diagnostics import ProgramError
from whence.network.definition import central
from whence.network.protocols.library import PROTOCOLS, protocol
from whence.network.rewrite.localize import localize
from whence.network.rewrite.places import body_atoms, place, same_place
from whence.syntax.ndlog import parse_ndlog
from whence.syntax.nodes import Program

LINK = "materialize(#link, infinity, infinity, keys(1,2)).\n"


def localized(text: str, **options: bool) -> list[str]:
    """The rules after localization, one a line."""
    program = localize(parse_ndlog(text), **options)
    printed = str(Program(rules=program.rules, dialect="ndlog"))
    return " ".join(printed.split()).replace(". ", ".\n").splitlines()


def tables(text: str) -> dict[str, tuple[float | None, int | None, tuple[int, ...]]]:
    program = localize(parse_ndlog(text))
    return {t.relation: (t.lifetime, t.size, t.keys) for t in program.tables}


def is_local(program: Program) -> bool:
    for rule in program.rules:
        places = [place(atom) for atom in body_atoms(rule.body)]
        if not all(same_place(here, places[0]) for here in places):
            return False
    return True


def test_the_rule_of_figure_5_3_becomes_two() -> None:
    assert localized(
        LINK
        + "materialize(path, infinity, infinity, keys(4)).\n"
        + "sp2 path(@S,D,Z,P,C) :- #link(@S,Z,C1), path(@Z,D,Z2,P2,C2), C = C1 + C2,"
        + " P = f_concatPath(S,P2)."
    ) == [
        "sp2a linkD(S, @Z, C1) :- #link(@S, Z, C1).",
        "sp2b path(@S, D, Z, P, C) :- linkD(S, @Z, C1), path(@Z, D, Z2, P2, C2), #link(@Z, S, _), "
        "C = C1 + C2, P = f_concatPath(S, P2).",
    ]


def test_the_way_back_needs_no_link_where_the_head_is_at_the_other_end() -> None:
    rules = localized(
        LINK + "r h(@D,S,C) :- #link(@S,D,C), p(@D,C). materialize(p,infinity,1,keys(1))."
    )
    assert rules == [
        "ra linkD(S, @D, C) :- #link(@S, D, C).",
        "rb h(@D, S, C) :- linkD(S, @D, C), p(@D, C).",
    ]


def test_the_way_back_can_be_that_of_the_question() -> None:
    program = LINK + "materialize(p,infinity,1,keys(1)). r h(@S,C) :- #link(@S,D,_), p(@D,C)."
    assert localized(program)[1] == "rb h(@S, C) :- linkD_1_2(S, @D), p(@D, C), #link(@D, S, _)."
    assert localized(program, backward=False)[1] == "rb h(@S, C) :- linkD_1_2(S, @D), p(@D, C)."


def test_a_link_back_that_is_there_already_is_not_asked_for_twice() -> None:
    program = LINK + "r h(@S,C2) :- #link(@S,D,_), back(@D,S,C2). materialize(back,9,9,keys(1,2))."
    assert "#link(@D, S, _)" in localized(program)[1]
    own = program.replace("back(@D,S,C2)", "link(@D,S,C2)")
    assert localized(own)[1] == "rb h(@S, C2) :- linkD_1_2(S, @D), link(@D, S, C2)."


def test_rules_that_send_the_same_share_what_they_send() -> None:
    rules = localized(
        LINK
        + """
        materialize(p, infinity, infinity, keys(1,2)).
        materialize(q, infinity, infinity, keys(1,2)).
        a p(@S,D) :- #link(@S,Z,C), p(@Z,D), C < 9.
        b q(@S,D) :- #link(@S,Z,C), q(@Z,D).
        c q(@S,C) :- #link(@S,Z,C1), p(@Z,C2), C = C1 + C2.
        d p(@S,C) :- #link(@S,Y,C1), q(@Y,C2), C = C1 + C2.
        """
    )
    assert [rule.split("(")[0] for rule in rules] == [
        "aa p_a", "ab p", "ba linkD_1_2", "bb q", "ca linkD", "cb q", "d p",
    ]  # fmt: skip


def test_a_relation_of_the_program_is_not_taken_for_what_is_sent() -> None:
    rules = localized(
        LINK
        + "materialize(linkD,infinity,infinity,keys(1)). materialize(p,infinity,infinity,keys(1))."
        + "r p(@D,S,C) :- #link(@S,D,C), linkD(@D,S)."
    )
    assert rules[0] == "ra linkD_2(S, @D, C) :- #link(@S, D, C)."


def test_what_is_sent_lives_as_long_as_what_it_is_made_of() -> None:
    found = tables(
        """
        fullyConnected.
        materialize(p, 30, 7, keys(2)).
        materialize(q, 10, 5, keys(1,2)).
        materialize(t, infinity, infinity, keys(1)).
        a t(@Y,X) :- p(@X,A), q(@X,Y), t(@Y,A).
        b t(@Y,X) :- t(@X,Y), p(@Y,X).
        """
    )
    # keys of p hold at one node only, so the node that sent it belongs to the key
    assert found["t_a"] == (10, None, ())
    assert found["tD"] == (None, None, (1,))


def test_links_that_are_sent_are_as_many_and_as_old_as_links() -> None:
    found = tables("materialize(#link, 10, 50, keys(1,2)). materialize(p,infinity,infinity,keys(1)).\n"
                   "p(@S,C) :- #link(@S,Z,C1), p(@Z,C2), C = C1 + C2.")  # fmt: skip
    assert found["linkD"] == (10, 50, (1, 2))


def test_senders_do_not_overwrite_each_other() -> None:
    found = tables(
        """
        fullyConnected.
        materialize(succ, 10, 16, keys(2)).
        materialize(p, infinity, infinity, keys(1)).
        r p(@SI,N,S) :- succ(@N,S,SI), p(@SI,A,B).
        """
    )
    assert found["succAt3"] == (10, None, (1, 2))


def test_an_event_is_sent_to_tables_and_stays_an_event() -> None:
    program = """
        fullyConnected.
        materialize(nodeID, infinity, 1, keys(1)).
        materialize(bestSucc, 180, 1, keys(1)).
        materialize(pred, infinity, 1, keys(1)).
        materialize(succ, 30, 16, keys(2)).
        sb1 succ(@NI,P,PI) :- periodic(@NI,E,10), nodeID(@NI,N), bestSucc(@NI,S,SI), pred(@SI,P,PI),
                              PI != "NIL", P in (N,S).
        """
    assert localized(program) == [
        "sb1a succ_sb1(NI, N, S, @SI) :- periodic(@NI, E, 10), nodeID(@NI, N), "
        "bestSucc(@NI, S, SI).",
        'sb1b succ(@NI, P, PI) :- succ_sb1(NI, N, S, @SI), pred(@SI, P, PI), PI != "NIL", '
        "P in (N, S).",
    ]
    assert "succ_sb1" not in tables(program)


def test_an_event_travels_though_it_is_written_last() -> None:
    rules = localized(
        """
        fullyConnected.
        materialize(p, infinity, 1, keys(1)).
        materialize(q, infinity, 1, keys(1)).
        r h(@Z,X) :- q(@Z,X), p(@Y,Z), ev(@X,Y).
        """
    )
    assert rules == [
        "ra evD(X, @Y) :- ev(@X, Y).",
        "rb h_r(X, @Z) :- evD(X, @Y), p(@Y, Z).",
        "rc h(@Z, X) :- h_r(X, @Z), q(@Z, X).",
    ]


def test_a_table_is_sent_to_an_event_that_does_not_know_its_place() -> None:
    rules = localized(
        """
        fullyConnected.
        materialize(p, infinity, 1, keys(1)).
        r h(@X,Z) :- ev(@Y,Z), p(@X,Y).
        """
    )
    assert rules == ["ra pD(X, @Y) :- p(@X, Y).", "rb h(@X, Z) :- pD(X, @Y), ev(@Y, Z)."]


def test_a_place_may_be_computed() -> None:
    rules = localized(
        """
        fullyConnected.
        materialize(p, infinity, 1, keys(1)).
        materialize(q, infinity, 1, keys(1)).
        r h(@X,Z) :- p(@X,L), Y = f_head(L), q(@Y,Z).
        """
    )
    assert rules[0] == "ra h_r(X, @Y) :- p(@X, L), Y = f_head(L)."


def test_time_is_that_of_the_node_that_concludes() -> None:
    rules = localized(
        """
        fullyConnected.
        materialize(p, infinity, 1, keys(1)).
        r h(@X,T) :- ev(@X,Y), T = f_now(), p(@Y,_).
        """
    )
    assert rules[1] == "rb h(@X, T) :- evD(X, @Y), p(@Y, _), T = f_now()."


def test_a_denial_is_looked_at_where_it_is_once_its_values_are_known() -> None:
    rules = localized(
        """
        fullyConnected.
        materialize(p, infinity, infinity, keys(1,2)).
        materialize(q, infinity, infinity, keys(1,2)).
        materialize(bad, infinity, infinity, keys(1,2)).
        r h(@X,Z) :- p(@X,Y), !bad(@X,Y), q(@Y,Z), !bad(@X,Z), !bad(@Z,X).
        """
    )
    assert rules == [
        "ra h_r(X, @Y) :- p(@X, Y), !bad(@X, Y).",
        "rb h_r_2(@X, Z) :- h_r(X, @Y), q(@Y, Z).",
        "rc h_r_3(X, @Z) :- h_r_2(@X, Z), !bad(@X, Z).",
        "rd h(@X, Z) :- h_r_3(X, @Z), !bad(@Z, X).",
    ]


def test_an_aggregate_over_several_nodes_gets_its_rows_first() -> None:
    rules = localized(LINK + "materialize(degree,infinity,infinity,keys(1)).\n"
                      "d degree(@D,count<*>) :- #link(@S,D,_).")  # fmt: skip
    assert rules == [
        "da degree_d(@D, S, W0) :- #link(@S, D, W0).",
        "db degree(@D, count<*>) :- degree_d(@D, S, W0).",
    ]


def test_an_aggregate_that_chooses_a_node_is_computed_before_it_is_sent() -> None:
    rule = "l3 lookup(min<@BI>,K) :- ev(@NI,K), finger(@NI,BI)."
    text = "fullyConnected. materialize(finger,infinity,infinity,keys(1,2))." + rule
    assert localized(text) == ["l3 lookup(min<@BI>, K) :- ev(@NI, K), finger(@NI, BI)."]


def test_what_an_event_finds_at_several_nodes_is_not_aggregated() -> None:
    with pytest.raises(ProgramError) as caught:
        localized("fullyConnected. materialize(p,infinity,1,keys(1))."
                  "n h(@X,count<*>) :- ev(@X,Y), p(@Y,_).")  # fmt: skip
    assert caught.value.diagnostics[0].code == "W1382"


def test_without_links_nothing_can_be_sent() -> None:
    with pytest.raises(ProgramError) as caught:
        localized("materialize(p,infinity,1,keys(1)). r h(@X,Z) :- p(@X,Y), p(@Y,Z).")
    assert caught.value.diagnostics[0].code == "W1380"


def test_a_place_that_no_tuple_names_is_not_found() -> None:
    with pytest.raises(ProgramError) as caught:
        localized("fullyConnected. materialize(p,infinity,1,keys(1)). r h(@X) :- p(@X,A), p(@Y,A).")
    assert caught.value.diagnostics[0].code == "W1381"


def test_alternatives_at_different_places_are_rules_of_their_own() -> None:
    rules = localized(
        """
        fullyConnected.
        materialize(p, infinity, infinity, keys(1,2)).
        materialize(q, infinity, infinity, keys(1,2)).
        r h(@X,Y) :- p(@X,Y), (q(@X,Y) || q(@Y,X)).
        """
    )
    assert rules == [
        "r h(@X, Y) :- p(@X, Y), q(@X, Y).",
        "ra pD(X, @Y) :- p(@X, Y).",
        "rb h(@X, Y) :- pD(X, @Y), q(@Y, X).",
    ]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_program_of_the_library_becomes_local(name: str) -> None:
    program = protocol(name)
    after = localize(program)
    assert is_local(after)
    assert localize(after) == after


def test_links_both_ways_lead_to_the_same_paths() -> None:
    program = protocol("path_vector")
    both = {("a", "b", 1), ("b", "c", 2), ("a", "c", 5), ("c", "d", 1)}
    facts = {"link": both | {(d, s, c + 1) for s, d, c in both}}
    before, after = central(program, facts), central(localize(program), facts)
    assert len(before["shortestPath"]) == 12
    assert after["shortestPath"] == before["shortestPath"]


def test_what_is_sent_of_a_window_goes_when_that_goes() -> None:
    text = "materialize(#link, 10, 50, keys(1,2)). materialize(p,infinity,infinity,keys(1))."
    program = parse_ndlog(text + "p(@S,C) :- #link(@S,Z,C1), p(@Z,C2), C = C1 + C2.")
    kept = {table.relation: table for table in localize(program, windows=("link",)).tables}
    assert kept["linkD"].lifetime is None
