"""An aggregate selection: of a relation only those tuples go on that are best in their group.

A program carries its selections as pragmas, and the runtime puts a gate before each relation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from whence.syntax.nodes import Pragma, Program

KEY: Final = "aggregateSelection"
_TEXT: Final = re.compile(
    r"(?P<relation>\w+)\((?P<group>[\d,]*)\) (?P<function>min|max) (?P<column>\d+)"
    r"(?: every (?P<period>[\d.]+))?"
)


@dataclass(frozen=True, slots=True)
class AggregateSelection:
    """Of all tuples that agree in `group`, those with the best `column`; columns count from 0.

    With a `period` what is best goes on once in so many seconds, not at once.
    """

    relation: str
    group: tuple[int, ...]
    function: str
    column: int
    period: float | None = None

    def __str__(self) -> str:
        group = ",".join(str(column + 1) for column in self.group)
        every = "" if self.period is None else f" every {self.period:g}"
        return f"{self.relation}({group}) {self.function} {self.column + 1}{every}"


def parse_selection(text: str) -> AggregateSelection:
    """Return the selection that `str` wrote.

    >>> parse_selection("path(1,2) min 5")
    AggregateSelection(relation='path', group=(0, 1), function='min', column=4, period=None)
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"not an aggregate selection: {text}")
    return AggregateSelection(
        found["relation"],
        tuple(int(column) - 1 for column in found["group"].split(",") if column),
        found["function"],
        int(found["column"]) - 1,
        None if found["period"] is None else float(found["period"]),
    )


def selections(program: Program) -> tuple[AggregateSelection, ...]:
    """Return the aggregate selections that a program asks for."""
    return tuple(parse_selection(p.value) for p in program.pragmas if p.key == KEY)


def with_selections(program: Program, chosen: tuple[AggregateSelection, ...]) -> Program:
    """Return the program with exactly these selections."""
    others = tuple(p for p in program.pragmas if p.key != KEY)
    return replace(program, pragmas=(*others, *(Pragma(KEY, str(one)) for one in chosen)))
