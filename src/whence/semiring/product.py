"""Products of semirings of numbers: one dimension each, every one with the best that there is.

The vector of a fact need not belong to one derivation: each dimension is best for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_

from whence.semiring.base import Cell, Law, Semiring
from whence.semiring.minimax import Minimax

Vector = tuple[object, ...]


class Product(Semiring[Vector]):
    """Semirings side by side; what holds in each holds in the product, but for a total order.

    A cell is text with the dimensions' cells in order, apart by spaces, such as `4 0.5`.
    """

    column = "symbol"

    def __init__(self, *dimensions: Semiring[object], name: str = "") -> None:
        if not dimensions:
            raise ValueError("a product has at least one dimension")
        self.dimensions = dimensions
        self.name = name or f"product({','.join(d.name for d in dimensions)})"
        self.laws = reduce(and_, (d.laws for d in dimensions))
        if len(dimensions) > 1:
            self.laws &= ~Law.SELECTIVE
        self.zero: Vector = tuple(d.zero for d in dimensions)
        self.one: Vector = tuple(d.one for d in dimensions)

    def plus(self, a: Vector, b: Vector) -> Vector:
        return tuple([d.plus(x, y) for d, x, y in zip(self.dimensions, a, b, strict=True)])

    def times(self, a: Vector, b: Vector) -> Vector:
        return tuple([d.times(x, y) for d, x, y in zip(self.dimensions, a, b, strict=True)])

    def read(self, cell: Cell | Sequence[Cell]) -> Vector:
        cells: Sequence[Cell]
        if isinstance(cell, str):
            cells = cell.replace(",", " ").split()
        else:
            cells = [cell] if isinstance(cell, int | float) else cell
        if len(cells) != len(self.dimensions):
            raise ValueError(
                f"`{cell}` has {len(cells)} dimensions, and `{self.name}` has "
                f"{len(self.dimensions)}"
            )
        return tuple([d.read(c) for d, c in zip(self.dimensions, cells, strict=True)])

    def show(self, value: Vector) -> str:
        return " ".join(str(d.show(x)) for d, x in zip(self.dimensions, value, strict=True))

    def samples(self) -> Iterable[Vector]:
        each = [list(d.samples()) for d in self.dimensions]
        most = max(map(len, each))
        # The first sample of one dimension stands beside the second of the next, and so on.
        return [
            tuple([values[(i + at) % len(values)] for at, values in enumerate(each)])
            for i in range(most)
        ]

    def sum(self, values: Iterable[Vector]) -> Vector:
        columns = list(zip(*values, strict=True))
        if not columns:
            return self.zero
        return tuple([d.sum(c) for d, c in zip(self.dimensions, columns, strict=True)])


def features(k: int) -> Product:
    """Return the k-feature semiring of paper 004: k dimensions, (min, max) in each."""
    dimension: Semiring[object] = Minimax()  # type: ignore[assignment]
    return Product(*[dimension] * k, name=f"{k}-feature")
