"""What a database says of its answers: why a fact holds, why not, and what a change would do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from whence.committed import Committed
from whence.diagnostics import Diagnostic, Source, Span, UsageError
from whence.facts.schema import Column
from whence.netting import Operation, Sign
from whence.syntax.nodes import Program
from whence.transaction import Transaction
from whence.view.base import Changes

Facts: TypeAlias = "str | Iterable[str] | Mapping[str, object]"
"""Facts as text, one or several, or rows by relation, as `Database.insert` takes them."""


class Explained:
    """The part of a `Database` that explains it; nothing here changes what it holds."""

    _committed: Committed

    @property
    def program(self) -> Program:
        """Everything loaded so far."""
        return self._committed.derived.program

    def what_if(self, *, delete: Facts = (), insert: Facts = ()) -> Changes:
        """Return what would change in every relation if these facts went and came.

        A fact that goes and comes is there. Nothing is committed, and nobody is told.

        >>> from whence import Database
        >>> db = Database()
        >>> db.load('''
        ... .decl edge(x: number, y: number)
        ... .decl path(x: number, y: number)
        ... path(x, y) :- edge(x, y).
        ... path(x, z) :- path(x, y), edge(y, z).
        ... edge(1, 2).  edge(2, 3).
        ... ''')
        >>> changes = db.what_if(delete="edge(1, 2)", insert={"edge": [(3, 1)]})
        >>> changes
        Changes(<Change edge +1 -1>, <Change path +2 -2>)
        >>> sorted(changes["path"].inserted.to_pydict()["y"])
        [1, 1]
        >>> db["edge"].rows()
        [(1, 2), (2, 3)]
        """
        supposed = Transaction(self._updatable, lambda _: None)
        for sign, given in (("-", delete), ("+", insert)):
            if isinstance(given, Mapping):
                for relation, rows in given.items():
                    (supposed.delete if sign == "-" else supposed.insert)(relation, rows)
                continue
            for text in [given] if isinstance(given, str) else given:
                supposed.add(self._stated(sign, text))
        return self._committed.what_if(supposed.operations)

    def _stated(self, sign: str, text: str) -> Operation:
        """Return the operation that brings or takes a fact given as text."""
        from whence.view.text_updates import parse_text
        from whence.view.updates import BadLine, Fact

        shown = str(text).strip()
        line = f"{sign}{shown.removesuffix('.').rstrip()}."
        columns = {d.name: self._committed.columns(d.name) for d in self.program.relations}
        try:
            found = parse_text(line, columns, {})
        except BadLine as fault:
            column = max(1, min(fault.column - 1, len(shown) + 1))
            span = Span(1, column, 1, column + fault.width, Source("<fact>", shown))
            raise UsageError(
                Diagnostic(fault.code, fault.message, span, fault.label, hint=fault.hint)
            ) from None
        if not isinstance(found, Fact):
            hint = "a fact is such as `link(1, 2)`"
            raise UsageError(Diagnostic("W0682", f"`{shown}` is no fact", hint=hint))
        self._updatable(found.relation)
        times = () if found.time is None else (found.time,)
        return Operation(_SIGNS[sign], found.relation, [found.row], times)

    def _updatable(self, relation: str) -> tuple[Column, ...]:
        """Return the columns of a relation that may be given facts."""
        raise NotImplementedError


_SIGNS: dict[str, Sign] = {"+": "+", "-": "-"}
