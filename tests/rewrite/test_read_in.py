"""Which semiring a program is read in, which relations show it, and annotations in the text."""

from __future__ import annotations

import pytest

from whence import session
from whence.compiled import compile
from whence.diagnostics import DataError, ProgramError, UsageError
from whence.rewrite.read_in import read_in, semiring_of
from whence.rewrite.stated import read_annotations, state_annotations
from whence.semiring.registry import make
from whence.semiring.tropical import Tropical
from whence.syntax.souffle import parse

NAMED = ".decl e(x: number, @prov:tropical)  .decl p(x: number)  p(x) :- e(x)."
UNNAMED = ".decl e(x: number, @prov)  .decl p(x: number)  p(x) :- e(x)."
NONE = ".decl e(x: number)  .decl p(x: number)  p(x) :- e(x)."


def chosen(text: str, asked: object = None) -> str | None:
    found = semiring_of(read_in(parse(text), asked))
    return None if found is None else found.name


def shown(text: str, asked: object = None) -> set[str]:
    return {d.name for d in read_in(parse(text), asked).relations if d.semiring is not None}


def test_a_named_semiring_is_that_of_the_run_unless_another_is_asked_for():
    assert chosen(NAMED) == "tropical"
    assert chosen(NAMED, "viterbi") == "viterbi"
    assert chosen(NAMED, "plain") is None


def test_an_unnamed_annotation_takes_what_is_asked_for():
    assert chosen(UNNAMED) is None
    assert chosen(UNNAMED, "fuzzy") == "fuzzy"
    assert chosen(UNNAMED, "plain") is None


def test_an_instance_stands_for_itself():
    mine = Tropical()
    assert semiring_of(read_in(parse(UNNAMED), mine)) is mine


def test_a_program_without_annotations_runs_plainly_unless_asked():
    assert chosen(NONE) is None
    assert chosen(NONE, "why") == "why"


def test_declared_relations_show_annotations_and_all_where_none_is():
    assert shown(NAMED) == {"e"}
    assert shown(NONE, "why") == {"e", "p"}
    assert shown(NAMED, "plain") == set()


def test_an_inline_relation_shows_none():
    assert shown(NONE + " .decl j(x: number) inline  j(x) :- e(x).", "why") == {"e", "p"}


def test_reading_again_forgets_the_semiring_of_before():
    once = read_in(parse(UNNAMED), "fuzzy")
    assert semiring_of(read_in(once)) is None


def test_two_names_need_a_choice():
    text = NAMED + " .decl f(x: number, @prov:fuzzy)"
    with pytest.raises(ProgramError) as caught:
        read_in(parse(text))
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.column) == ("W0941", text.index("f(x: number, @prov:f") + 1)
    assert chosen(text, "viterbi") == "viterbi"
    assert chosen(text, "plain") is None


def test_two_relations_may_name_the_same():
    assert chosen(NAMED + " .decl f(x: number, @prov:tropical)") == "tropical"


def test_a_name_that_is_no_word_is_quoted():
    text = '.decl e(x: number, @prov:"top-2")'
    assert chosen(text) == "top-2"
    assert str(parse(text)) == text
    assert chosen(str(parse('.decl e(x: number, @prov:"product(tropical,fuzzy)")'))) is not None


def test_an_unknown_name_in_a_program_is_the_programs_mistake():
    with pytest.raises(ProgramError) as caught:
        read_in(parse(".decl e(x: number, @prov:tropcal)"))
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.line) == ("W0920", 1)
    assert "tropical" in found.hint
    with pytest.raises(UsageError):
        read_in(parse(NONE), "tropcal")


def test_an_inline_relation_cannot_be_annotated():
    text = ".decl e(x: number, @prov) inline  e(x) :- v(x). .decl v(x: number)"
    with pytest.raises(ProgramError) as caught:
        read_in(parse(text), "fuzzy")
    assert caught.value.diagnostics[0].code == "W0943"
    assert chosen(text) is None


# ── facts in the text ──


def test_a_fact_may_carry_its_annotation_as_one_more_argument():
    program = state_annotations(parse(UNNAMED + " e(1, 0.5). e(2). e(3, -1)."))
    found = [rule.annotation and rule.annotation.value for rule in program.rules if rule.is_fact]
    assert found == [0.5, None, -1]
    assert [len(rule.head.args) for rule in program.rules if rule.is_fact] == [1, 1, 1]
    assert str(program) == str(parse(UNNAMED + " e(1, 0.5). e(2). e(3, -1)."))
    assert state_annotations(program) == program


@pytest.mark.parametrize("fact", ["e(1, 2, 3).", "e(1, x).", "p(1, 0.5).", "e(1, 0.5) :- p(1)."])
def test_anything_else_of_another_width_is_refused(fact):
    codes = {d.code for d in session.check(parse(UNNAMED + fact))}
    assert "W0202" in codes


def test_a_plain_run_ignores_the_annotation_of_a_fact():
    evaluation = session.evaluate(parse(UNNAMED + " e(1, 0.5). e(2)."))
    assert evaluation.table("p", ordered=True).to_pydict() == {"x": [1, 2]}


def test_an_annotation_in_the_text_that_is_none_is_shown():
    text = UNNAMED + "\ne(1, 0.5). e(2, 7)."
    with pytest.raises(ProgramError) as caught:
        compile(parse(text), semiring="viterbi")
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.line, found.span.column) == ("W0942", 2, 17)


def test_a_chain_takes_numbers_and_any_other_semiring_what_was_written():
    program = state_annotations(parse('.decl d(x: number, @prov)  d(1, "secret"). d(2, "nobody").'))
    (fact,) = read_annotations(program, make("access"), {}).rules
    assert fact.annotation is not None
    assert fact.annotation.value == 2.0
    kept = read_annotations(program, make("why"), {}).rules
    assert [f.annotation and f.annotation.value for f in kept] == ["secret", "nobody"]


def test_defaults_are_for_facts_without_annotation():
    program = state_annotations(parse(UNNAMED + " e(1, 0.5). e(2)."))
    found = read_annotations(program, make("tropical"), {"e": lambda row: row[0] * 10})
    assert [f.annotation and f.annotation.value for f in found.rules if f.is_fact] == [0.5, 20.0]


@pytest.mark.parametrize("default", [lambda row: row[9], lambda row: [1]])
def test_what_a_function_does_wrong_is_told(default):
    with pytest.raises(DataError) as caught:
        compile(parse(UNNAMED + " e(1)."), semiring="tropical", annotations={"e": default})
    assert caught.value.diagnostics[0].code == "W0942"


@pytest.mark.parametrize(
    ("text", "semiring", "defaults"),
    [(NONE, None, {"e": 1}), (NONE, "tropical", {"f": 1}), (UNNAMED, "plain", {"e": 1})],
)
def test_a_default_needs_a_semiring_and_a_relation(text, semiring, defaults):
    with pytest.raises(UsageError) as caught:
        compile(parse(text), semiring=semiring, annotations=defaults)
    assert caught.value.diagnostics[0].code == "W0945"


def test_annotations_survive_the_passes_that_keep_derivations():
    compiled = compile(parse(UNNAMED + " e(1, 7). e(1, 8)."), semiring="counting")
    facts = [rule for rule in compiled.passes[-1][1].rules if rule.is_fact]
    assert [f.annotation and f.annotation.value for f in facts] == [7, 8]
