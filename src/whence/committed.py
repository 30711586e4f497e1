"""The state of a database: what was committed, by whom it is read, and who is told.

Two locks: `_writing` is held by one writer until all are told of its commit, `lock` only while the
state changes or is read. So commits are told in order, and readers never wait for a callback.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakSet

from whence import session
from whence.derived import Derived, Settings, Undo
from whence.diagnostics import Diagnostic, UsageError
from whence.facts.schema import Column, columns_of
from whence.journal import EMPTY, Journal, Record, commit_record, net_of, stamp_table, stamps_of
from whence.loading import in_semiring, joined
from whence.netting import Net, Operation, check_times, update_of, work_out
from whence.rows import distinct, table_of, tuples_of
from whence.subscription import Publisher
from whence.syntax.nodes import Program
from whence.table import Pinned, Table
from whence.view.base import Changes, Update
from whence.view.windows import UNDATED, Contents, Effect, Said, Window, Windows

if TYPE_CHECKING:
    import pyarrow as pa


class Committed:
    """A program, base facts, windows, and what follows, as of the last commit."""

    def __init__(
        self, settings: Settings, clock: Callable[[], float], journal: Journal | None
    ) -> None:
        self.derived = Derived(settings)
        self.windows = Windows()
        self.publisher = Publisher()
        self.note: object = None
        self.number = 0
        """How many commits there were."""
        self.lock = threading.RLock()
        self._writing = threading.RLock()
        self._clock = clock
        self._journal: Journal | None = None
        self._arrivals = 0
        self._adopted: set[str] = set()
        self._columns: dict[str, tuple[Column, ...]] = {}
        self._pinned: WeakSet[Pinned] = WeakSet()
        self._untold: list[Changes] = []
        self._recorded = False
        if journal is not None:
            self.begin_with(*journal.recovered())
            self._journal = journal

    def columns(self, relation: str) -> tuple[Column, ...]:
        """Return the columns of a declared relation."""
        if relation not in self._columns:
            default = self.derived.settings.annotations.get(relation)
            self._columns[relation] = columns_of(self.derived.program, relation, default)
        return self._columns[relation]

    # ── changes ──

    def commit(
        self,
        operations: Sequence[Operation],
        done: Callable[[Changes], None],
        *,
        note: object = None,
        lazy: bool = False,
    ) -> None:
        """Commit operations as one batch; `lazy` inserts wait for a view where there is none.

        `done` hears of the changes first, and also when a subscriber fails.
        """
        with self._telling():
            windowed = self.windows.contents
            lazy = lazy and not any(op.relation in windowed or op.times for op in operations)
            if lazy and self.derived.view is None:
                done(self._put(operations))
                return
            self._live()
            check_times(self.windows, operations)
            view = self.derived.make_view()
            net, arrivals = work_out(
                operations, self.columns, windowed, view.matching, self._now(), self._arrivals
            )
            done(self._commit(net, note))
            self._arrivals = arrivals

    def advance(self, event: float | None) -> Changes:
        """Expire what is due at this event time, or by the clock when none is given."""
        with self._telling():
            self._live()
            undecided = [n for n, c in self.windows.contents.items() if c.time is None]
            decided = dict.fromkeys(undecided, "clock" if event is None else "event")
            net = Net(event=event, clock=self._now())
            net.decided.update(decided)  # type: ignore[arg-type]
            return self._commit(net, None)

    def what_if(self, operations: Sequence[Operation]) -> Changes:
        """Return what committing the operations now would change, and leave all as it is."""
        with self._telling():
            self._live()
            check_times(self.windows, operations)
            view, windows = self.derived.make_view(), self.windows.copy()
            held, now = windows.contents, self._now()
            net, _ = work_out(operations, self.columns, held, view.matching, now, self._arrivals)
            effects, _ = windows.commit(net.said, net.decided, net.event, net.clock)
            self._pin()
            return self.derived.suppose(self._batch(net, effects))

    def load(self, program: Program, facts: Mapping[str, pa.Table]) -> None:
        """Add a program that is known to fit, and facts for it."""
        with self._telling():
            undo = self.derived.remember()
            self.derived.load(joined(self.derived.program, program), facts)
            tables = {f"+{name}": table for name, table in facts.items()}
            header = {"kind": "load", "program": str(program), **self._semiring()}
            self._record(Record(header, tables), undo)
            self._columns.clear()
            self._adopted.clear()

    def set_window(self, relation: str, window: Window) -> None:
        """Give a relation a window; facts that are there count from now on."""
        with self._telling():
            before = dict(self.windows.contents)
            if relation in before and before[relation].window == window:
                return
            since = self._now()
            self._set_window(relation, window, since)

            def undo() -> None:
                self.windows.contents = before

            header = {"kind": "window", "relation": relation, "window": window.as_json()}
            self._record(Record({**header, "since": since}), undo)
            self._adopted.discard(relation)
            if self.derived.view is not None:
                self._live()

    # ── what is read ──

    @contextmanager
    def reading(self) -> Iterator[Derived]:
        """Hold the state still, with all windows in force."""
        if not self._adopted.issuperset(self.windows.contents):
            with self._telling():
                self._live()
        with self.lock:
            self.derived.come_back()
            yield self.derived

    def table(self, relation: str) -> Table:
        """Return the relation as of now, decoded when somebody looks."""
        with self.reading() as derived:
            found = derived.complete(relation)
            load: Callable[[], pa.Table] = lambda: found.table(relation, ordered=True)  # noqa: E731
            if found is derived.view:
                load = Pinned(load, self.lock)
                self._pinned.add(load)
            return Table(relation, found.size(relation), load)

    def make_view(self) -> None:
        """Make the view now, so that no later commit has to."""
        with self._telling():
            self._live()

    # ── records ──

    def state(self) -> Record:
        """Return everything but functors as one record."""
        with self.lock:
            self.derived.come_back()
            tables = {f"={name}": table for name, table in self.derived.base().items()}
            if self.derived.view is None:  # facts accumulate as they come, the same ones, too
                tables = {name: distinct(table) for name, table in tables.items()}
            for name, update in self.derived.later().items():
                tables |= _marked(name, update)
            windows = {}
            for name, held in self.windows.contents.items():
                tables[f"*{name}"] = table_of(self.columns(name), list(held.stamps))
                tables[f"@{name}"] = stamp_table(held.stamps)
                about = {"since": held.since, "time": held.time, "dated": held.dated}
                windows[name] = {"window": held.window.as_json(), **about}
            header = {
                "kind": "state",
                "program": str(self.derived.program),
                "settled": self.derived.settled,
                "number": self.number,
                "note": self.note,
                "event": self.windows.event,
                "clock": None if self.windows.clock == UNDATED else self.windows.clock,
                "arrivals": self._arrivals,
                "windows": windows,
                **self._semiring(),
            }
            return Record(header, tables)

    def _semiring(self) -> dict[str, object]:
        found = in_semiring(self.derived.program)
        return {} if found is None else {"semiring": found}

    def begin_with(self, state: Record | None, entries: Iterable[Record]) -> None:
        """Hold a state, or nothing, and do what comes after it, all before anybody looks."""
        with self._writing, self.lock:
            self.restore(state if state is not None else EMPTY)
            for entry in entries:
                self.replay(entry)

    def restore(self, state: Record) -> None:
        """Hold the state of the record, and nothing of before."""
        with self._writing, self.lock:
            self.derived.come_back()
            header, tables = state.header, state.tables
            self._columns.clear()
            program = session.parse(str(header["program"]), name="<stored>")
            facts = {name[1:]: table for name, table in tables.items() if name[0] == "="}
            self.derived.agree(program, header.get("semiring"))
            self.derived.restore(program, header["settled"], facts)  # type: ignore[arg-type]
            names = dict.fromkeys(name[1:] for name in tables if name[0] in "+-")
            self.derived.put({n: Update(tables.get(f"+{n}"), tables.get(f"-{n}")) for n in names})
            self.number = header["number"]  # type: ignore[assignment]
            self.note = header["note"]
            self._arrivals = header["arrivals"]  # type: ignore[assignment]
            self._adopted.clear()
            self.windows = Windows()
            self.windows.event = header["event"]  # type: ignore[assignment]
            if header["clock"] is not None:
                self.windows.clock = header["clock"]  # type: ignore[assignment]
            for name, about in header["windows"].items():  # type: ignore[attr-defined]
                held = Contents(_window(about["window"]), about["since"])
                held.time, held.dated = about["time"], about["dated"]
                rows = tuples_of(tables[f"*{name}"])
                held.restore(dict(zip(rows, stamps_of(tables[f"@{name}"]), strict=True)))
                self.windows.contents[name] = held

    def replay(self, entry: Record) -> Changes:
        """Do again what a record says was done; nothing is recorded."""
        with self._telling():
            header = entry.header
            match header["kind"]:
                case "commit":
                    return self._commit(net_of(entry), header.get("note"), replayed=True)
                case "load":
                    added = session.parse(str(header["program"]), name="<stored>")
                    facts = {name[1:]: table for name, table in entry.tables.items()}
                    whole = joined(self.derived.program, added)
                    self.derived.agree(whole, header.get("semiring"))
                    self.derived.load(whole, facts)
                    self._columns.clear()
                    self._adopted.clear()
                case "window":
                    relation, since = str(header["relation"]), header["since"]
                    self._set_window(relation, _window(header["window"]), since)  # type: ignore[arg-type]
                    self._adopted.discard(relation)
            return Changes({})

    # ── how ──

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Be the one writer; tell everybody of what was committed, after letting readers in."""
        with self._writing:
            try:
                with self.lock:
                    self.derived.come_back()
                    yield
                    if self._recorded and self._journal is not None:  # number and note are set
                        self._recorded = False
                        self._journal.settle(self.state)
            finally:
                untold, self._untold = self._untold, []
                failed: list[Exception] = []
                for changes in untold:
                    try:
                        self.publisher.publish(changes)
                    except ExceptionGroup as group:
                        failed.extend(group.exceptions)
            if failed:
                raise ExceptionGroup("subscribers failed; the commit stands", failed)

    def _now(self) -> float:
        return max(self._clock(), self.windows.clock)

    def _put(self, operations: Sequence[Operation]) -> Changes:
        """Let inserted facts accumulate while nobody looks."""
        net, _ = work_out(operations, self.columns, {}, _nothing, self._now(), 0)
        if self._journal is None:
            self.derived.put(net.updates)
        else:
            undo = self.derived.remember()
            self.derived.put(net.updates)
            self._record(commit_record(net, self.columns, None), undo)
        self.number += 1
        return Changes({})

    def _commit(self, net: Net, note: object, *, replayed: bool = False) -> Changes:
        effects, undo_windows = self.windows.commit(net.said, net.decided, net.event, net.clock)
        changes, undo = Changes({}), _keep
        try:
            batch = self._batch(net, effects)
            if replayed and self.derived.view is None:
                self.derived.put(batch)
            elif batch:
                self._pin()
                changes, undo = self.derived.apply(batch, undoable=self._journal is not None)
            told = net.said or net.decided or net.event is not None or note is not None
            if batch or told:
                if self._journal is not None:
                    self._record(commit_record(net, self.columns, note), _keep)
                self.number += 1
                self.note = self.note if note is None else note
        except BaseException:
            undo()
            undo_windows()
            raise
        for said in net.said.values():
            self._arrivals = max(
                [self._arrivals, *(stamp[1] for stamp in said.stamps.values() if stamp)]
            )
        if changes:
            self._untold.append(changes)
        return changes

    def _batch(self, net: Net, effects: Mapping[str, Effect]) -> dict[str, Update]:
        """Return what a commit does to base facts, with what windows let in and out."""
        batch = dict(net.updates)
        for name, effect in effects.items():
            batch[name] = update_of(self.columns(name), effect.came, effect.went)
        return batch

    def _pin(self) -> None:
        """Decode the tables that somebody holds, before the view they are of changes."""
        for pinned in list(self._pinned):
            pinned()
        self._pinned.clear()

    def _record(self, entry: Record, undo: Undo) -> None:
        if self._journal is None:
            return
        try:
            self._journal.record(entry)
        except BaseException:
            undo()
            raise
        self._recorded = True

    def _set_window(self, relation: str, window: Window, since: float) -> None:
        held = Contents(window, since)
        old = self.windows.contents.get(relation)
        if old is not None:
            if window.time not in (None, old.time) and old.dated:
                message = f"the window of `{relation}` goes by {old.time} time and has facts"
                raise UsageError(Diagnostic("W0811", message))
            held.time, held.dated = window.time or old.time, old.dated
            held.restore(dict(old.stamps))
        self.windows.contents = {**self.windows.contents, relation: held}

    def _live(self) -> None:
        """Make the view if there is none, and let windows know of facts they have not seen."""
        view = self.derived.make_view()
        new = [n for n in self.windows.contents if n not in self._adopted]
        if not new or self._clock() == UNDATED:  # who only reads leaves it to the writer
            return
        net = Net(clock=self._now())
        for name in new:
            held = self.windows.contents[name]
            latest = net.clock if held.time == "clock" else self.windows.event
            at = UNDATED if latest is None or not held.dated else latest
            rows = [row for row in tuples_of(view.base(name)) if row not in held.stamps]
            numbers = range(self._arrivals + 1, self._arrivals + 1 + len(rows))
            self._arrivals += len(rows)
            stamps = [(at, number) for number in numbers]
            if rows:
                net.said[name] = Said(dict(zip(rows, stamps, strict=True)), adopted=True)
        self._commit(net, None)
        self._adopted.update(new)


def _keep() -> None:
    pass


def _nothing(relation: str, columns: tuple[int, ...], keys: pa.Table) -> pa.Table:
    raise AssertionError("only inserts wait for a view")


def _marked(relation: str, update: Update) -> dict[str, pa.Table]:
    pairs = (("+", update.inserted), ("-", update.deleted))
    return {f"{mark}{relation}": table for mark, table in pairs if table is not None}


def _window(plain: object) -> Window:
    assert isinstance(plain, dict)
    return Window(**{**plain, "by": tuple(plain["by"])})
