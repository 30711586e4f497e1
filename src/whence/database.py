"""`Database`: a program and its facts; relations are derived when somebody looks, and kept current.

Every change of base facts is a commit: one at a time, whole or not at all, told to subscribers in
order. With a `Journal` (see `journal.py`) a database begins with what the journal recovered, and
records each change; `_state`, `_restore` and `_replay` are the way between records and a database.
"""

from __future__ import annotations

import threading
import time as times
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from whence import session
from whence.answers import match_goal
from whence.committed import Committed
from whence.derived import Settings
from whence.diagnostics import DataError, Diagnostic, UsageError, nearest
from whence.engine.base import Limits, Observer, Stats
from whence.explained import Explained
from whence.facts.schema import Column
from whence.in_sql import InSQL
from whence.loading import fitting, is_inline
from whence.rewrite.read_in import AnySemiring, semiring_of
from whence.rewrite.stated import Default
from whence.subscription import Callback, Subscription
from whence.syntax.nodes import Program
from whence.syntax.souffle import parse_goal
from whence.table import Table
from whence.transaction import Key, Moment, Transaction, key_columns
from whence.view.base import STRATEGIES, Changes, Work
from whence.view.times import NotATime, as_seconds
from whence.view.windows import Window

if TYPE_CHECKING:
    from whence.durable import Follower, StoreJournal
    from whence.journal import Journal, Record


class Database(Explained, InSQL):
    """A program and facts, in memory or kept in a folder.

    With a `path` every commit is durable when it returns (see `docs/explanation/durability.md`),
    and the database goes on with what the folder holds; functors are to be registered again. One
    process writes; with `read_only` others see it as of a commit, a later one after `refresh`.
    With `sync=False` commits outlive the process, but not a power failure.

    >>> db = Database()
    >>> db.load('''
    ... .decl edge(x: number, y: number)
    ... .decl path(x: number, y: number)
    ... path(x, y) :- edge(x, y).
    ... path(x, z) :- path(x, y), edge(y, z).
    ... ''')
    >>> db.insert("edge", [(1, 2), (2, 3)])
    >>> sorted(db["path"])
    [(1, 2), (1, 3), (2, 3)]
    >>> db.query("path(1, x)").rows()
    [(1, 2), (1, 3)]
    >>> with db.transaction() as t:
    ...     t.delete("edge", [(2, 3)])
    ...     t.insert("edge", [(1, 3)])
    >>> t.changes
    Changes(<Change edge +1 -1>, <Change path +0 -1>)
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        read_only: bool = False,
        sync: bool = True,
        engine: str = "local",
        limits: Limits = Limits(),
        threads: int | None = None,
        observer: Observer | None = None,
        maintain: str = "auto",
        semiring: str | AnySemiring | None = None,
        annotations: Mapping[str, Default] | None = None,
        clock: Callable[[], float] = times.time,
        journal: Journal | None = None,
    ) -> None:
        if maintain not in STRATEGIES:
            hint = f"one of {', '.join(STRATEGIES)}"
            message = f"there is no way to maintain a view called `{maintain}`"
            raise UsageError(Diagnostic("W0809", message, hint=hint))
        settings = Settings(
            engine, limits, threads, observer, maintain, semiring, dict(annotations or {})
        )
        self._open = threading.local()
        self._folder: StoreJournal | Follower | None = None
        self._read_only = read_only
        if path is None:
            self._committed = Committed(settings, clock, journal)
        else:
            from whence.durable import open_folder

            self._committed, self._folder = open_folder(
                path, settings, clock, read_only=read_only, sync=sync
            )

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let another process write to the folder; what was read stays readable."""
        if self._folder is not None:
            self._folder.close()

    def checkpoint(self) -> None:
        """Keep the state as a snapshot and begin a new log; it also happens now and then."""
        from whence.durable import StoreJournal

        self._refuse_reading()
        if isinstance(self._folder, StoreJournal):
            with self._committed.lock:
                self._folder.checkpoint(self._committed.state)

    def refresh(self) -> int:
        """Read what was committed to the folder since, and return how many commits that were."""
        from whence.durable import Follower

        return self._folder.refresh(self._committed) if isinstance(self._folder, Follower) else 0

    # ── what goes in ──

    def load(self, program: Program | str | Path, *, facts: Path | str | None = None) -> None:
        """Add a program: a `Program`, its text, or the `Path` of its file.

        With `facts`, its `.input` relations are read from that folder. When the program is
        wrong, the database stays as it was.
        """
        self._refuse_reading()
        self._refuse_in_transaction("a program is not loaded")
        if isinstance(program, Path):
            added = session.read_program(program)
        elif isinstance(program, str):
            added = session.parse(program)
        elif isinstance(program, Program):
            added = program
        else:
            raise UsageError(
                Diagnostic(
                    "W0808",
                    f"a program is not loaded from {type(program).__name__}",
                    hint="give its text, the `pathlib.Path` of its file, or a `Program`",
                )
            )
        derived = self._committed.derived
        read = fitting(
            derived.program, added, facts, derived.semiring, derived.settings.annotations
        )
        self._committed.load(added, read)

    def insert(
        self, relation: str, rows: object, *, time: Moment | Iterable[Moment] | None = None
    ) -> None:
        """Add facts: tuples, a dict of columns, a NumPy array, or any frame that Arrow can read.

        `time` is their event time, one for all or one for each; it matters to windows.
        """
        self._update(lambda t: t.insert(relation, rows, time=time), lazy=True)

    def delete(self, relation: str, rows: object) -> None:
        """Take base facts out; those that are not there do no harm."""
        self._update(lambda t: t.delete(relation, rows))

    def replace(
        self,
        relation: str,
        rows: object,
        *,
        key: Key,
        time: Moment | Iterable[Moment] | None = None,
    ) -> None:
        """Put these facts in the place of all base facts with an equal key.

        >>> db = Database()
        >>> db.load(".decl cost(x: symbol, y: symbol, c: number)")
        >>> db.insert("cost", [("A", "B", 5), ("B", "C", 7)])
        >>> db.replace("cost", [("A", "B", 2)], key=("x", "y"))
        >>> db["cost"].rows()
        [('A', 'B', 2), ('B', 'C', 7)]
        """
        self._update(lambda t: t.replace(relation, rows, key=key, time=time))

    def transaction(self, *, note: object = None) -> Transaction:
        """Return a block whose updates are committed together at its end.

        Order matters: what is said last of a fact counts. When the block raises, nothing happens.
        Updates of the database by the same thread within the block belong to it. Threads do not
        wait for each other's blocks, only for their commits. `note`, any JSON, is kept with the
        commit, and `db.note` is the last one.
        """
        self._refuse_reading()
        return Transaction(
            self._updatable,
            lambda t: self._committed.commit(t.operations, t.done, note=t.note),
            self._begin,
            note,
        )

    def functor(self, name: str, function: Callable[..., object], *, array: bool = False) -> None:
        """Register the Python function that `@name(…)` calls; `array` when it takes arrays."""
        with self._committed.lock:
            derived = self._committed.derived
            derived.register(derived.functors.add(name, function, array=array))

    # ── time ──

    def window(
        self,
        relation: str,
        *,
        ttl: float | None = None,
        within: float | None = None,
        last: int | None = None,
        by: Key = (),
        time: Literal["event", "clock"] | None = None,
    ) -> None:
        """Keep base facts of a relation for a while only; leaving is a delete like any other.

        `ttl`: a fact lives so many seconds after it was last inserted. `within`: it is there
        while its time is less than so many seconds ago, which is the same rule. `last`: so many
        facts with the latest times stay, for each value of the columns `by` if given. Times are
        those of the updates (`event`) or of the clock; the first update decides if `time` does not.
        """
        columns = self._updatable(relation)
        if ttl is not None and within is not None:
            message = "`ttl` and `within` are two names for one width"
            raise UsageError(Diagnostic("W0811", message, hint="give one of them"))
        width = ttl if ttl is not None else within
        key = key_columns(relation, columns, by) if by != () else ()
        self._refuse_reading()
        self._refuse_in_transaction("a window is not set")
        window = Window(None if width is None else float(width), last, key, time)
        self._committed.set_window(relation, window)

    def advance(self, time: Moment | None = None) -> Changes:
        """Move event time on, or look at the clock, and return what expiry changed."""
        self._refuse_reading()
        self._refuse_in_transaction("time does not move")
        try:
            return self._committed.advance(None if time is None else as_seconds(time))
        except NotATime as fault:
            raise DataError(Diagnostic("W0680", f"{fault} is no time")) from None

    @property
    def next_expiry(self) -> float | None:
        """The clock time at which the next fact expires, None while none waits for the clock."""
        with self._committed.lock:
            return self._committed.windows.next_expiry

    # ── what comes out ──

    def subscribe(self, relation: str, callback: Callback) -> Subscription:
        """Call `callback` with the `Change` after each commit that changes the relation.

        Callbacks run in the thread that commits, one commit after the other, and may commit. What
        they raise is raised together, as an `ExceptionGroup`, once all were called; the commit
        stands. Loading a program tells nobody.
        """
        self._columns(relation)
        self._committed.make_view()
        self._refuse_selected(relation)
        return self._committed.publisher.add(relation, callback)

    @property
    def commits(self) -> int:
        """How many commits there were."""
        return self._committed.number

    @property
    def note(self) -> object:
        """The note of the last transaction that had one."""
        return self._committed.note

    @property
    def semiring(self) -> AnySemiring | None:
        """What facts are annotated in, None where they are not."""
        return semiring_of(self.program)

    def __getitem__(self, relation: str) -> Table:
        self._columns(relation)
        return self._committed.table(relation)

    def __contains__(self, relation: object) -> bool:
        return any(decl.name == relation for decl in self.program.relations)

    def __iter__(self) -> Iterator[str]:
        return (decl.name for decl in self.program.relations)

    def query(self, goal: str) -> Table:
        """Return the tuples that match a goal such as `path(1, x)`, deriving only what it needs."""
        atom = parse_goal(goal)
        self._columns(atom.relation)
        with self._committed.reading() as derived:
            answers = match_goal(self.program, derived.answering(atom), atom)
        return Table(goal, answers.num_rows, lambda: answers)

    @property
    def stats(self) -> Stats:
        """What the last evaluation cost, or making the view; there is one after this."""
        with self._committed.reading() as derived:
            return derived.stats()

    @property
    def work(self) -> Work:
        """What the last commit cost in the view, stratum by stratum; there is a view after this."""
        self._committed.make_view()
        with self._committed.lock:
            return self._committed.derived.make_view().work

    # ── records, for whoever keeps them ──

    def _state(self) -> Record:
        return self._committed.state()

    def _restore(self, state: Record) -> None:
        self._committed.restore(state)

    def _replay(self, entry: Record) -> Changes:
        return self._committed.replay(entry)

    # ── how ──

    def _update(self, add: Callable[[Transaction], None], *, lazy: bool = False) -> None:
        self._refuse_reading()
        current = self._current()
        if current is not None:
            add(current)
            return
        commit = self._committed.commit
        made = Transaction(self._updatable, lambda t: commit(t.operations, t.done, lazy=lazy))
        with made:
            add(made)

    def _current(self) -> Transaction | None:
        found: Transaction | None = getattr(self._open, "transaction", None)
        return found

    def _begin(self, transaction: Transaction | None) -> None:
        if transaction is not None:
            self._refuse_in_transaction("a transaction does not begin")
        self._open.transaction = transaction

    def _refuse_in_transaction(self, what: str) -> None:
        if self._current() is not None:
            hint = "end the block first"
            raise UsageError(Diagnostic("W0810", f"{what} within a transaction", hint=hint))

    def _refuse_reading(self) -> None:
        if self._read_only:
            from whence.durable import not_writable

            raise not_writable()

    def _refuse_selected(self, relation: str) -> None:
        with self._committed.reading() as derived:
            if relation in derived.relations().selected:
                raise UsageError(
                    Diagnostic(
                        "W0515",
                        f"changes of `{relation}` are not told: only its best rows are followed",
                        hint=f"subscribe to what reads them, or write `.output {relation}` "
                        "to have all of it",
                    )
                )

    def _updatable(self, relation: str) -> tuple[Column, ...]:
        columns = self._columns(relation)
        if is_inline(self.program, relation):
            what = f"`{relation}` is inline: it stands for its rules and holds no facts"
            raise UsageError(Diagnostic("W0817", what, hint="leave `inline` out of its `.decl`"))
        return columns

    def _columns(self, relation: str) -> tuple[Column, ...]:
        if relation not in self:
            like = nearest(str(relation), self)
            raise UsageError(
                Diagnostic(
                    "W0804",
                    f"the program has no relation `{relation}`",
                    hint=f"did you mean `{like}`?" if like else "declare it with `.decl`",
                )
            )
        return self._committed.columns(relation)
