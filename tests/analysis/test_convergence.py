"""What rules and laws tell of whether annotations come to an end."""

from __future__ import annotations

import pytest

from whence.analysis.convergence import Outlook, check_convergence, recursions
from whence.rewrite.pipeline import run_passes
from whence.rewrite.resolve_types import resolve_types
from whence.semiring.registry import make
from whence.syntax.nodes import Program
from whence.syntax.souffle import parse

DECLARED = """.decl e(x: number, y: number) .decl p(x: number, y: number) .decl q(x: number, y: number)
.decl b()
"""


def program(rules: str) -> Program:
    resolved = resolve_types(parse(DECLARED + rules))
    return run_passes(resolved, keep_all=True, derivations=True)[-1][1]


def outlook(rules: str, semiring: str = "counting") -> Outlook | None:
    found = recursions(program(rules), make(semiring))
    assert len(found) <= 1
    return found[0].outlook if found else None


def test_programs_without_recursion_have_no_outlook() -> None:
    assert outlook("p(x, y) :- e(x, y). q(x, y) :- p(x, y), p(y, x).") is None


@pytest.mark.parametrize("name", ["tropical", "why", "absorption", "top-3", "counting-inf"])
def test_laws_promise_an_end_whatever_the_rules(name: str) -> None:
    assert outlook("p(x, y) :- e(x, y). p(x, y) :- p(y, x).", name) is Outlook.LAW


@pytest.mark.parametrize("name", ["counting", "how"])
def test_facts_decide_about_the_closure_of_a_graph(name: str) -> None:
    closure = "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z)."
    assert outlook(closure, name) is Outlook.FACTS
    assert check_convergence(program(closure), make(name)) == []


@pytest.mark.parametrize(
    "rules",
    [
        "p(x, y) :- p(x, y), e(x, y).",
        "p(x, y) :- e(x, z), p(x, y), p(z, y).",
        "p(x, y) :- p(y, x).",
        "p(x, y) :- q(y, x). q(x, y) :- p(x, y).",
        "b() :- b().",
        "p(x, z) :- p(x, y), y = z.",
    ],
)
def test_a_rule_that_leads_back_at_once_never_ends(rules: str) -> None:
    base = "p(x, y) :- e(x, y). b() :- e(_, _)."
    assert outlook(base + rules) is Outlook.NEVER
    (found,) = check_convergence(program(base + rules), make("counting"))
    assert found.code == "W0930"
    assert found.span.line == 3
    assert "counting-inf" in found.hint


@pytest.mark.parametrize(
    "rules",
    [
        "p(x, y) :- p(y, x), e(x, y).",  # unless e has it both ways
        "p(x, x) :- p(x, y).",  # unless x is y
        "p(x, y) :- q(x, _), e(x, y). q(x, y) :- p(x, y).",
        "p(x, 1) :- p(x, 2).",
    ],
)
def test_a_rule_that_may_lead_back_is_left_to_the_facts(rules: str) -> None:
    assert outlook("p(x, y) :- e(x, y)." + rules) is Outlook.FACTS


@pytest.mark.parametrize(
    ("rules", "word"),
    [
        ("p(x, y + 1) :- p(x, y), y < 9.", "column 2 of `p` grows"),
        ("p(x, 2 + y) :- p(x, y), y < 9.", "column 2 of `p` grows"),
        ("p(x - 1, y) :- p(x, y), x > 0.", "column 1 of `p` shrinks"),
        ("p(z, y) :- p(x, y), e(x, z), z > x.", "column 1 of `p` grows"),
        ("p(x, z) :- p(x, y), p(y, z), x < y, y < z.", None),
        ("p(x, z) :- p(x, y), e(y, z), y < z. p(z, y) :- p(x, y), e(x, z), x > z.", None),
        (
            "q(x, n) :- p(x, y), n = y + 1. p(x, n) :- q(x, m), n = m + 3, n < 50.",
            "column 2 of `p`",
        ),
        ("p(x, y + 0) :- p(x, y).", None),
        ("p(x, y + 4000000000) :- p(x, y), e(x, y).", None),
    ],
)
def test_a_column_that_only_grows_or_only_shrinks_makes_sure(rules: str, word: str | None) -> None:
    (found,) = recursions(program("p(x, y) :- e(x, y)." + rules), make("counting"))
    assert found.outlook is (Outlook.FACTS if word is None else Outlook.PROGRESS)
    assert word is None or word in found.reason


def test_a_plan_says_whether_annotations_end() -> None:
    from whence.session import compile, explain_plan

    closure = parse(DECLARED + "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).")
    counting = compile(closure, semiring="counting")
    assert "recursion of `p`: it ends unless some fact is derived" in explain_plan(counting)
    assert "recursion of `p`: the laws of the semiring promise" in explain_plan(
        compile(closure, semiring="why")
    )
    found = counting.as_json()["semiring"]
    assert isinstance(found, dict)
    assert [(r["relations"], r["outlook"]) for r in found["recursions"]] == [(["p"], "facts")]
