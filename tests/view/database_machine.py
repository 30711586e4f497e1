"""Databases of random programs: transactions, replacements by key, expiry, subscribers.

One database for each strategy gets the same updates. The model is a set of facts for each relation,
with the time of its last insertion where there is a window.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from property.agreement import resolved
from property.cases import Case, cases
from property.programs import INPUTS, Features
from view.judge import Row, rows_of, shown
from view.machine import row_of
from whence.database import Database
from whence.engine import naive
from whence.transaction import Transaction
from whence.view.base import STRATEGIES, Change

PROGRAMS = Features(floats=True, unsigned=True, nullary=True, means=True, monotone=True, rules=3)
WINDOWED = "e"
WIDTH = 3.0

Update = Callable[[Transaction], None]


class Databases(RuleBasedStateMachine):
    """Whatever is committed or expires, relations and what subscribers heard are exact."""

    @initialize(case=cases(PROGRAMS))
    def begin(self, case: Case) -> None:
        """Databases with some facts, one relation in a window, and subscribers of everything."""
        self.program = case.program
        self.names = [decl.name for decl in case.program.relations]
        self.facts: dict[str, set[Row]] = {name: set() for name in self.names}
        self.times: dict[Row, float] = {}
        self.now = 0.0
        self.log: list[str] = []
        self.databases: dict[str, Database] = {}
        self.heard: dict[str, dict[str, set[Row]]] = {}
        for strategy in STRATEGIES:
            database = Database(maintain=strategy)
            database.load(case.program)
            database.window(WINDOWED, ttl=WIDTH, time="event")
            copies: dict[str, set[Row]] = {}
            for name in self.names:
                copies[name] = set(database[name].rows())
                database.subscribe(name, self._subscriber(copies, name))
            self.databases[strategy] = database
            self.heard[strategy] = copies
        self._commit(
            [("insert", name, sorted(rows, key=repr)) for name, rows in case.facts.items()]
        )

    def _subscriber(self, copies: dict[str, set[Row]], name: str) -> Callable[[Change], None]:
        def hear(change: Change) -> None:
            came, went = set(rows_of(change.inserted)), set(rows_of(change.deleted))
            assert not came & copies[name], f"{name}: {came} came twice"
            assert went <= copies[name], f"{name}: {went} was never there"
            copies[name] = copies[name] - went | came

        return hear

    # ── what happens ──

    @rule(data=st.data())
    def a_transaction(self, data: st.DataObject) -> None:
        kinds = st.sampled_from(["insert", "delete", "delete held", "replace"])
        self._commit(
            [self._operation(data, data.draw(kinds)) for _ in range(data.draw(st.integers(1, 4)))]
        )

    @rule(by=st.sampled_from([0.5, 1.0, 2.0, WIDTH, 10.0]))
    def time_passes(self, by: float) -> None:
        self.now += by
        self.log.append(f"advance({self.now})")
        for database in self.databases.values():
            database.advance(self.now)
        self._expire()
        self._check()

    def _operation(self, data: st.DataObject, kind: str) -> tuple[str, str, list[Row]]:
        inputs = [name for name in self.names if name in INPUTS]
        name = data.draw(st.sampled_from(inputs * 3 + self.names))
        if kind == "delete held" and self.facts[name]:
            held = st.sampled_from(sorted(self.facts[name], key=repr))
            return "delete", name, data.draw(st.lists(held, max_size=3))
        rows = data.draw(st.lists(row_of(self.program, name), max_size=3))
        if kind == "replace" and not self.program.relation(name).attributes:
            kind = "insert"
        return kind.split()[0], name, rows

    def _commit(self, operations: list[tuple[str, str, list[Row]]]) -> None:
        self.log.append(f"{operations} at {self.now}")
        for database in self.databases.values():
            with database.transaction() as t:
                for kind, name, rows in operations:
                    time = self.now if name == WINDOWED else None
                    if kind == "insert":
                        t.insert(name, rows, time=time)
                    elif kind == "delete":
                        t.delete(name, rows)
                    else:
                        t.replace(name, rows, key=(0,), time=time)
        for kind, name, rows in operations:
            facts = self.facts[name]
            if kind == "replace":
                keys = {row[0] for row in rows}
                facts -= {row for row in facts if row[0] in keys}
            if kind == "delete":
                facts -= set(rows)
            else:
                facts |= set(rows)
                if name == WINDOWED:
                    self.times |= dict.fromkeys(rows, self.now)
        self._expire()
        self._check()

    def _expire(self) -> None:
        self.facts[WINDOWED] = {
            row for row in self.facts[WINDOWED] if self.times[row] + WIDTH > self.now
        }

    def _check(self) -> None:
        needed = naive.evaluate(resolved(self.program), self.facts)
        for strategy, database in self.databases.items():
            for name in self.names:
                found = rows_of(database[name].to_arrow())
                try:
                    assert set(found) == shown(needed[name])
                    assert len(found) == len(needed[name])
                    assert self.heard[strategy][name] == set(found)
                except AssertionError as error:
                    happened = "\n".join(self.log)
                    error.add_note(f"{strategy}: `{name}` in\n{self.program}\n{happened}")
                    raise
