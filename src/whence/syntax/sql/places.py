"""Where in a script an expression stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.diagnostics import Source, Span

if TYPE_CHECKING:
    from sqlglot import exp


def stretch(source: Source, start: int, end: int) -> Span:
    """Return the span of text from one offset to another, which is exclusive."""

    def place(offset: int) -> tuple[int, int]:
        line = source.text.count("\n", 0, offset) + 1
        return line, offset - (source.text.rfind("\n", 0, offset) + 1) + 1

    return Span(*place(start), *place(end), source)


def place_of(source: Source, expression: exp.Expr) -> Span:
    """Return where an expression stands: from its first known word to its last."""
    known = [node.meta for node in expression.walk() if node.meta and "start" in node.meta]
    if not known:
        parent = expression.parent
        return place_of(source, parent) if parent is not None else Span()
    start = min(meta["start"] for meta in known)
    end = max(meta["end"] for meta in known)
    return stretch(source, start, end + 1)
