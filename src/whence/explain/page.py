"""An explanation as HTML for notebooks: an outline that folds, without scripts or pictures."""

from __future__ import annotations

from html import escape
from typing import Final

from whence.explain.diagram import Diagram
from whence.explain.outline import Line, Show, Tone, outline
from whence.explain.text import harmless
from whence.explain.words import annotation_cell

_LOOK: Final[dict[Tone, str]] = {
    "fact": "",
    "given": "color:#2e7d32",
    "rule": "color:#00697a",
    "quiet": "opacity:0.6",
    "good": "color:#2e7d32",
    "bad": "color:#b00020",
    "label": "color:#8a6d00",
}


def as_html(diagram: Diagram, show: Show = annotation_cell) -> str:
    """Return nested `<details>`, all of them open."""
    out = ['<div style="font-family:monospace;white-space:pre-wrap">']
    open_levels: list[int] = []
    for line in outline(diagram, show):
        level = len(line.last)
        while open_levels and open_levels[-1] >= level:
            open_levels.pop()
            out.append("</div></details>")
        if line.opens:
            open_levels.append(level)
            out.append(f"<details open><summary>{_shown(line)}</summary>")
            out.append('<div style="margin-left:1.5em">')
        else:
            out.append(f"<div>{_shown(line) or '&nbsp;'}</div>")
    out.extend("</div></details>" for _ in open_levels)
    return "".join([*out, "</div>"])


def _shown(line: Line) -> str:
    parts = []
    for text, tone in line.parts:
        inner, look = escape(harmless(text)), _LOOK[tone]
        parts.append(f'<span style="{look}">{inner}</span>' if look else inner)
    return "".join(parts)
