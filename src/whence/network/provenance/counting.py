"""Counting: the annotation of a tuple is the number of its derivations (Gupta et al. 1993).

Exact where no tuple can take part in its own derivation; elsewhere counts never fall to zero.
Nothing travels but the signs of updates.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from whence.network.model import Annotation, Control, Host, Key, Premise, Row


class Counting:
    """The scheme that counts derivations."""

    name = "counting"
    retracting = True
    annotated = False

    def attach(self, host: Host) -> None:
        """Need nothing of the processor."""

    def base(self, relation: str, row: Row) -> Annotation:
        """Return nothing: a base tuple is one derivation of itself."""
        return None

    def variable(self, annotation: Annotation) -> Hashable:
        """Return nothing: there are no variables."""
        return None

    def derive(
        self, rule: str, head: tuple[str, Row], premises: Sequence[Premise]
    ) -> Annotation | None:
        """Return nothing: each derivation counts the same."""
        return None

    def merge(
        self, relation: str, row: Row, old: Annotation | None, new: Annotation
    ) -> tuple[Annotation | None, Annotation | None]:
        """Count one more; only the first is news."""
        if old is None:
            return 1, 1
        return old + 1, None  # type: ignore[operator]

    def withdraw(
        self, relation: str, row: Row, old: Annotation | None, gone: Annotation
    ) -> Annotation | None:
        """Count one less."""
        return None if old is None or old == 1 else old - 1  # type: ignore[operator]

    def arrive(self, annotation: Annotation) -> Annotation | None:
        """Take an annotation as it is."""
        return annotation

    def kill(self, variables: Iterable[Hashable]) -> frozenset[Hashable]:
        """Know no variables."""
        return frozenset()

    def restrict(self, annotation: Annotation, dead: frozenset[Hashable]) -> Annotation | None:
        """Know no variables."""
        return annotation

    def affected(
        self, annotated: Iterable[tuple[Key, Annotation]], dead: frozenset[Hashable]
    ) -> list[Key]:
        """Know no variables."""
        return []

    def settle(self) -> None:
        """Have nothing to tidy up."""

    def control(self, source: str, message: Control) -> None:
        """Know no control messages."""

    def encode(self, annotation: Annotation) -> object:
        """Send nothing."""
        return None

    def decode(self, value: object) -> Annotation:
        """Get nothing."""
        return None

    def size(self, annotation: Annotation) -> int:
        """Take no bytes."""
        return 0
