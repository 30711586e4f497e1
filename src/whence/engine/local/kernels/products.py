"""Heads with a product of numbers: columns are moved and numbers multiplied in one go."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.engine.local.compile import kernel
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.kernels.search import combined


@kernel
def project_product(
    binding: Rows,
    numbers: Any,
    n: int,
    order: Ints,
    factors: Ints,
    way: int,
    column: int,
    out: Rows,
    out_numbers: Any,
) -> None:
    """Write the slots of `order` as a row, and the product of the factors into its `column`."""
    width = order.shape[0]
    for i in range(n):
        for c in range(width):
            out[i, c] = binding[i, order[c]]
        x = numbers[i, factors[0]]
        for f in range(1, factors.shape[0]):
            x = combined(way, x, numbers[i, factors[f]])
        out_numbers[i, column] = x + 0  # there is one zero, and one NaN
        if x != x:
            out_numbers[i, column] = np.nan
