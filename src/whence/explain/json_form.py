"""An explanation as JSON: facts, steps and rules in flat lists that refer to each other by number.

The schema is told in `docs/reference/explanations.md`; `version` changes when it does.
"""

from __future__ import annotations

import json
import math
from typing import Final, assert_never

from whence.explain.diagram import Aggregated, Condition, Diagram, Item, Node, Step
from whence.explain.model import Value
from whence.explain.outline import Show
from whence.explain.words import annotation_cell, rule_text
from whence.syntax.nodes import Rule
from whence.syntax.tuples import value_text

VERSION: Final = 1


def as_json(diagram: Diagram, show: Show = annotation_cell) -> str:
    """Return the JSON text."""
    return json.dumps(as_data(diagram, show), ensure_ascii=False, indent=2, allow_nan=False)


def as_data(diagram: Diagram, show: Show = annotation_cell) -> dict[str, object]:
    """Return plain lists and dicts."""
    return {
        "version": VERSION,
        "kind": diagram.kind,
        "fact": diagram.nodes[0].text,
        "facts": [_fact(number, node, show) for number, node in enumerate(diagram.nodes)],
        "steps": [_step(number, step) for number, step in enumerate(diagram.steps)],
        "rules": [_rule(number, rule) for number, rule in diagram.rules.items()],
    }


def _fact(number: int, node: Node, show: Show) -> dict[str, object]:
    annotation = None if node.annotation is None else plain(show(node.annotation))
    return {
        "id": number,
        "text": node.text,
        "relation": node.relation,
        "row": None if node.row is None else [plain(value) for value in node.row],
        "standing": node.standing.value,
        "given": node.given,
        "height": node.height,
        "annotation": annotation,
        "steps": list(node.steps),
        "notes": list(node.notes),
    }


def _step(number: int, step: Step) -> dict[str, object]:
    return {
        "id": number,
        "fact": step.head,
        "rule": step.rule,
        "bindings": {name: plain(value) for name, value in step.bindings},
        "premises": [_premise(item) for item in step.premises],
    }


def _premise(item: Item) -> dict[str, object]:
    match item:
        case int(number):
            return {"kind": "fact", "fact": number}
        case Condition(kind, text, holds):
            return {"kind": kind, "text": text, "holds": holds}
        case Aggregated(text, value, size, over):
            found = {"kind": "aggregate", "text": text, "value": plain(value), "size": size}
            return {**found, "over": list(over)}
        case _:
            assert_never(item)


def _rule(number: int, rule: Rule) -> dict[str, object]:
    span = rule.span
    place = None
    if span:
        name = span.source.name if span.source else ""
        place = {"file": name, "line": span.line, "column": span.column}
    return {"number": number, "text": rule_text(rule), "place": place}


def plain(value: Value) -> int | float | str | None:
    """Return a value as JSON has it: what JSON has no word for, and records, as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value_text(value) if isinstance(value, tuple) or value is None else value
