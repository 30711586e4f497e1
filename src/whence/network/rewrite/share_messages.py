"""Which tuples may share messages: those of relations that differ in their metric only.

The metric is the column that an aggregate selection looks at. `network/sharing.py` does the rest
while nodes run.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from whence.network.rewrite.selection import selections
from whence.syntax.nodes import Pragma, Program

KEY: Final = "shareMessages"
_TEXT: Final = re.compile(r"(\w+) by (\d+)")


def share_messages(program: Program) -> Program:
    """Return the program with a mark on each relation whose tuples may share messages."""
    metrics = {one.relation: one.column for one in reversed(selections(program))}
    marks = [Pragma(KEY, f"{name} by {column + 1}") for name, column in metrics.items()]
    return replace(program, pragmas=(*program.pragmas, *marks)) if marks else program


def shared_columns(program: Program) -> dict[str, int]:
    """Return the relations with such a mark, each with the column of its metric, from 0."""
    found = (_TEXT.fullmatch(p.value) for p in program.pragmas if p.key == KEY)
    return {match[1]: int(match[2]) - 1 for match in found if match is not None}
