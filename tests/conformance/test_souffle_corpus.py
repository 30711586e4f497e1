"""Soufflé's own test programs, where a checkout is at hand; and the judge that judges them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conformance.runner import (
    Gaps,
    Verdict,
    _without_comments,
    find_cases,
    main,
    read_gaps,
    run_case,
)

VARIABLE = "WHENCE_SOUFFLE_TESTS"
CORPUS = os.environ.get(VARIABLE, "")
CASES = find_cases(Path(CORPUS)) if CORPUS else []
ABSENT = pytest.mark.skip(reason=f"{VARIABLE} does not name the tests of a Soufflé checkout")

ADD_ONE = """
.decl a(x: number)
.input a
.decl b(x: number)
.output b
b(x + 1) :- a(x).
"""


def test_a_named_corpus_has_programs():
    assert CASES or not CORPUS, f"{VARIABLE}={CORPUS} has no programs"


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.id) for case in CASES]
    or [pytest.param(None, id="absent", marks=ABSENT)],
)
def test_souffle_program_gives_souffle_answers(case):
    outcome = run_case(case, read_gaps())
    if outcome.verdict in (Verdict.GAP, Verdict.SKIPPED):
        pytest.skip(outcome.detail)
    assert outcome.verdict is not Verdict.CLOSED, f"no gap any more: {outcome.detail}"
    assert outcome.verdict is Verdict.PASSED, outcome.detail


@pytest.fixture
def corpus(tmp_path):
    def write(name, program, **files):
        folder = tmp_path / "evaluation" / name
        (folder / "facts").mkdir(parents=True)
        (folder / f"{name}.dl").write_text(program)
        for file, text in files.items():
            stem, _, kind = file.rpartition("_")
            place = folder / "facts" if kind == "facts" else folder
            (place / f"{stem}.{kind}").write_text(text)
        (found,) = find_cases(tmp_path, only=name)
        return found

    write.root = tmp_path
    return write


def test_the_order_of_lines_does_not_matter(corpus):
    case = corpus("order", ADD_ONE, a_facts="1\n2\n", b_csv="3\n2\n")
    assert run_case(case).verdict is Verdict.PASSED


def test_a_missing_and_a_wrong_line_are_both_told(corpus):
    outcome = run_case(corpus("wrong", ADD_ONE, a_facts="1\n", b_csv="3\n"))
    assert outcome.verdict is Verdict.FAILED
    assert outcome.detail == "b.csv: 1 missing, such as '3'; 1 too many, such as '2'"


def test_an_output_that_is_not_written_is_a_failure(corpus):
    outcome = run_case(corpus("absent", ADD_ONE, a_facts="1\n", c_csv=""))
    assert outcome.detail == "c.csv: not written"


def test_sizes_are_compared_on_standard_output(corpus):
    program = ADD_ONE.replace(".output", ".printsize")
    assert run_case(corpus("size", program, a_facts="1\n", size_out="b\t1\n")).detail == ""
    assert run_case(corpus("bad_size", program, a_facts="1\n", bad_size_out="b\t2\n")).detail


def test_warnings_do_not_make_a_program_refused(corpus):
    err = "Warning: No rules/facts defined for relation a in file warned.dl at line 2\n"
    case = corpus("warned", ADD_ONE, a_facts="1\n", b_csv="2\n", warned_err=err)
    assert not case.refused
    assert run_case(case).verdict is Verdict.PASSED


def test_what_souffle_refuses_must_be_refused(corpus):
    err = "Error: Undefined relation c in file refused.dl at line 6\n1 errors generated\n"
    case = corpus("refused", ADD_ONE.replace("a(x).", "c(x)."), a_facts="", refused_err=err)
    outcome = run_case(case)
    assert (outcome.verdict, outcome.places, case.error_lines) == (Verdict.PASSED, {6}, {6})
    accepted = corpus("accepted", ADD_ONE, a_facts="", accepted_err=err)
    assert run_case(accepted).detail.startswith("exit code 0, expected 1")


def test_bad_facts_may_end_with_their_own_exit_code(corpus):
    err = "Error loading data: Error converting <one> in column 1 in line 1; cannot parse\n"
    case = corpus("facts", ADD_ONE, a_facts="one\n", facts_err=err)
    assert run_case(case).verdict is Verdict.PASSED


def test_a_declared_gap_may_fail_but_not_pass(corpus):
    failing = corpus("failing", ADD_ONE, a_facts="1\n", b_csv="9\n")
    passing = corpus("passing", ADD_ONE, a_facts="1\n", b_csv="2\n")
    gaps = Gaps(programs=(("evaluation/failing", "why"), ("evaluation/passing", "why")))
    assert run_case(failing, gaps).verdict is Verdict.GAP
    assert run_case(passing, gaps).verdict is Verdict.CLOSED


def test_a_refused_program_with_a_missing_feature_is_not_judged(corpus):
    case = corpus("component", ".comp C {}\nd(1).\n", component_err="Error: no at line 2\n")
    assert run_case(case, read_gaps()).verdict is Verdict.SKIPPED


def test_features_in_comments_are_not_used():
    text = '// .comp C\n.decl a(x: symbol) /* range(1) */\na("// text").\n'
    assert _without_comments(text).split() == [".decl", "a(x:", "symbol)", 'a("//', 'text").']


def test_the_command_prints_failures_and_totals(corpus, capsys):
    corpus("good", ADD_ONE, a_facts="1\n", b_csv="2\n")
    assert main([str(corpus.root)]) == 0
    corpus("worse", ADD_ONE, a_facts="1\n", b_csv="3\n")
    assert main([str(corpus.root)]) == 1
    printed = capsys.readouterr().out
    assert "failed  evaluation/worse: b.csv: 1 missing" in printed
    assert "2 programs: 1 passed, 1 failed" in printed
