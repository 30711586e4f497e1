"""Facts, rules and annotations in words, as a program would write them, on one line each."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from whence.explain.model import Fact, Value
from whence.syntax.nodes import Rule
from whence.syntax.printer import print_rule
from whence.syntax.tuples import tuple_text, value_text

Cell: TypeAlias = int | float | str


def fact_text(fact: Fact) -> str:
    """Return the fact as text.

    >>> fact_text(Fact("p", (1, 2.0, "a b", ("c", None))))
    'p(1, 2.0, "a b", ["c", nil])'
    """
    return tuple_text(fact.relation, fact.row)


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
