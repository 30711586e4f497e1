"""`#include` brings rules of other programs, with their tables."""

from __future__ import annotations

import pytest

from whence.diagnostics import ProgramError
from whence.syntax.ndlog import parse_ndlog

BEST = """
materialize(link, infinity, infinity, keys(1,2)).
materialize(path, infinity, infinity, keys()).
materialize(cost, infinity, infinity, keys(1,2)).
bp1 path(@S,D,C) :- #link(@S,D,C).
bp2 path(@S,D,C) :- #link(@S,Z,C1), path(@Z,D,C2), C = C1 + C2, C < 9.
bp3 cost(@S,D,min<C>) :- path(@S,D,C).
link(@a, b, 1).
watch(path).
Query cost(@S,D,C).
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "best.ndlog").write_text(BEST)
    return tmp_path


def parsed(text, folder):
    return parse_ndlog(text, "main.ndlog", folder=folder)


def code_of(text, folder):
    with pytest.raises(ProgramError) as caught:
        parsed(text, folder)
    (found,) = caught.value.diagnostics
    assert found.span
    return found.code


def test_rules_come_by_label_and_bring_the_tables_that_they_use(folder):
    program = parsed('#include("best.ndlog", bp1)\nx p(@S) :- path(@S,D,C).', folder)
    assert [rule.name for rule in program.rules] == ["bp1", "x"]
    assert {table.relation for table in program.tables} == {"link", "path"}


def test_a_whole_file_comes_without_its_facts_watches_and_queries(folder):
    program = parsed('#include("best.ndlog")', folder)
    assert [rule.name for rule in program.rules] == ["bp1", "bp2", "bp3"]
    assert (program.watches, program.queries) == ((), ())


def test_the_program_s_own_table_is_the_one_that_counts(folder):
    own = 'materialize(path, 10, infinity, keys()).\n#include("best.ndlog", bp1)'
    (path,) = [t for t in parsed(own, folder).tables if t.relation == "path"]
    assert path.lifetime == 10


def test_a_label_alone_is_looked_for_in_the_programs_beside(folder):
    program = parsed("#include(bp1, bp3)", folder)
    assert [rule.name for rule in program.rules] == ["bp1", "bp3"]


def test_a_label_of_this_text_is_there_already(folder):
    program = parsed("own p(@X) :- q(@X).\n#include(own)", folder)
    assert [rule.name for rule in program.rules] == ["own"]


def test_an_included_file_may_include_others(folder):
    (folder / "middle.ndlog").write_text('#include("best.ndlog", bp1)\nm1 p(@S) :- path(@S,D,C).')
    program = parsed('#include("middle.ndlog")', folder)
    assert [rule.name for rule in program.rules] == ["bp1", "m1"]
    assert {table.relation for table in program.tables} == {"link", "path"}


def test_a_fully_connected_network_stays_one(folder):
    (folder / "full.ndlog").write_text("fullyConnected.\nf1 p(@X) :- q(@Y, X).")
    assert [p.value for p in parsed('#include("full.ndlog", f1)', folder).pragmas] == ["full"]


def test_a_rule_that_is_not_there_is_named_with_what_may_be_meant(folder):
    with pytest.raises(ProgramError, match="did you mean `bp3`"):
        parsed('#include("best.ndlog", bpp3)', folder)
    assert code_of("#include(nobody)", folder) == "W1303"


def test_a_file_that_cannot_be_read_is_told(folder):
    assert code_of('#include("none.ndlog")', folder) == "W1304"
    (folder / "bytes.ndlog").write_bytes(b"\xff\xfe")
    assert code_of('#include("bytes.ndlog")', folder) == "W1304"
    with pytest.raises(ProgramError, match="no folder"):
        parse_ndlog('#include("best.ndlog")')


def test_a_label_of_two_programs_must_say_which(folder):
    (folder / "other.ndlog").write_text(BEST)
    assert code_of("#include(bp1)", folder) == "W1305"


def test_a_circle_of_includes_is_refused(folder):
    (folder / "one.ndlog").write_text('#include("two.ndlog")')
    (folder / "two.ndlog").write_text('#include("one.ndlog")')
    assert code_of('#include("one.ndlog")', folder) == "W1305"


def test_a_mistake_in_an_included_file_is_shown_there(folder):
    (folder / "wrong.ndlog").write_text("p(@X :- q(@X).")
    with pytest.raises(ProgramError) as caught:
        parsed('#include("wrong.ndlog")', folder)
    assert caught.value.diagnostics[0].span.source.name.endswith("wrong.ndlog")
