"""What people see of the rewrites: passes, strands, and how they are chosen."""

from __future__ import annotations

import pytest

from network.rewrite.running import asking, hop_count
from whence.analysis.ndlog.check import check_ndlog
from whence.diagnostics import UsageError
from whence.network.protocols.library import protocol
from whence.network.rewrite.options import Options, parse_options
from whence.network.rewrite.passes import NAMES, prepare, run_passes
from whence.network.rewrite.seminaive import strands
from whence.network.rewrite.show import show_steps, steps_as_json
from whence.syntax.ndlog import parse_ndlog


def test_a_localized_rule_has_a_strand_for_each_atom_of_its_body() -> None:
    program = prepare(protocol("path_vector"))
    found = {strand.name: str(strand) for strand in strands(program)}
    assert list(found) == [
        "sp1@S", "sp2a@S", "sp2b-1@Z", "sp2b-2@Z", "sp2b-3@Z", "sp3@S", "sp4-1@S", "sp4-2@S",
    ]  # fmt: skip
    assert found["sp2b-2@Z"].startswith(
        "sp2b-2@Z path(@S, D, Z, P, C) :- Δpath(@Z, D, Z2, P2, C2), old linkD(S, @Z, C1), #link("
    )


def test_an_event_is_the_only_one_to_set_off_its_rule() -> None:
    program = parse_ndlog(
        "materialize(#link, 10, infinity, keys(1,2)).\n"
        "pp1 ping(@S,D,E) :- periodic(@S,E,5), #link(@S,D)."
    )
    (strand,) = strands(program)
    assert str(strand) == "pp1@S ping(@S, D, E) :- periodic(@S, E, 5), #link(@S, D)."


def test_what_is_denied_sets_off_a_rule_too() -> None:
    text = (
        "materialize(p,infinity,1,keys(1)). materialize(q,infinity,1,keys(1)). "
        "r h(@X) :- p(@X), !q(@X)."
    )
    assert [str(strand).split(" :- ")[1] for strand in strands(parse_ndlog(text))] == [
        "Δp(@X), !q(@X).",
        "Δq(@X), old p(@X).",
    ]


def test_a_plan_shows_what_each_pass_did_or_that_it_did_nothing() -> None:
    program = protocol("path_vector")
    shown = show_steps(program, run_passes(program))
    assert "── magic_sets: nothing to do" in shown
    assert "── aggregate_selections\n// aggregateSelection path(1,2) min 5" in shown
    assert "── localize\n" in shown
    assert shown.index("── as written") < shown.index("── strands\nsp1@S")
    values = steps_as_json(program, run_passes(program))
    assert [step["name"] for step in values["passes"]] == list(NAMES)  # type: ignore[index, attr-defined]


@pytest.mark.parametrize("name", NAMES)
def test_each_pass_can_be_left_out(name: str) -> None:
    options = parse_options([f"no-{name}", "share=0.3"], NAMES)
    steps = run_passes(protocol("path_vector"), options)
    assert [step.name for step in steps] == [other for other in NAMES if other != name]


def test_options_are_read_from_words() -> None:
    words = ["search=from-destination", "period=0.5", "cache=60", "share=0.3", "later"]
    words += ["radius=1,3", "no-backward", "no-localize"]
    assert parse_options(words, NAMES) == Options(
        without=frozenset({"localize"}),
        search="from destination",
        radius=(1, 3),
        later=True,
        period=0.5,
        cache=60,
        share=0.3,
        backward=False,
    )


@pytest.mark.parametrize("word", ["no-magic", "search=up", "period=0", "period=x", "radius=a", ""])
def test_other_words_are_mistakes_with_a_hint(word: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_options([word], NAMES)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "W1383"
    assert diagnostic.hint


@pytest.mark.parametrize(
    "options",
    [
        Options(later=True),
        Options(search="from destination", later=True),
        Options(search="hybrid"),
        Options(search="zone"),
        Options(cache=60, later=True),
    ],
    ids=str,
)
def test_what_is_rewritten_is_a_program_that_passes_all_checks(options: Options) -> None:
    for program in (protocol("path_vector"), asking(hop_count(), "a", "b"), protocol("chord")):
        for step in run_passes(program, options):
            found = check_ndlog(step.program)
            assert [d for d in found if d.severity == "error"] == []
            again = parse_ndlog(str(step.program))
            assert set(again.rules) == set(step.program.rules)
            assert again.tables == step.program.tables
