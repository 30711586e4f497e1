"""Joins and unions of traced frames.

A joined row comes from the row of each side, or from one where an outer join found no other. A row
of a semi-join comes from its row and all that match it; one of an anti-join from its row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whence.lineage.capture import faults
from whence.lineage.capture.frames.columns import quoted
from whence.lineage.capture.tracer import Reference

if TYPE_CHECKING:
    from whence.lineage.capture.frames.frame import TracedFrame


def joined(left: TracedFrame, right: TracedFrame, on: Any, how: str) -> TracedFrame:
    """Return the join of two frames of one tracer."""
    kind = how.lower().replace("_", "").removeprefix("left")
    if kind == "anti":
        plain = left._frame.join(right.untraced, on, how)
        return left._with(plain, operators=right._operators)
    if kind == "semi":
        return _semi(left, right, on)
    right = _apart(right)
    frame = (
        left._frame.crossJoin(right._frame)
        if kind == "cross" and on is None
        else left._frame.join(right._frame, on, how)
    )
    references = (*left._references, *right._references)
    return left._with(frame, references, right._operators)


def _apart(right: TracedFrame) -> TracedFrame:
    """Return the frame with hidden columns of new names, so that it can be joined with itself."""
    frame, references = right._frame, []
    for reference in right._references:
        renamed = right._tracer.reference(reference.space)
        frame = frame.withColumnRenamed(reference.column, renamed.column)
        references.append(renamed)
    return right._with(frame, references)


def _semi(left: TracedFrame, right: TracedFrame, on: Any) -> TracedFrame:
    """Join with the keys of the right side, whose rows of one key are a collection."""
    keys = [on] if isinstance(on, str) else on
    if not isinstance(keys, list | tuple) or not all(isinstance(key, str) for key in keys):
        raise faults.not_traced(
            "a semi-join by a condition", "join by names of columns: `on=['key']`"
        )
    matches = right.select(*map(quoted, keys)).distinct()
    found = joined(left, matches, list(keys), "inner")
    order = left.untraced.join(right.untraced, list(keys), "left_semi").columns
    return found.select(*map(quoted, order))


def united(
    left: TracedFrame, right: TracedFrame, by_name: bool = False, missing: bool = False
) -> TracedFrame:
    """Return the union: spaces that only one side has are null in rows of the other."""
    from pyspark.sql import functions as F

    tracer = left._tracer
    counts: dict[str, int] = {}
    for side in (left, right):
        for space in {reference.space for reference in side._references}:
            most = sum(reference.space == space for reference in side._references)
            counts[space] = max(counts.get(space, 0), most)
    references = [tracer.reference(space) for space, n in counts.items() for _ in range(n)]

    def aligned(side: TracedFrame) -> Any:
        waiting: dict[str, list[Reference]] = {}
        for reference in side._references:
            waiting.setdefault(reference.space, []).append(reference)
        hidden = []
        for reference in references:
            there = waiting.get(reference.space)
            value = F.col(there.pop(0).column) if there else F.lit(None).cast("long")
            hidden.append(value.alias(reference.column))
        return side._frame.select(*map(quoted, side.columns), *hidden)

    one, other = aligned(left), aligned(right)
    if by_name:
        frame = one.unionByName(other, allowMissingColumns=missing)
    else:
        frame = one.union(other)
    return left._with(frame, references, right._operators)
