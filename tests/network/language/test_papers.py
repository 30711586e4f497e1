"""The programs of the papers are right: at most warnings, and those that are known."""

from __future__ import annotations

import pytest

from whence.analysis.ndlog.check import check_ndlog
from whence.network.protocols.library import PROTOCOLS, protocol
from whence.syntax.format import format_source
from whence.syntax.ndlog import parse_ndlog

FIGURE_2_2 = """
materialize(#link,infinity,infinity,keys(1,2)).
materialize(path,infinity,infinity,keys(1,2,3,4)).
materialize(spCost,infinity,infinity,keys(1,2)).
materialize(shortestPathHop,infinity,infinity,keys(1,2)).
sh1 path(@S,D,D,C) :- #link(@S,D,C).
sh2 path(@S,D,Z,C) :- #link(@S,Z,C1), path(@Z,D,Z2,C2), C = C1 + C2.
sh3 spCost(@S,D,min<C>) :- path(@S,D,Z,C).
sh4 shortestPathHop(@S,D,Z,C) :- spCost(@S,D,C), path(@S,D,Z,C).
Query shortestPathHop(@S,D,Z,C).
"""
FIGURE_8_2 = """
materialize(#link,infinity,infinity,keys(1,2)).
materialize(magicSrc,infinity,infinity,keys(1)).
materialize(magicDst,infinity,infinity,keys(1)).
materialize(pathDst,infinity,infinity,keys(4)).
materialize(spCost,infinity,infinity,keys(1,2)).
materialize(shortestPath,infinity,infinity,keys(1,2)).
sp1-sd pathDst(S,@D,D,P,C) :- magicSrc(@S), #link(@S,D,C), P = f_init(S,D).
sp2-sd pathDst(S,@D,Z,P,C) :- pathDst(S,@Z,Z1,P1,C1), #link(@Z,D,C2),
                              C = C1 + C2, P = f_concatPath(P1,D).
sp3-sd spCost(S,@D,min<C>) :- magicDst(@D), pathDst(S,@D,Z,P,C).
sp4-sd shortestPath(S,@D,P,C) :- spCost(S,@D,C), pathDst(S,@D,Z,P,C).
Query shortestPath(S,@D,P,C).
"""


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_of_the_library_has_no_errors(name):
    found = check_ndlog(protocol(name))
    assert all(diagnostic.severity == "warning" for diagnostic in found), found


def test_the_archives_of_chord_and_narada_are_warned_of():
    assert "W1333" in {d.code for d in check_ndlog(protocol("chord"))}
    assert "W1333" in {d.code for d in check_ndlog(protocol("narada"))}


@pytest.mark.parametrize("text", [FIGURE_2_2, FIGURE_8_2], ids=["2.2", "8.2"])
def test_a_figure_that_ends_only_by_aggregate_selections_says_so(text):
    (found,) = check_ndlog(parse_ndlog(text))
    assert (found.code, found.severity) == ("W1331", "warning")
    assert "spCost" in found.notes[0]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_layout_of_a_protocol_is_the_same_protocol(name):
    program = protocol(name)
    text = str(program)
    assert str(parse_ndlog(format_source(text, dialect="ndlog"))) == text
