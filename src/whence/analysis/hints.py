"""Nearest names for hints, a bounded number of times: comparing names is slow."""

from __future__ import annotations

from collections.abc import Iterable

from whence.diagnostics import nearest
from whence.syntax.nodes import RelationDecl

_MOST = 30


def without_annotation(decl: RelationDecl, given: int) -> str:
    """Return the hint for an atom that has its relation's annotation as one more argument."""
    annotated = decl.provenance is not None or decl.semiring is not None
    if not annotated or given != decl.arity + 1:
        return ""
    return "the annotation is no argument: leave it out"


class Hints:
    """Finds the nearest name for the first mistakes of a check; after that, for none."""

    def __init__(self) -> None:
        self._left = _MOST

    def near(self, name: str, known: Iterable[str]) -> str:
        """Return the known name most like `name`, or an empty string."""
        if not self._left:
            return ""
        self._left -= 1
        return nearest(name, known)

    def did_you_mean(self, name: str, known: Iterable[str], otherwise: str = "") -> str:
        """Return the hint that proposes the nearest name."""
        near = self.near(name, known)
        return f"did you mean `{near}`?" if near else otherwise
