"""An explanation as a Mermaid flowchart, as Markdown pages and notebooks show them."""

from __future__ import annotations

from typing import Final, assert_never

from whence.explain.diagram import Aggregated, Condition, Diagram, Standing
from whence.explain.outline import Show
from whence.explain.text import harmless
from whence.explain.words import annotation_cell
from whence.syntax.tuples import value_text

_PLAIN: Final = frozenset(" ,.=_()[]!-")
_CLASSES: Final = (
    "classDef given fill:#e3f4e1,stroke:#2e7d32,color:#000",
    "classDef derived fill:#fff,stroke:#555,color:#000",
    "classDef cut fill:#fff,stroke:#555,stroke-dasharray:4,color:#000",
    "classDef absent fill:#fff,stroke:#b00020,stroke-dasharray:4,color:#b00020",
    "classDef step fill:#eef,stroke:#335,color:#000",
    "classDef beside fill:#fafafa,stroke:#bbb,color:#000",
    "classDef failed fill:#fff,stroke:#b00020,color:#b00020",
)


def as_mermaid(diagram: Diagram, show: Show = annotation_cell) -> str:
    """Return the text of a flowchart, from what is asked to what it rests on."""
    lines = ["flowchart TD"]
    for number, node in enumerate(diagram.nodes):
        label = node.text if node.annotation is None else f"{node.text} [{show(node.annotation)}]"
        lines.append(f"  f{number}[{quoted(label)}]:::{node.standing.value}")
    for number, step in enumerate(diagram.steps):
        failed = diagram.nodes[step.head].standing is Standing.ABSENT
        look = "failed" if failed else "step"
        lines.append(f"  s{number}([{quoted(f'rule {step.rule}')}]):::{look}")
        lines.append(f"  f{step.head} --> s{number}")
        for place, item in enumerate(step.premises):
            beside = f"s{number}_{place}"
            match item:
                case int(premise):
                    lines.append(f"  s{number} --> f{premise}")
                case Condition(_, text, holds):
                    look = "failed" if holds is False else "beside"
                    lines.append(f"  {beside}({quoted(text)}):::{look}")
                    lines.append(f"  s{number} --> {beside}")
                case Aggregated(text, value, size, over):
                    label = quoted(f"{text} = {value_text(value)}, over {size}")
                    lines.append(f"  {beside}{{{{{label}}}}}:::beside")
                    lines.append(f"  s{number} --> {beside}")
                    lines.extend(f"  {beside} --> f{premise}" for premise in over)
                case _:
                    assert_never(item)
    return "\n".join([*lines, *(f"  {line}" for line in _CLASSES)])


def quoted(text: str) -> str:
    """Return a label that shows exactly this text, whatever HTML or Mermaid would make of it.

    Letters, digits and signs that mean nothing in a label stand for themselves, all else is
    written by number: quotes and tags, but also `%%`, `\\n`, `$$` and the names of icons.

    >>> quoted('a("<b>")')
    '"a(#34;#60;b#62;#34;)"'
    """
    plain = harmless(text)
    return '"' + "".join(c if c.isalnum() or c in _PLAIN else f"#{ord(c)};" for c in plain) + '"'
