"""Annotated evaluation in any semiring: evaluate plainly, ground every rule, solve the instances.

Chains of numbers have a quicker way, as columns that keep the best; this is the way of all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from whence.engine.base import Limits, Observer, Stats
from whence.semiring.base import Semiring

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.functor.user import UserFunctors
    from whence.plan.nodes import Plan

T = TypeVar("T")

COLUMN = "@prov"
"""The name of the column of annotations."""


class AnnotatedEvaluation(Generic[T]):
    """The relations after evaluation, each fact with its annotation."""

    stats: Stats
    selected: frozenset[str]
    semiring: Semiring[T]

    def size(self, relation: str) -> int:
        """Return the number of tuples."""
        raise NotImplementedError

    def table(self, relation: str, *, ordered: bool = False) -> pa.Table:
        """Return the tuples with one more last column, `@prov`: what the semiring shows.

        It is int64, double or string by `semiring.column`. `ordered` sorts by the tuple's columns.
        """
        raise NotImplementedError

    def annotations(self, relation: str, *, ordered: bool = False) -> list[T]:
        """Return the annotations as values of the semiring, in the order of `table`."""
        raise NotImplementedError


def evaluate_annotated(
    plan: Plan,
    inputs: Mapping[str, pa.Table],
    semiring: Semiring[Any],
    *,
    functors: UserFunctors | None = None,
    limits: Limits = Limits(),
    threads: int | None = None,
    observer: Observer | None = None,
) -> AnnotatedEvaluation[Any]:
    """Return the relations of the plan over the inputs, annotated in the semiring.

    The plan is of a program after `run_passes(..., derivations=True)`, made by `build_plan` with
    `asked=None`. The table of an input has the relation's columns, or one more: its annotations,
    null for a fact that comes without. Facts of the program's text have that of their rule
    (`Rule.annotation`). What comes without is annotated with `semiring.variable`.
    """
    raise NotImplementedError
