"""`whence plan --maintain` says how each stratum is kept current, or why it is recomputed."""

from __future__ import annotations

import pytest

from whence import session
from whence.diagnostics import UsageError

DECLS = ".decl e(x: number, y: number)\n.decl p(x: number, y: number)\n"
CLOSURE = DECLS + "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).\n"


def strategies(text: str, strategy: str = "ranked") -> dict[str, str]:
    found = session.maintenance(session.parse(text), strategy)
    return {name: str(entry["strategy"]) for entry in found for name in entry["relations"]}  # type: ignore[attr-defined]


def test_base_facts_groups_and_rules_are_told_apart() -> None:
    text = CLOSURE + ".decl n(k: number)\nn(k) :- k = count : { p(_, _) }."
    assert strategies(text) == {"e": "base", "p": "ranked", "@count0": "groups", "n": "ranked"}


def test_counting_leaves_recursion_to_ranks() -> None:
    text = CLOSURE + ".decl q(x: number)\nq(x) :- p(x, _)."
    assert strategies(text, "counting") == {"e": "base", "p": "ranked", "q": "counting"}
    shown = session.explain_maintenance(session.parse(text), "counting")
    assert "a count may never reach zero" in shown


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (".limitsize p(n=5)", "`.limitsize`"),
        ("p(x, y) <= p(x, z) :- y < z, x > 1.", "subsumption"),
    ],
)
def test_what_cannot_be_maintained_says_why(rules: str, why: str) -> None:
    (entry,) = [
        e
        for e in session.maintenance(session.parse(CLOSURE + rules))
        if "p" in e["relations"]  # type: ignore[operator]
    ]
    assert entry["strategy"] == "recompute"
    assert why in str(entry["why"])
    assert f"recompute: {entry['why']}" in session.explain_maintenance(
        session.parse(CLOSURE + rules)
    )


def test_delta_rules_are_shown_by_what_they_are_for() -> None:
    shown = session.explain_maintenance(session.parse(CLOSURE), "ranked")
    assert "lost when e goes: scan Δe giving y, z; join followed p[1 = y] giving x, @rank0" in shown
    assert "won when p comes: scan Δp giving x, y; join e[0 = y] giving z" in shown
    assert "supported if: scan Δp giving" in shown


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(UsageError, match="W0809"):
        session.explain_maintenance(session.parse(CLOSURE), "magic")
