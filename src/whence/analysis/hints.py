"""Nearest names for hints, a bounded number of times: comparing names is slow."""

from __future__ import annotations

from collections.abc import Iterable

from whence.diagnostics import nearest

_MOST = 30


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
