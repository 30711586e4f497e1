"""An explanation as text: an indented tree, and the rules that it names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from whence.explain.diagram import Diagram
from whence.explain.outline import Line, Part, Show, Tone, outline
from whence.explain.words import annotation_cell

if TYPE_CHECKING:
    from rich.text import Text

STYLES: Final[dict[Tone, str]] = {
    "fact": "",
    "given": "green",
    "rule": "cyan",
    "quiet": "dim",
    "good": "green",
    "bad": "red",
    "label": "yellow",
}
"""The colours of a terminal."""


def as_text(diagram: Diagram, show: Show = annotation_cell) -> str:
    """Return the tree, a line for each fact and literal."""
    return "\n".join("".join(text for text, _ in parts).rstrip() for parts in _lines(diagram, show))


def as_rich(diagram: Diagram, show: Show = annotation_cell) -> Iterator[Text]:
    """Yield the lines for a terminal, in colour."""
    from rich.text import Text

    for parts in _lines(diagram, show):
        yield Text.assemble(*((text, STYLES[tone]) for text, tone in parts))


def _lines(diagram: Diagram, show: Show) -> Iterator[list[Part]]:
    for line in outline(diagram, show):
        yield [(_guide(line), "quiet"), *((harmless(text), tone) for text, tone in line.parts)]


def _guide(line: Line) -> str:
    if not line.last:
        return ""
    above = "".join("   " if last else "│  " for last in line.last[:-1])
    return above + ("└─ " if line.last[-1] else "├─ ")


def harmless(text: str) -> str:
    """Return the text with what a terminal might obey, or not show, written out.

    >>> harmless('p("\\x1b[2J")')
    'p("\\\\x1b[2J")'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
