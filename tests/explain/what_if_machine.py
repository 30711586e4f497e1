"""Databases of random programs that are asked what a change would do, before it is done or not."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from view.database_machine import Databases
from view.judge import Row, rows_of
from whence.database import Database
from whence.view.base import Changes

Told = dict[str, tuple[frozenset[Row], frozenset[Row]]]


class Supposing(Databases):
    """What would change is what changes, and until then nothing does."""

    @rule(data=st.data(), done=st.booleans())
    def a_change_is_supposed(self, data: st.DataObject, done: bool) -> None:
        goes = [self._operation(data, "delete held") for _ in range(data.draw(st.integers(0, 2)))]
        goes += [self._operation(data, "delete") for _ in range(data.draw(st.integers(0, 1)))]
        goes = [("delete", name, rows) for kind, name, rows in goes]
        comes = [self._operation(data, "insert") for _ in range(data.draw(st.integers(0, 2)))]
        delete = {
            name: [r for _, n, rows in goes if n == name for r in rows] for _, name, _ in goes
        }
        insert = {
            name: [r for _, n, rows in comes if n == name for r in rows] for _, name, _ in comes
        }
        supposed: dict[str, Told] = {}
        for strategy, database in self.databases.items():
            before = everything(database)
            changes = database.what_if(delete=delete, insert=insert, time=self.now)
            assert everything(database) == before, f"{strategy}: {delete} {insert}"
            supposed[strategy] = told(changes)
        self._check()  # also that no subscriber heard of it
        assert len(set(map(repr, map(sorted, supposed.values())))) == 1
        if done:
            old = {name: set(self.heard["auto"][name]) for name in self.names}
            self._commit([*goes, *comes])
            new = {name: set(self.heard["auto"][name]) for name in self.names}
            change = {
                name: (frozenset(new[name] - old[name]), frozenset(old[name] - new[name]))
                for name in self.names
                if new[name] != old[name]
            }
            for strategy, found in supposed.items():
                assert found == change, f"{strategy}: {delete} {insert}\n{self.program}"


def told(changes: Changes) -> Told:
    return {
        name: (frozenset(rows_of(change.inserted)), frozenset(rows_of(change.deleted)))
        for name, change in changes.items()
    }


def everything(database: Database) -> object:
    """All that can be seen of a database, and what it would keep in a folder."""
    work = database.work
    state = database._state()
    tables = {name: sorted(rows_of(table), key=repr) for name, table in state.tables.items()}
    relations = {name: sorted(database[name].rows(), key=repr) for name in database}
    return (
        dict(state.header),
        tables,
        relations,
        database.commits,
        database.note,
        database.next_expiry,
        {(w.stratum, w.strategy, w.asked, w.removed, w.inserted) for w in work.strata},
    )
