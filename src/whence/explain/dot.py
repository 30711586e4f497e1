"""An explanation as a Graphviz graph: facts are boxes, steps are ellipses."""

from __future__ import annotations

from typing import Final, assert_never

from whence.explain.diagram import Aggregated, Condition, Diagram, Node, Standing
from whence.explain.outline import Show
from whence.explain.text import harmless
from whence.explain.words import annotation_cell
from whence.syntax.tuples import value_text

_LOOK: Final = {
    Standing.GIVEN: 'style="filled", fillcolor="#e3f4e1"',
    Standing.DERIVED: 'style="solid"',
    Standing.CUT: 'style="dashed"',
    Standing.ABSENT: 'style="dashed", color="#b00020", fontcolor="#b00020"',
}


def as_dot(diagram: Diagram, show: Show = annotation_cell) -> str:
    """Return the text of a directed graph, from what is asked to what it rests on."""
    lines = ["digraph explanation {", '  node [shape=box, fontname="monospace"];']
    for number, node in enumerate(diagram.nodes):
        lines.append(f"  f{number} [label={quoted(_label(node, show))}, {_LOOK[node.standing]}];")
    for number, step in enumerate(diagram.steps):
        failed = diagram.nodes[step.head].standing is Standing.ABSENT
        look = "shape=ellipse" + (', style="dashed"' if failed else "")
        lines.append(f"  s{number} [label={quoted(f'rule {step.rule}')}, {look}];")
        lines.append(f"  f{step.head} -> s{number};")
        for place, item in enumerate(step.premises):
            beside = f"s{number}_{place}"
            match item:
                case int(premise):
                    lines.append(f"  s{number} -> f{premise};")
                case Condition(_, text, holds):
                    look = ', fontcolor="#b00020"' if holds is False else ""
                    lines.append(f"  {beside} [label={quoted(text)}, shape=plaintext{look}];")
                    lines.append(f"  s{number} -> {beside};")
                case Aggregated(text, value, size, over):
                    label = f"{text} = {value_text(value)}\nover {size}"
                    lines.append(f"  {beside} [label={quoted(label)}, shape=hexagon];")
                    lines.append(f"  s{number} -> {beside};")
                    lines.extend(f"  {beside} -> f{premise};" for premise in over)
                case _:
                    assert_never(item)
    return "\n".join([*lines, "}"])


def _label(node: Node, show: Show) -> str:
    return node.text if node.annotation is None else f"{node.text}\n[{show(node.annotation)}]"


def quoted(text: str) -> str:
    r"""Return a string of the dot language that shows exactly this text.

    >>> print(quoted('say("x")'))
    "say(\"x\")"
    """
    lines = (harmless(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n"))
    return '"' + "\\n".join(lines) + '"'
