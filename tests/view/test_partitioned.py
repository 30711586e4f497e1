"""Views that several tasks keep together hold what evaluation from nothing gives."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from property.cases import Case, cases
from property.programs import INPUTS, Features
from view.judge import shown, table_of
from view.machine import row_of
from view.partitions import Partitions, net
from whence import session
from whence.engine.local.compile import compile_kernels
from whence.engine.spark.cut.groups import cut
from whence.engine.spark.frames import columns_of, normal
from whence.engine.spark.model import Strategy
from whence.facts.stated import apart_from_facts
from whence.rows import tuples_of
from whence.syntax.nodes import Program
from whence.view.base import Update
from whence.view.partitioned_plan import kept, stated

EXAMPLES = int(os.environ.get("WHENCE_EXAMPLES", "300"))
PROGRAMS = Features(floats=True, unsigned=True, nullary=True, means=True, facts=True, rules=4)
Facts = Mapping[str, set[tuple]]


class Judged:
    """The partitions of a program's views, and base facts to evaluate it from nothing."""

    def __init__(self, program: Program, tasks: int, given: list[str], broadcast: int) -> None:
        rules, facts = apart_from_facts(program)
        given = [*dict.fromkeys((*given, *facts))]
        compiled = session.compile(rules, keep_all=True, inputs=given)
        self.rules = compiled.plan.program
        plan = cut(
            compiled.plan,
            tasks=tasks,
            inputs=given,
            broadcast=broadcast,
            sizes=dict.fromkeys((d.name for d in self.rules.relations), 1),
        )
        self.names = [d.name for d in self.rules.relations if not d.name.startswith("@")]
        self.groups = kept(plan, tasks, self.rules, self.names)
        self.first = facts | stated(plan, self.rules)
        self.program = rules
        self.base: dict[str, set[tuple]] = {
            name: set(tuples_of(table)) for name, table in self.first.items() if name in self.names
        }
        self.columns = columns_of(self.rules)
        self.partitions = Partitions(self.groups, self.names, tasks, self.columns)
        self.before: dict[str, set[tuple]] = {}

    @property
    def strategies(self) -> set[Strategy]:
        return {group.strategy for group in self.groups}

    def apply(self, comes: Facts, goes: Facts) -> None:
        """Apply a batch, and compare all relations and changes with an evaluation."""
        batch = {}
        for name in {*comes, *goes, *self.first}:
            if name.startswith("@"):
                batch[name] = Update(self.first[name])
                continue
            came = shown(comes.get(name, ()))
            if name in self.first:
                came |= set(tuples_of(self.first[name]))
            gone = goes.get(name, ())
            batch[name] = Update(
                self.table(name, came) if came else None, self.table(name, gone) if gone else None
            )
        self.first = {}
        changes = self.partitions.apply(batch)
        for name in {*comes, *goes}:
            there = self.base.setdefault(name, set())
            there -= shown(goes.get(name, ()))
            there |= shown(comes.get(name, ()))
        after = self.evaluated()
        for name in self.names:
            assert self.partitions.table(name) == after[name], name
        assert changes == net(self.before, after)
        self.before = after

    def table(self, name: str, rows: Iterable[tuple]) -> pa.Table:
        """Return facts as views take them."""
        return normal(table_of(self.program, name, rows), self.columns[name])

    def evaluated(self) -> dict[str, set[tuple]]:
        inputs = {name: table_of(self.program, name, rows) for name, rows in self.base.items()}
        found = session.evaluate(self.program, inputs)
        return {name: set(tuples_of(found.table(name))) for name in self.names}


def rows(data: st.DataObject, program: Program, name: str, n: int = 3) -> set[tuple]:
    return data.draw(st.sets(row_of(program, name), max_size=n), name)


def judge(case: Case, data: st.DataObject) -> None:
    tasks = data.draw(st.sampled_from([1, 2, 2, 3]), "tasks")
    broadcast = data.draw(st.sampled_from([0, 1 << 20]), "broadcast")
    inputs = [d.name for d in case.program.relations if d.name in INPUTS]
    derived = [d.name for d in case.program.relations if d.name not in INPUTS]
    also = [derived[0]] if derived and data.draw(st.booleans(), "derived ones too") else []
    judged = Judged(case.program, tasks, inputs + also, broadcast)
    judged.apply(case.facts, {})
    raw: dict[str, set[tuple]] = {name: set(rows) for name, rows in case.facts.items()}
    for _ in range(data.draw(st.integers(1, 5), "batches")):
        comes, goes = {}, {}
        for name in inputs + also:
            if data.draw(st.booleans()):
                comes[name] = rows(data, case.program, name)
                held = sorted(raw.get(name, ()), key=repr)
                goes[name] = (
                    set(data.draw(st.lists(st.sampled_from(held), max_size=4))) if held else set()
                )
                raw[name] = (raw.get(name, set()) - goes[name]) | comes[name]
        judged.apply(comes, goes)


def check(examples: int) -> None:
    compile_kernels()

    @settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.reuse, Phase.generate],
    )
    @given(case=cases(PROGRAMS), data=st.data())
    def run(case: Case, data: st.DataObject) -> None:
        judge(case, data)

    run()


def test_partitioned_views_of_any_program_stay_exact() -> None:
    check(12)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_partitioned_views_of_many_programs_stay_exact() -> None:
    check(EXAMPLES // 4)


def test_symbols_in_records_cross_between_tasks_as_they_are() -> None:
    program = session.parse("""
.type Name = [first: symbol, last: symbol]
.decl knows(a: symbol, b: symbol)
.decl named(a: symbol, n: Name)
.decl hears(n: Name, m: Name)
named(a, [a, "x, y]"]) :- knows(a, _).
named(b, [b, "["]) :- knows(_, b).
hears(n, m) :- named(a, n), knows(a, b), named(b, m).
hears(n, k) :- hears(n, m), hears(m, k), !hidden(m).
.decl hidden(n: Name)
hidden(n) :- n = ["c", "nothing"], knows("c", "c").
""")
    for tasks in (2, 3):
        judged = Judged(program, tasks, ["knows"], 0)
        judged.apply({"knows": {("a, b", "c"), ("c", "nil"), ("nil", "a, b")}}, {})
        judged.apply({}, {"knows": {("c", "nil")}})
        judged.apply({"knows": {("c", "c"), ("c", "nil")}}, {})


def test_two_tuples_do_not_hold_each_other_up_across_tasks() -> None:
    program = session.parse("""
.decl edge(x: number, y: number)
.decl blocked(x: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z), !blocked(y).
""")
    for tasks in (2, 3):
        judged = Judged(program, tasks, ["edge", "blocked"], 0)
        assert Strategy.GANG in judged.strategies
        ring = {(i, (i + 1) % 6) for i in range(6)}
        judged.apply({"edge": {(9, 0)} | ring | {(i, j) for i in range(3) for j in range(4)}}, {})
        judged.apply({}, {"edge": {(9, 0)}})
        judged.apply({"blocked": {(2,)}}, {"edge": {(1, 2)}})
        judged.apply({"edge": {(9, 3)}}, {"blocked": {(2,)}})
        assert sum(post.rounds for post in judged.partitions.posts) > 0
        judged.apply({}, {"edge": ring})
