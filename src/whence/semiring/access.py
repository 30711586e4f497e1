"""Access control (min, max over levels): the clearance one needs to see a fact."""

from __future__ import annotations

import math

from whence.semiring.base import Cell
from whence.semiring.minimax import Minimax
from whence.semiring.numeric import Number, plain

LEVELS: dict[str, Number] = {
    "public": 0,
    "confidential": 1,
    "secret": 2,
    "top-secret": 3,
    "nobody": math.inf,
}
NAMES = {level: name for name, level in LEVELS.items()}


class Access(Minimax):
    """A derivation is as restricted as its most restricted premise; the least restricted counts.

    Levels have names, or are numbers from 0: `1` is `confidential`, and `1.5` lies above it.
    """

    name = "access"
    column = "symbol"

    def read(self, cell: Cell) -> Number:
        if isinstance(cell, str):
            level = LEVELS.get(cell.strip().lower().replace("_", "-").replace(" ", "-"))
            if level is not None:
                return level
        try:
            return super().read(cell)
        except ValueError:
            known = ", ".join(LEVELS)
            raise ValueError(f"`{cell}` is no level of access, which are {known}") from None

    def show(self, value: Number) -> str:
        return NAMES.get(value) or str(plain(value))
