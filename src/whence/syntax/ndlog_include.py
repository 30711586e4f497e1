"""`#include`: rules of other files, all of them or those with given labels.

With a rule come the tables that it reads and fills, unless the program declares them itself.
Queries, watches and facts stay behind: they are what a program is run for, not how.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from whence.diagnostics import Diagnostic, ProgramError, Source, Span, nearest
from whence.syntax.ndlog_builder import Include, Statement
from whence.syntax.nodes import Atom, Materialize, Pragma, Rule, walk
from whence.syntax.scanner import Token

Read = Callable[[Path], list[Statement]]
"""Returns the statements of a file."""


def included(
    statements: Sequence[Statement], folder: Path | None, read: Read, name: str
) -> list[Statement]:
    """Return the statements with those that `#include` asks for in its place."""
    seen = {Path(name).resolve()} if folder is not None else set()
    return _expanded(statements, _Files(folder, read, frozenset(seen)))


class _Files:
    """The files that statements may be included from, and those that are being included."""

    def __init__(self, folder: Path | None, read: Read, open_: frozenset[Path]) -> None:
        self.folder = folder
        self.read = read
        self.open = open_

    def statements(self, file: str, span: Span) -> list[Statement]:
        """Return the statements of a file with its own includes expanded."""
        if self.folder is None:
            raise ProgramError(
                Diagnostic(
                    "W1304",
                    f"there is no folder in which to find `{file}`",
                    span,
                    hint="put the program into a file beside it",
                )
            )
        path = (self.folder / file).resolve()
        if path in self.open:
            raise ProgramError(
                Diagnostic("W1305", f"`{file}` is included while it is being read", span)
            )
        try:
            own = self.read(self.folder / file)
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise ProgramError(
                Diagnostic("W1304", f"cannot read `{file}`: {why.lower()}", span)
            ) from None
        return _expanded(own, _Files(path.parent, self.read, self.open | {path}))

    def as_written(self, file: str) -> list[Statement]:
        """Return the statements of a file of the folder; none if it cannot be read."""
        assert self.folder is not None
        try:
            return self.read(self.folder / file)
        except (OSError, UnicodeDecodeError, ProgramError):
            return []

    def beside(self) -> Iterator[str]:
        """Yield the names of the programs in the folder that are not being read."""
        if self.folder is not None and self.folder.is_dir():
            for path in sorted(self.folder.glob("*.ndlog")):
                if path.resolve() not in self.open:
                    yield path.name


def _expanded(statements: Sequence[Statement], files: _Files) -> list[Statement]:
    found: list[Statement] = []
    brought: list[Statement] = []
    for statement in statements:
        if not isinstance(statement, Include):
            found.append(statement)
            continue
        for rule_or_table in _asked(statement, found, files):
            (found if isinstance(rule_or_table, Rule) else brought).append(rule_or_table)
    declared = {s.relation for s in found if isinstance(s, Materialize)}
    used = {atom.relation for s in found if isinstance(s, Rule) for atom in _atoms(s)}
    tables: dict[str, Statement] = {}
    for statement in brought:
        if isinstance(statement, Pragma):
            if statement not in found:
                found.append(statement)
        elif isinstance(statement, Materialize) and statement.relation in used - declared:
            tables.setdefault(statement.relation, statement)
    return [*tables.values(), *found]


def _asked(include: Include, before: Sequence[Statement], files: _Files) -> Iterator[Statement]:
    if include.file is not None:
        there = files.statements(include.file, include.span)
        yield from _declared(there)
        if not include.labels:
            yield from (s for s in there if isinstance(s, Rule) and s.body)
            return
        rules = _labelled(there)
        for label in include.labels:
            if label.text not in rules:
                raise _no_such_rule(label, include, f"in `{include.file}`", list(rules))
            yield rules[label.text]
        return
    here = _labelled(before)
    for label in include.labels:
        if label.text not in here:
            yield from _beside(label, include, files, list(here))


def _beside(label: Token, include: Include, files: _Files, known: list[str]) -> Iterator[Statement]:
    """Yield a rule of the one program of the folder that has the label, and its tables."""
    holders: dict[str, list[Statement]] = {}
    for file in files.beside():
        own = files.as_written(file)
        labels = _labelled(own)
        known += labels
        if label.text in labels:
            holders[file] = own
    if not holders:
        raise _no_such_rule(label, include, "here or in the programs beside this one", known)
    if len(holders) > 1:
        listed = " and ".join(f"`{file}`" for file in holders)
        raise ProgramError(
            Diagnostic(
                "W1305",
                f"rule `{label.text}` is in {listed}",
                _span(label, include),
                hint=f'name the file: `#include("{next(iter(holders))}", {label.text})`',
            )
        )
    (there,) = holders.values()
    yield from _declared(there)
    yield _labelled(there)[label.text]


def _declared(statements: Sequence[Statement]) -> list[Statement]:
    return [s for s in statements if isinstance(s, Materialize | Pragma)]


def _labelled(statements: Sequence[Statement]) -> dict[str, Rule]:
    return {s.name: s for s in statements if isinstance(s, Rule) and s.name}


def _no_such_rule(label: Token, include: Include, where: str, known: Sequence[str]) -> ProgramError:
    near = nearest(label.text, sorted(set(known)))
    return ProgramError(
        Diagnostic(
            "W1303",
            f"there is no rule `{label.text}` {where}",
            _span(label, include),
            hint=f"did you mean `{near}`?" if near else "a label stands before its rule",
        )
    )


def _span(label: Token, include: Include) -> Span:
    source: Source | None = include.span.source
    return Span(label.line, label.column, label.end_line, label.end_column, source)


def _atoms(rule: Rule) -> Iterator[Atom]:
    for part in (*rule.heads, *rule.body):
        for node in walk(part):
            if isinstance(node, Atom):
                yield node
