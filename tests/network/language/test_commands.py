"""`whence check`, `fmt`, `plan` and `run` with NDlog programs."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from whence.app.cli import app
from whence.diagnostics import UsageError
from whence.network.facts import read_value, write_value
from whence.network.protocols.library import protocol_path
from whence.session import compile, read_program

LINKS = "a\tb\t1\nb\ta\t1\nb\tc\t2\nc\tb\t2\n"


@pytest.fixture
def facts(tmp_path):
    (tmp_path / "link.facts").write_text(LINKS)
    return tmp_path


def whence(*args, input=None):
    return CliRunner().invoke(app, [str(arg) for arg in args], input=input)


def program(folder, text, name="p.ndlog"):
    path = folder / name
    path.write_text(text)
    return path


def test_check_tells_the_mistakes_of_ndlog(tmp_path):
    result = whence("check", program(tmp_path, "p(@X) :- q(@Y, X)."))
    assert result.exit_code == 1
    assert "W1314" in result.stderr


def test_check_goes_by_the_dialect_that_is_asked_for():
    assert whence("check", "-", "--dialect", "ndlog", input="p(@X) :- q(@X).").exit_code == 0
    assert whence("check", "-", input="p(@X) :- q(@X).").exit_code == 1


def test_check_describes_relations_and_rules_when_asked_to():
    result = whence("check", "--verbose", protocol_path("ping_pong"))
    assert "pp2  distributed pure soft-state rule, at each ping" in result.stdout
    found = json.loads(
        whence("check", "--verbose", "--format", "json", protocol_path("path_vector")).stdout
    )
    (described,) = found["described"]
    assert {r["name"]: r["acyclic"] for r in described["relations"]}["path"]
    assert [r["local"] for r in described["rules"]] == [True, False, True, True]


def test_fmt_lays_out_ndlog_and_changes_it_only_once(tmp_path):
    path = program(tmp_path, "p( @X ):-q( @X ) .")
    assert whence("fmt", "--check", path).exit_code == 1
    assert whence("fmt", "--write", path).exit_code == 0
    assert path.read_text() == "p(@X) :- q(@X).\n"
    assert whence("fmt", "--check", path).exit_code == 0


def test_plan_shows_the_rewrites_of_a_right_program_only(tmp_path):
    shown = whence("plan", protocol_path("reachable"))
    assert "── localize" in shown.stdout
    assert whence("plan", program(tmp_path, "p(@X) :- q(@Y, X).")).exit_code == 1


def test_run_evaluates_hard_state_without_lists_by_the_engine(facts):
    result = whence("run", protocol_path("reachable"), "-F", facts, "-D", facts / "out")
    assert result.exit_code == 0
    rows = (facts / "out" / "reachable.csv").read_text().splitlines()
    assert rows == [f"{x}\t{y}" for x in "abc" for y in "abc"]


def test_run_evaluates_hard_state_with_lists_by_the_definition(facts):
    stats = facts / "stats.json"
    result = whence(
        "run", protocol_path("path_vector"), "-F", facts, "-D", facts / "out", "--stats", stats
    )
    assert result.exit_code == 0
    rows = (facts / "out" / "shortestPath.csv").read_text().splitlines()
    assert "a\tc\t[a, b, c]\t3" in rows
    assert len(rows) == 6
    assert json.loads(stats.read_text())["relations"]["shortestPath"]["tuples"] == 6


def test_run_prints_where_it_is_asked_to(facts):
    result = whence("run", protocol_path("path_vector"), "-F", facts, "-D", "-")
    assert "---------------\nshortestPath\n===============\na\tb\t[a, b]\t1\n" in result.stdout


def test_run_annotates_what_the_engine_evaluates_and_refuses_the_rest(facts):
    asked = ("-F", facts, "-D", "-", "--semiring", "tropical", "--annotate", "link=1")
    assert "a\tc\t2" in whence("run", protocol_path("reachable"), *asked).stdout
    refused = whence("run", protocol_path("path_vector"), *asked)
    assert (refused.exit_code, "W1345" in refused.stderr) == (2, True)


def test_facts_in_the_program_need_no_file(tmp_path):
    text = (
        "materialize(l, infinity, infinity, keys()). materialize(p, infinity, infinity, keys())."
        "p(@D, S) :- #l(@S, D). l(@a, b)."
    )
    result = whence("run", program(tmp_path, text), "-F", tmp_path, "-D", "-")
    assert "b\ta\n" in result.stdout


@pytest.mark.parametrize(
    ("files", "code", "exit_code"),
    [
        ({}, "W1344", 3),
        ({"link.facts": "a\tb\n"}, "W1343", 3),
        ({"link.facts": "a\tb\t1\na\tb\n"}, "W1343", 3),
    ],
)
def test_facts_that_do_not_fit_are_told(tmp_path, files, code, exit_code):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    result = whence("run", protocol_path("path_vector"), "-F", tmp_path)
    assert (result.exit_code, code in result.stderr) == (exit_code, True)


def test_limits_end_what_does_not_end(tmp_path):
    text = (
        "materialize(l, infinity, infinity, keys()). materialize(p, infinity, infinity, keys())."
        "p(@X, [X]) :- #l(@X, Y). p(@X, Q) :- #l(@X, Y), p(@Y, P), Q = f_append(P, X)."
        "l(@a, b). l(@b, a)."
    )
    path = program(tmp_path, text)
    for option, code in (("--max-tuples=100", "W0704"), ("--timeout=300ms", "W0702")):
        result = whence("run", path, "-F", tmp_path, option)
        assert (result.exit_code, code in result.stderr) == (4, True)


def test_a_program_of_events_is_for_the_network(facts):
    result = whence("run", protocol_path("chord"), "-F", facts)
    assert (result.exit_code, "W1342" in result.stderr) == (2, True)


def test_other_ways_to_evaluate_refuse_ndlog():
    with pytest.raises(UsageError, match="W1340"):
        compile(read_program(protocol_path("reachable")))
    result = whence("query", protocol_path("reachable"), "reachable(1, x)")
    assert (result.exit_code, "W1340" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    "value",
    ["a", "", "B c", 12, -3, 2.5, True, False, (), ("a", (1, "x y")), float("inf"), 1 << 159],
)
def test_a_cell_that_is_written_reads_back(value):
    found = read_value(write_value(value))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["[", "[X]", "[a", "[f_now()]", "10.0.0.1", "1e", "0x1f"])
def test_a_cell_that_is_no_value_is_text(text):
    assert read_value(text) == text
