"""What is wrong with a script is said at its place, with what would be right."""

from __future__ import annotations

import contextlib

import pytest

from whence.diagnostics import ProgramError, WhenceError
from whence.sql import script

T = "create table t(a int, b text);\n"

WRONG = [
    ("select a from t where", "W1500", "where"),
    ("select 'open", "W1500", None),
    ("select " + "(" * 200 + "1" + ")" * 200, "W1501", "("),
    ("select a from t left join t u on t.a = u.a", "W1502", "t u on t.a = u.a"),
    ("select a from t union all select a from t", "W1502", None),
    ("create view v as select a from t order by a", "W1502", None),
    ("select null from t", "W1502", None),
    ("select case when a = 1 then 2 end from t", "W1502", None),
    ("drop table t", "W1502", None),
    ("select sum(b) from t", "W1502", None),
    ("select a from t offset 1", "W1502", None),
    ("select a from q", "W1503", "q"),
    ("select q.a from t", "W1503", "q.a"),
    ('create table "odd name"(a int)', "W1504", None),
    ("create table t(a int)", "W1505", "t"),
    ("create view v as select a, a from t", "W1505", None),
    ("select a from t, t", "W1506", "t"),
    ("select a from t, t u", "W1507", "a"),
    ("select c from t", "W1508", "c"),
    ("update t set c = 1", "W1508", None),
    ("select far(a) from t", "W1509", None),
    ("select a from t where count(*) > 1", "W1511", None),
    ("select 9999999999999999999 from t", "W1512", "9999999999999999999"),
    ("select a + b from t", "W1513", None),
    ("select a from t where a = b", "W1513", "a = b"),
    ("select a from t union select b from t", "W1513", None),
    ("select a from t where a", "W1514", "a"),
    ("select a from t union select a, b from t", "W1515", None),
    ("insert into t values (1)", "W1515", None),
    ("insert into t(a) values (1)", "W1515", None),
    (
        "with recursive r(x, n) as (select a, 1 from t union "
        "select r.x, count(*) from r, t where r.x = t.a group by r.x)",
        "W1516",
        None,
    ),
    ("select a, b, count(*) from t group by a", "W1517", "b"),
    ("with recursive r(x) as (select x from r)", "W1518", None),
    ("create view v as select a from t; insert into v values (1)", "W1519", "v"),
]


@pytest.mark.parametrize(("text", "code", "marked"), WRONG, ids=[text[:40] for text, *_ in WRONG])
def test_a_mistake_is_named(text: str, code: str, marked: str | None) -> None:
    with pytest.raises(WhenceError) as caught:
        script(T + text)
    (found,) = caught.value.diagnostics
    assert found.code == code, caught.value
    if marked is not None:
        place = found.span
        assert place.source is not None
        line = place.source.line(place.line)
        assert line[place.column - 1 : place.end_column - 1] == marked, caught.value


def test_a_near_name_is_proposed() -> None:
    with pytest.raises(ProgramError, match="did you mean `colour`"):
        script("create table t(colour text); select color from t")


@pytest.mark.parametrize("junk", ["\x00", "select \ud800", "))))((((", ";;;", "with", "''" * 5000])
def test_junk_is_refused_or_nothing(junk: str) -> None:
    with contextlib.suppress(WhenceError):
        assert script(junk).steps == ()
