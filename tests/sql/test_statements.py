"""Statements do what they do elsewhere: views, updates, orders and limits, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from whence import Database, parse
from whence.app.sql import as_rules
from whence.sql import script


def asked(text: str) -> Sequence[tuple[object, ...]]:
    found = Database().sql(text)
    assert found is not None
    return found.rows()


def test_best_of_a_recursion_is_kept_where_it_would_not_end() -> None:
    text = """
    create table link(src int, dst int, cost int);
    with recursive best(s, d, c) as (
      select src, dst, cost from link union
      select l.src, b.d, min(l.cost + b.c) from link l join best b on l.dst = b.s
      group by l.src, b.d);
    insert into link values (1, 2, 4), (2, 3, 1), (3, 1, 1), (1, 3, 9);
    select d, c from best where s = 1 order by c desc, d;
    """
    assert asked(text) == [(1, 6), (3, 5), (2, 4)]


def test_views_may_read_each_other() -> None:
    text = """
    create table step(a int, b int);
    with recursive
      even(x, y) as (select a, a from step union
                     select odd.x, step.b from odd, step where odd.y = step.a),
      odd(x, y) as (select even.x, step.b from even, step where even.y = step.a)
    insert into step values (1, 2), (2, 3), (3, 4);
    select y from odd where x = 1;
    """
    assert asked(text) == [(2,), (4,)]


def test_an_update_sees_all_old_rows() -> None:
    text = "create table t(a int); insert into t values (1), (2), (3);"
    assert asked(text + "update t set a = a + 1; select a from t") == [(2,), (3,), (4,)]


def test_rows_come_from_queries_too() -> None:
    text = """create table t(a int, b text); create table u(x text);
    insert into t(b, a) values ('one', 1), ('two', 2);
    insert into u select b || '!' from t where a > 1;
    select * from u"""
    assert asked(text) == [("two!",)]


def test_a_total_over_nothing_has_no_row_but_a_count_has() -> None:
    text = "create table t(a int);"
    assert asked(text + "select count(*) as n from t") == [(0,)]
    assert asked(text + "select sum(a) as n from t") == []


def test_patterns_and_texts() -> None:
    text = """create table t(a text);
    insert into t values ('ab'), ('a.b'), ('xab'), ('a_');"""
    assert asked(text + "select a from t where a like 'a%'") == [("a.b",), ("a_",), ("ab",)]
    assert asked(text + "select a from t where a like '_._'") == [("a.b",)]
    assert asked(text + "select a from t where not a like '%b'") == [("a_",)]
    assert asked(text + "select substring(a, 2, 1) as c, length(a) as n from t where a = 'ab'") == [
        ("b", 2)
    ]


def test_whole_numbers_become_floats_beside_floats() -> None:
    text = "create table t(a int, f double precision); insert into t values (1, 2.5), (3, 3);"
    assert asked(text + "select a + f as s from t where f >= a and a <> 3") == [(3.5,)]
    assert asked(text + "select avg(a) as m from t") == [(2.0,)]


def test_a_query_may_have_its_own_views() -> None:
    text = """create table link(a int, b int); insert into link values (1, 2), (2, 3);
    with recursive r(x, y) as (select a, b from link union
      select r.x, link.b from r, link where r.y = link.a)
    select count(*) as n from r"""
    assert asked(text) == [(3,)]


def test_views_of_one_call_are_known_to_the_next() -> None:
    db = Database()
    db.sql("create table t(a int); create view big as select a from t where a > 5")
    db.sql("insert into t values (4), (6)")
    found = db.sql("select a from big")
    assert found is not None
    assert found.rows() == [(6,)]
    assert db.query("big(x)").rows() == [(6,)]


def test_relations_of_rules_can_be_asked() -> None:
    db = Database()
    db.load(".decl e(x: number, y: number) .decl p(x: number, y: number)")
    db.load("p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).")
    db.insert("e", [(1, 2), (2, 3)])
    found = db.sql("select max(y) as top from p group by x")
    assert found is not None
    assert found.rows() == [(3,)]


def test_a_script_is_printed_as_rules_that_parse() -> None:
    said = script(
        """create table t(a int, b int);
        create view v as select a from t where not exists (select 1 from t u where u.b = t.a)
          and (a > 1 or b in (select a from t));
        create view g as select a, count(distinct b) as n from t group by a having sum(b) > 2;
        select * from g"""
    )
    text = as_rules(said)
    assert str(parse(text)) == text
    assert ".output select1" in text
