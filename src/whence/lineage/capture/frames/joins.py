"""Joins, unions and intersections of traced frames.

A joined row comes from the row of each side, or from one where an outer join found no other. A row
of a semi-join comes from its row and all that match it; one of an anti-join from its row. A row of
an intersection comes from all rows of both sides that are equal to it, one of a difference from
those of the left side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whence.lineage.capture.frames.columns import key_hash, quoted
from whence.lineage.capture.tracer import Reference

if TYPE_CHECKING:
    from pyspark.sql import Column

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
        return _semi_by_condition(left, right, on)
    matches = right.select(*map(quoted, keys)).distinct()
    found = joined(left, matches, list(keys), "inner")
    order = left.untraced.join(right.untraced, list(keys), "left_semi").columns
    return found.select(*map(quoted, order))


def _semi_by_condition(left: TracedFrame, right: TracedFrame, on: Any) -> TracedFrame:
    """Join as Spark does; rows that match one of the left side are the collection of its values.

    Rows of the left side with equal values match the same, so their hash may stand for them.
    """
    from pyspark.sql import functions as F

    tracer = left._tracer
    values = tracer.reference("").column
    columns = [F.col(quoted(name)) for name in left.columns]
    valued = left._frame.withColumn(values, key_hash(left._frame, columns))
    pairs = right._with(valued.drop(*left._hidden()).join(right._frame, on, "inner"))
    matches = pairs.groupBy(values).agg()
    found = valued.join(right.untraced, on, "left_semi").join(matches._frame, values, "left")
    references = (*left._references, *matches._references)
    return left._with(found.drop(values), references, matches._operators)


def in_both(left: TracedFrame, right: TracedFrame) -> TracedFrame:
    """Return the rows that both sides have, once."""
    from pyspark.sql import functions as F

    least, most = F.min, F.max
    return _by_sides(left, right, lambda side: (least(side) == 0) & (most(side) == 1))


def in_left_only(left: TracedFrame, right: TracedFrame) -> TracedFrame:
    """Return the rows that the right side does not have, once."""
    from pyspark.sql import functions as F

    return _by_sides(left, right, lambda side: F.max(side) == 0)


def _by_sides(
    left: TracedFrame, right: TracedFrame, wanted: Callable[[str], Column]
) -> TracedFrame:
    """Return what rows of the union come to if the sides that have them are the wanted ones."""
    from pyspark.sql import functions as F

    side, keep = (left._tracer.reference("").column for _ in range(2))
    names = left.columns
    both = united(
        left._with(left._frame.withColumn(side, F.lit(0))),
        right._with(right._frame.withColumn(side, F.lit(1))),
        extra=side,
    )
    found = both.groupBy(*(F.col(quoted(name)) for name in names)).agg(wanted(side).alias(keep))
    return found._with(found._frame.filter(keep).drop(keep))


def united(
    left: TracedFrame,
    right: TracedFrame,
    by_name: bool = False,
    missing: bool = False,
    extra: str | None = None,
) -> TracedFrame:
    """Return the union: spaces that only one side has are null in rows of the other.

    A hidden column that is no reference goes through if it is named.
    """
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
        return side._frame.select(*map(quoted, side.columns), *([extra] if extra else ()), *hidden)

    one, other = aligned(left), aligned(right)
    if by_name:
        frame = one.unionByName(other, allowMissingColumns=missing)
    else:
        frame = one.union(other)
    return left._with(frame, references, right._operators)
