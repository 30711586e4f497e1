"""What a database says of its answers: why a fact holds, why not, and what a change would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from whence.committed import Committed
from whence.diagnostics import Diagnostic, Source, Span, UsageError
from whence.explain.base import MAX_INSTANCES, Asked
from whence.explain.model import Fact as ProvedFact
from whence.explaining import Explaining
from whence.facts.schema import Column
from whence.rewrite.read_in import AnySemiring, semiring_of
from whence.rows import Row, table_of, tuples_of
from whence.syntax.nodes import Program
from whence.transaction import Moment, Transaction
from whence.view.base import Changes

if TYPE_CHECKING:
    from whence.view.updates import Fact

Facts: TypeAlias = "str | Iterable[str] | Mapping[str, object]"
"""Facts as text, one or several, or rows by relation, as `Database.insert` takes them."""


class Explained(Explaining):
    """The part of a `Database` that explains it; nothing here changes what it holds."""

    _committed: Committed

    @property
    def program(self) -> Program:
        """Everything loaded so far."""
        return self._committed.derived.program

    def what_if(
        self, *, delete: Facts = (), insert: Facts = (), time: Moment | None = None
    ) -> Changes:
        """Return what would change in every relation if these facts went and came.

        A fact that goes and comes is there; `time` is that of those that come. Nothing is
        committed, and nobody is told.

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
                    if sign == "-":
                        supposed.delete(relation, rows)
                    else:
                        supposed.insert(relation, rows, time=time)
                continue
            for text in [given] if isinstance(given, str) else given:
                self._suppose(supposed, sign, text, time)
        return self._committed.what_if(supposed.operations)

    @property
    def semiring(self) -> AnySemiring | None:
        """What facts are annotated in; None where they are not."""
        return semiring_of(self.program)

    def witnesses(
        self, fact: Asked, *, limit: int = MAX_INSTANCES
    ) -> Iterator[tuple[ProvedFact, ...]]:
        """Yield minimal sets of base facts from which a fact follows, one at a time.

        Without any one of its facts a set does not do. Small sets come first, as a rule.

        >>> from whence import Database
        >>> db = Database()
        >>> db.load('''
        ... .decl edge(x: number, y: number)
        ... .decl path(x: number, y: number)
        ... path(x, y) :- edge(x, y).
        ... path(x, z) :- path(x, y), edge(y, z).
        ... edge(1, 2).  edge(2, 3).  edge(1, 3).
        ... ''')
        >>> for witness in db.witnesses("path(1, 3)"):
        ...     print(*witness)
        edge(1, 3)
        edge(1, 2) edge(2, 3)
        >>> db.polynomial("path(1, 3)")
        'edge(1, 3) + edge(1, 2)·edge(2, 3)'
        """
        from whence.engine.local.guard import Guard
        from whence.explain.readings import witnesses

        guard = Guard(self._committed.derived.settings.limits)
        guard.restart()
        return witnesses(self.derivations(fact, limit=limit), guard.check)

    def polynomial(self, fact: Asked, *, limit: int = MAX_INSTANCES) -> str:
        """Return the provenance polynomial of a fact: a sum over derivations, a product in each.

        A fact with infinitely many derivations has none, and is refused with a cycle of facts.
        """
        from whence.semiring.how import How

        how = How()
        return how.show(next(iter(self.annotations(fact, how, limit=limit).values())))

    def annotations(
        self,
        fact: Asked,
        semiring: str | AnySemiring | None = None,
        *,
        limit: int = MAX_INSTANCES,
    ) -> dict[ProvedFact, Any]:
        """Return the annotations of a fact, which is first, and of all it is derived from.

        They are in the semiring of the database, or in one that is asked for, where base facts are
        annotated with their names, or with one.
        """
        from whence.explain.readings import read_in
        from whence.semiring.registry import make

        with self._committed.reading() as derived:
            explainer, annotated = self._explainer(derived)
            own = semiring_of(derived.program)
            chosen = own if semiring is None else make(semiring)
            if chosen is None:
                hint = 'name one, such as `db.annotations(fact, "counting")`'
                raise UsageError(Diagnostic("W0824", "facts are not annotated", hint=hint))
            same = own is not None and own.name == chosen.name
            cone = explainer.derivations(fact, limit=limit)
            values = read_in(cone, chosen, annotated(chosen) if same else None)
            return dict(zip(cone.facts, values, strict=True))

    def is_given(self, fact: str, *, annotated: bool = False) -> bool:
        """Say whether a fact is a base fact: one that was given, and can be deleted.

        If it is to be `annotated`, one that names no annotation is none where others have some.
        """
        found = self._fact(fact)
        if annotated and len(found.row) < len(self._updatable(found.relation)):
            return False
        return bool(self._given(found))

    def _suppose(self, supposed: Transaction, sign: str, text: str, time: Moment | None) -> None:
        """Add a fact that comes or goes, given as text."""
        found = self._fact(text)
        if sign == "-":
            supposed.delete(found.relation, self._given(found))
            return
        bare = len(found.row) < len(self._updatable(found.relation))
        row = (*found.row, None) if bare else found.row
        at = time if found.time is None else found.time
        supposed.insert(found.relation, [row], time=at)

    def _given(self, fact: Fact) -> list[Row]:
        """Return the base facts that a fact stands for: all its annotations, if it names none."""
        columns = self._updatable(fact.relation)
        with self._committed.reading() as derived:
            view = derived.make_view()
            if not columns:
                return tuples_of(view.base(fact.relation))
            width = len(fact.row)
            keys = table_of(columns[:width], [fact.row])
            return tuples_of(view.matching(fact.relation, tuple(range(width)), keys))

    def _fact(self, text: str) -> Fact:
        """Return the fact that a text states, with or without annotation."""
        from whence.view.text_updates import parse_text
        from whence.view.updates import BadLine, Fact

        shown = str(text).strip()
        line = f"+{shown.removesuffix('.').rstrip()}."
        columns = {d.name: self._committed.columns(d.name) for d in self.program.relations}
        bare = {name: tuple(c for c in of if c.semiring is None) for name, of in columns.items()}
        try:
            try:
                found = parse_text(line, columns, {})
            except BadLine as fault:
                if fault.code != "W0684":
                    raise
                found = parse_text(line, bare, {})
        except BadLine as fault:
            column = max(1, min(fault.column - 1, len(shown) + 1))
            span = Span(1, column, 1, column + fault.width, Source("<fact>", shown))
            hint = "a fact is such as `link(1, 2)`" if fault.code == "W0682" else fault.hint
            raise UsageError(
                Diagnostic(fault.code, fault.message, span, fault.label, hint=hint)
            ) from None
        if not isinstance(found, Fact):
            hint = "a fact is such as `link(1, 2)`"
            raise UsageError(Diagnostic("W0682", f"`{shown}` is no fact", hint=hint))
        return found

    def _updatable(self, relation: str) -> tuple[Column, ...]:
        """Return the columns of a relation that may be given facts."""
        raise NotImplementedError
