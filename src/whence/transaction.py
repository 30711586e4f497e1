"""A transaction: inserts, deletes and replacements, committed as one batch or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from types import TracebackType
from typing import TypeAlias

from whence.diagnostics import DataError, Diagnostic, UsageError, nearest
from whence.facts.schema import Column
from whence.netting import Operation, Sign
from whence.rows import as_table
from whence.view.base import Changes
from whence.view.times import NotATime, as_seconds

Moment: TypeAlias = float | str | datetime
"""Seconds, ISO 8601 text, or a `datetime`."""
Key: TypeAlias = Sequence[str | int] | str | int


class Transaction:
    """Updates that wait for the end of their block.

    Made by `db.transaction()`. Until the block ends nobody sees them; when it raises, they are
    dropped. Afterwards `changes` says what they did to every relation.
    """

    def __init__(
        self,
        columns: Callable[[str], tuple[Column, ...]],
        commit: Callable[[Transaction], None],
        begin: Callable[[Transaction | None], None] = lambda _: None,
        note: object = None,
    ) -> None:
        self.operations: list[Operation] = []
        self.note = note
        self._columns = columns
        self._commit = commit
        self._begin = begin
        self._open = True
        self._changes: Changes | None = None

    def insert(
        self, relation: str, rows: object, *, time: Moment | Iterable[Moment] | None = None
    ) -> None:
        """Add facts, as `Database.insert` takes them; `time` is theirs, one for all or for each."""
        self._add("+", relation, rows, time)

    def delete(self, relation: str, rows: object) -> None:
        """Take base facts out; those that are not there do no harm."""
        self._add("-", relation, rows, None)

    def replace(
        self,
        relation: str,
        rows: object,
        *,
        key: Key,
        time: Moment | Iterable[Moment] | None = None,
    ) -> None:
        """Put these facts in the place of all base facts with an equal key, which names columns."""
        self._add("~", relation, rows, time, key_columns(relation, self._columns(relation), key))

    def add(self, operation: Operation) -> None:
        """Add an operation whose rows are known to fit."""
        self._check_open()
        self.operations.append(operation)

    def done(self, changes: Changes) -> None:
        """Take note of what the commit changed."""
        self._changes = changes

    @property
    def changes(self) -> Changes:
        """What the commit did to every relation that changed."""
        if self._changes is None:
            raise UsageError(
                Diagnostic("W0812", "the transaction is not committed, so nothing has changed yet")
            )
        return self._changes

    def _add(
        self,
        sign: Sign,
        relation: str,
        rows: object,
        time: Moment | Iterable[Moment] | None,
        key: tuple[int, ...] = (),
    ) -> None:
        self._check_open()
        table = as_table(relation, self._columns(relation), rows, comes=sign != "-")
        self.operations.append(
            Operation(sign, relation, table, _times(relation, time, table.num_rows), key)
        )

    def _check_open(self) -> None:
        if not self._open:
            hint = "begin another: `with db.transaction() as t:`"
            raise UsageError(Diagnostic("W0812", "the transaction has ended", hint=hint))

    def __enter__(self) -> Transaction:
        self._check_open()
        self._begin(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open = False
        self._begin(None)
        if kind is None:
            self._commit(self)


def key_columns(relation: str, columns: Sequence[Column], key: Key) -> tuple[int, ...]:
    """Return the numbers of the columns that a key names."""
    names = [c.name for c in columns]
    parts = [key] if isinstance(key, str | int) else list(key)
    found: list[int] = []
    for part in parts:
        if isinstance(part, str) and part in names:
            found.append(names.index(part))
        elif isinstance(part, int) and 0 <= part < len(names):
            found.append(part)
        else:
            like = nearest(str(part), names)
            there = ", ".join(f"`{name}`" for name in names) or "none"
            raise UsageError(
                Diagnostic(
                    "W0813",
                    f"`{relation}` has no column `{part}` for a key",
                    hint=f"did you mean `{like}`?" if like else f"its columns are {there}",
                )
            )
    if not found:
        raise UsageError(Diagnostic("W0813", f"a key of `{relation}` names at least one column"))
    return tuple(dict.fromkeys(found))


def _times(relation: str, time: Moment | Iterable[Moment] | None, rows: int) -> tuple[float, ...]:
    if time is None or not rows:
        return ()
    given = [time] if isinstance(time, float | int | str | datetime) else list(time)
    if len(given) != rows and not (len(given) == 1 and given[0] is time):
        message = f"{len(given)} times given for {rows} facts of `{relation}`"
        raise DataError(Diagnostic("W0680", message, hint="give one for all, or one for each"))
    try:
        return tuple(as_seconds(moment) for moment in given)
    except NotATime as fault:
        raise DataError(
            Diagnostic("W0680", f"{fault} is no time", hint="give seconds, or ISO 8601 text")
        ) from None
