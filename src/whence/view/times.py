"""Times of updates: seconds, or ISO 8601 text, which without a zone is UTC."""

from __future__ import annotations

import math
from datetime import UTC, datetime


class NotATime(ValueError):
    """The value is no time."""


def as_seconds(value: object) -> float:
    """Return a time in seconds; text is ISO 8601.

    >>> as_seconds(12), as_seconds("1970-01-01T00:01:00Z"), as_seconds("1970-01-01T01:00+01:00")
    (12.0, 60.0, 0.0)
    """
    if isinstance(value, str):
        try:
            return as_seconds(datetime.fromisoformat(value))
        except ValueError:
            raise NotATime(f"`{value[:60]}`") from None
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    try:
        seconds = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        seconds = math.inf
    if isinstance(value, bool) or not math.isfinite(seconds):
        raise NotATime(f"`{str(value)[:60]}`")
    return seconds + 0.0
