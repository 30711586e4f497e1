"""What rounds refuse, and why; nothing here needs Spark."""

from __future__ import annotations

import pytest

from whence.engine.spark.rounds.supported import why_not
from whence.session import compile
from whence.syntax.souffle import parse

EDGE = ".decl e(x: number, y: number) .input e\n"
PAIRS = EDGE + ".decl p(x: number, y: number) btree_delete p(x, y) :- e(x, y).\n"


def reasons(text: str) -> list[str]:
    plan = compile(parse(text), keep_all=True).plan
    return [why for stratum in plan.strata if (why := why_not(plan, stratum)) is not None]


REFUSED = {
    "no order": PAIRS + "p(x, a) <= p(y, b) :- x < y, a < b, a + b > 3.",
    "two orders": PAIRS + "p(x, a) <= p(x, b) :- a < b. p(a, x) <= p(b, x) :- a < b.",
    "a column that is not compared": (
        EDGE + ".decl p(x: number, y: number, z: number) btree_delete p(x, y, y) :- e(x, y).\\n"
        "p(x, a, u) <= p(y, b, v) :- x < y, a < b."
    ),
    "columns that change places": PAIRS + "p(x, y) <= p(y, x) :- x < y.",
    "a number of a symbol": EDGE + '.decl p(x: number) p(ord("a")) :- e(_, _).',
    "a limit": EDGE + ".decl p(x: number) .limitsize p(n=3) p(x) :- e(x, _).",
    "growth": EDGE
    + ".decl p(x: number, n: number) p(x, 0) :- e(x, _). p(y, n + 1) :- p(x, n), e(x, y).",
}
ALLOWED = {
    "a frontier": PAIRS + "p(x, a) <= p(y, b) :- y <= x, b <= a.",
    "a strict order": PAIRS + "p(x, a) <= p(y, b) :- x < y, b > a.",
    "the best of each key": PAIRS + "p(x, a) <= p(x, b) :- b < a.",
    "closure": EDGE
    + ".decl p(x: number, y: number) p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).",
    "bits of numbers": EDGE + ".decl p(x: number) p(ord(x)) :- e(x, _).",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_one_process_or_one_order_is_refused(name: str) -> None:
    assert reasons(REFUSED[name].replace("\\n", "\n"))


@pytest.mark.parametrize("name", ALLOWED)
def test_what_does_not_is_allowed(name: str) -> None:
    assert reasons(ALLOWED[name]) == []
