"""Facts, rules and annotations in words, as a program would write them, on one line each."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from whence.explain.model import Fact, Value
from whence.syntax.nodes import Constant, Kind, Rule
from whence.syntax.printer import print_constant, print_rule

Cell: TypeAlias = int | float | str


def fact_text(fact: Fact) -> str:
    """Return the fact as text.

    >>> fact_text(Fact("p", (1, 2.0, "a b", ("c", None))))
    'p(1, 2.0, "a b", ["c", nil])'
    """
    return f"{fact.relation}({', '.join(map(value_text, fact.row))})"


def value_text(value: Value) -> str:
    """Return a value as text; records nest deeply, so without recursion."""
    if not isinstance(value, tuple):
        return _scalar(value)
    parts: list[str] = []
    pending: list[tuple[bool, Value]] = [(False, value)]  # whether it is punctuation, and what
    while pending:
        mark, item = pending.pop()
        if isinstance(item, tuple):
            parts.append("[")
            pending.append((True, "]"))
            for place in range(len(item) - 1, -1, -1):
                pending.append((False, item[place]))
                if place:
                    pending.append((True, ", "))
        else:
            parts.append(str(item) if mark else _scalar(item))
    return "".join(parts)


def _scalar(value: int | float | str | None) -> str:
    match value:
        case None:
            return "nil"
        case str():
            return print_constant(Constant(value, Kind.SYMBOL))
        case float():
            return print_constant(Constant(value, Kind.FLOAT))
        case _:
            return str(value)


def rule_text(rule: Rule) -> str:
    """Return the rule on one line, without its plan."""
    # The printer breaks lines only between literals; in texts a line break is `\n`.
    return print_rule(replace(rule, orders=())).replace("\n    ", " ").replace("\n", " ")


def place_text(rule: Rule) -> str:
    """Return where the rule stands, such as `paths.dl:7`; empty when it stands nowhere."""
    if not rule.span:
        return ""
    name = rule.span.source.name if rule.span.source else ""
    return f"{name}:{rule.span.line}" if name else f"line {rule.span.line}"


def bindings_text(bindings: tuple[tuple[str, Value], ...]) -> str:
    """Return the values of variables, such as `x = 1, y = "a"`."""
    return ", ".join(f"{name} = {value_text(value)}" for name, value in bindings)


def annotation_cell(annotation: object) -> Cell:
    """Return an annotation as a value to print, where its semiring does not say how."""
    if isinstance(annotation, float) and annotation.is_integer():
        return int(annotation)
    return annotation if isinstance(annotation, int | float | str) else str(annotation)
