"""What Spark says when it cannot do something, in one line."""

from __future__ import annotations

import re

_CLASS = re.compile(r"^\[[A-Z0-9_.]+\]\s*")
_STATE = re.compile(r"\s*SQLSTATE: \w+\s*$")


def told(error: Exception) -> str:
    """Return the first line of an error of Spark's, without its codes.

    >>> told(ValueError("[PATH_NOT_FOUND] Path does not exist: s3://x. SQLSTATE: 42K03"))
    'path does not exist: s3://x'
    """
    lines = [line for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    text = _STATE.sub("", _CLASS.sub("", lines[0].strip())).rstrip(".")
    return text[:1].lower() + text[1:]
