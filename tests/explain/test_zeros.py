"""A fact annotated zero is not there, for explanations either."""

from __future__ import annotations

import pytest

from whence import Database
from whence.diagnostics import UsageError

PROGRAM = """
.decl link(x: symbol, y: symbol, @prov:tropical)
.decl host(x: symbol)
.decl reach(x: symbol, y: symbol, @prov:tropical)
.decl alone(x: symbol)
reach(x, y) :- link(x, y).
reach(x, z) :- reach(x, y), link(y, z).
alone(x) :- host(x), !link(x, _).
host("a").
"""


def database(text: str, semiring: str | None) -> Database:
    db = Database(semiring=semiring)
    db.load(PROGRAM + text)
    return db


@pytest.mark.parametrize(
    ("semiring", "text", "rows"),
    [
        (None, "", [("a", "b", float("inf")), ("b", "c", 1.0)]),
        ("top-2", "", [("a", "b", ""), ("b", "c", "1")]),
        ("top-2", 'link("a", "b", "").', [("b", "c", "1")]),
    ],
)
def test_what_is_annotated_zero_is_not_there(
    semiring: str | None, text: str, rows: list[tuple[object, ...]]
) -> None:
    db = database(text, semiring)
    db.insert("link", rows)
    assert db["alone"].rows() == [("a",)]
    assert db.why('alone("a")').height == 1
    for fact in ('link("a", "b")', 'reach("a", "c")'):
        with pytest.raises(UsageError, match="W0951"):
            db.why(fact)
        assert db.why_not(fact).fact.relation == fact.split("(")[0]


def test_a_fact_is_asked_about_by_its_text() -> None:
    with pytest.raises(UsageError, match="W0956"):
        database("", None).why(("a", "b"))  # type: ignore[arg-type]
