"""The annotations of facts in a program's text, told from their columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from whence.diagnostics import DataError, Diagnostic, raise_errors
from whence.semiring.base import Cell, Semiring
from whence.syntax.nodes import Constant, Kind, Program, RelationDecl, Rule
from whence.syntax.printer import print_term

Default: TypeAlias = Cell | Callable[[tuple[Any, ...]], Cell]
"""The annotation of base facts that come without one: for all, or by row."""


def state_annotations(program: Program) -> Program:
    """Take the last argument of a fact that has one more than an `@prov` relation has columns.

    It is the fact's annotation from then on, and the fact is as wide as its relation.

    >>> from whence.syntax.souffle import parse
    >>> program = state_annotations(parse(".decl edge(x: number, @prov)  edge(1, 0.5). edge(2)."))
    >>> [(len(rule.head.args), rule.annotation and rule.annotation.value) for rule in program.rules]
    [(1, 0.5), (1, None)]
    """
    declared = {d.name: d for d in program.relations if d.provenance is not None}
    if not declared:
        return program
    return replace(program, rules=tuple(_stated(rule, declared) for rule in program.rules))


def _stated(rule: Rule, declared: dict[str, RelationDecl]) -> Rule:
    if rule.body or rule.annotation is not None or len(rule.heads) != 1:
        return rule
    head = rule.head
    decl = declared.get(head.relation)
    if decl is None or len(head.args) != decl.arity + 1:
        return rule
    *args, last = head.args
    if not isinstance(last, Constant):
        return rule
    return replace(rule, heads=(replace(head, args=tuple(args)),), annotation=last)


def read_annotations(
    program: Program, semiring: Semiring[Any], defaults: Mapping[str, Default]
) -> Program:
    """Check the annotations of facts in the text; for a chain, make them the numbers they are.

    Facts without one get the default of their relation. A fact annotated zero is not there.
    """
    chain = semiring.chain
    errors: list[Diagnostic] = []
    rules: list[Rule] = []
    for rule in program.rules:
        cell = _cell(rule, defaults) if rule.is_fact else None
        if cell is None:
            rules.append(rule)
            continue
        place = rule.annotation.span if rule.annotation is not None else rule.span
        try:
            value = semiring.read(cell)
        except ValueError as fault:
            message = f"`{cell}` is no annotation in `{semiring.name}`"
            errors.append(Diagnostic("W0942", message, place, str(fault)))
            continue
        if value == semiring.zero:
            continue
        kind = Kind.SYMBOL if isinstance(cell, str) else Kind.FLOAT
        if isinstance(cell, int):
            kind = Kind.NUMBER
        last = Constant(cell, kind, span=place)
        if chain is not None:
            last = Constant(float(value), Kind.FLOAT, span=place)
        rules.append(replace(rule, annotation=last))
    raise_errors(errors)
    return replace(program, rules=tuple(rules))


def _cell(fact: Rule, defaults: Mapping[str, Default]) -> Cell | None:
    if fact.annotation is not None:
        return fact.annotation.value
    relation, args = fact.head.relation, fact.head.args
    if relation not in defaults:
        return None
    row = tuple(a.value if isinstance(a, Constant) else print_term(a) for a in args)
    return default_cell(relation, defaults[relation], row)


def default_cell(relation: str, default: Default, row: tuple[Any, ...]) -> Cell:
    """Return the default annotation of a fact; what a function does wrong is told as such."""
    fault = ""
    try:
        cell: object = default(row) if callable(default) else default
        if isinstance(cell, int | float | str):
            return cell
        fault = f"{cell!r} is neither number nor text"
    except Exception as error:  # whatever a user's function may raise
        fault = f"{type(error).__name__}: {error}"
    message = f"the function that annotates `{relation}` fails for {row!r}"
    raise DataError(Diagnostic("W0942", message, notes=(fault,)))
