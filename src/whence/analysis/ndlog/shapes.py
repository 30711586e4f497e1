"""Arities, tables, keys and labels: whether all statements speak of the same relations."""

from __future__ import annotations

from whence.analysis.ndlog.state import PERIODIC, atoms, relations
from whence.diagnostics import Diagnostic, nearest
from whence.syntax.nodes import Atom, Materialize, Program, Rule


def check_shapes(program: Program) -> list[Diagnostic]:
    """Report relations with two arities, and tables that do not fit their relations."""
    found: list[Diagnostic] = []
    first: dict[str, Atom] = {}
    for rule in program.rules:
        for atom in atoms(rule):
            found += _arity(atom, first)
    for query in program.queries:
        if query.atom.relation in first:
            found += _arity(query.atom, first)
        else:
            found += _known(query.atom.relation, query, program)
    for watch in program.watches:
        found += _known(watch.relation, watch, program)
    declared: dict[str, Materialize] = {}
    for table in program.tables:
        found += _table(table, first.get(table.relation), declared)
    labelled: dict[str, Rule] = {}
    for rule in program.rules:
        if rule.name and labelled.setdefault(rule.name, rule) is not rule:
            found.append(_label(rule, labelled[rule.name]))
    return found


def _arity(atom: Atom, first: dict[str, Atom]) -> list[Diagnostic]:
    before = first.setdefault(atom.relation, atom)
    # The last argument of `periodic` may be left out.
    if len(atom.args) == len(before.args) or atom.relation == PERIODIC:
        return []
    return [
        Diagnostic(
            "W1312",
            f"`{atom.relation}` has {len(atom.args)} arguments here",
            atom.span,
            notes=(f"it has {len(before.args)} in line {before.span.line}",),
            hint="a relation has the same columns everywhere; `_` stands for any value",
        )
    ]


def _known(name: str, statement: object, program: Program) -> list[Diagnostic]:
    known = relations(program)
    if name in known or name == PERIODIC:
        return []
    near = nearest(name, known)
    return [
        Diagnostic(
            "W1335",
            f"there is no relation `{name}`",
            statement.span,  # type: ignore[attr-defined]
            hint=f"did you mean `{near}`?" if near else "no rule and no table has this name",
        )
    ]


def _table(
    table: Materialize, atom: Atom | None, declared: dict[str, Materialize]
) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    before = declared.setdefault(table.relation, table)
    if before is not table:
        found.append(
            Diagnostic(
                "W1323",
                f"`{table.relation}` is declared twice",
                table.span,
                notes=(f"first in line {before.span.line}",),
                hint="keep one `materialize`",
            )
        )
    if table.size is not None and table.size < 1:
        found.append(
            Diagnostic(
                "W1300",
                f"the table of `{table.relation}` can hold nothing",
                table.span,
                hint="write how many tuples it holds, or `infinity`",
            )
        )
    wrong = [key for key in table.keys if key < 1 or (atom and key > len(atom.args))]
    repeated = [key for key in table.keys if table.keys.count(key) > 1]
    if wrong and atom is not None:
        found.append(
            Diagnostic(
                "W1320",
                f"`{table.relation}` has no column {wrong[0]}",
                table.span,
                notes=(f"it has {len(atom.args)} in line {atom.span.line}",),
                hint="keys count from 1; `keys()` is all columns",
            )
        )
    elif wrong or repeated:
        found.append(
            Diagnostic(
                "W1320",
                f"the keys of `{table.relation}` are not columns of it",
                table.span,
                hint="each key is one column, counted from 1; `keys()` is all columns",
            )
        )
    return found


def _label(rule: Rule, before: Rule) -> Diagnostic:
    return Diagnostic(
        "W1334",
        f"two rules are called `{rule.name}`",
        rule.span,
        notes=(f"the other one is in line {before.span.line}",),
        hint="an `#include`, and who reads which rules fired, could mean either",
        severity="warning",
    )
