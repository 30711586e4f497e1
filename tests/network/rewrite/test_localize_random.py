"""Random programs mean the same before and after localization."""

from __future__ import annotations

from collections import Counter

from hypothesis import assume, given, settings

from network.rewrite.random_rules import Row, facts, networks, programs
from whence.diagnostics import ProgramError
from whence.network.definition import central
from whence.network.protocols.library import protocol
from whence.network.rewrite.localize import localize
from whence.network.rewrite.places import body_atoms, place, same_place
from whence.syntax.ndlog import parse_ndlog

LINKED = ("path_vector", "reachable", "resilience", "cycles", "policy_routing", "link_state")
seen: Counter[str] = Counter()


@given(text=programs(), rows=facts())
def test_answers_stay_and_bodies_are_local(text: str, rows: dict[str, set[Row]]) -> None:
    program = parse_ndlog(text)
    try:
        after = localize(program)
    except ProgramError as error:
        assume(error.diagnostics[0].code != "W1381")  # no tuple of one place names the other
        raise
    seen["localized"] += after is not program
    for rule in after.rules:
        places = [place(atom) for atom in body_atoms(rule.body)]
        assert all(same_place(here, places[0]) for here in places)
    wanted, found = central(program, rows), central(after, rows)
    assert {name: found[name] for name in wanted} == wanted


def test_many_random_programs_had_to_be_localized() -> None:
    assert seen["localized"] > 5


@settings(max_examples=12)
@given(links=networks(most=4))
def test_protocols_over_links_keep_their_answers(links: set[tuple[str, str, int]]) -> None:
    for name in LINKED:
        program = protocol(name)
        for backward in (True, False):
            after = localize(program, backward=backward)
            given_links = {"link": links, "excludeNode": {("a", "b")}}
            wanted, found = central(program, given_links), central(after, given_links)
            assert {name: found[name] for name in wanted} == wanted
