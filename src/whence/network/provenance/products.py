"""Sums of products as bit masks: a product is an integer, a sum the tuple of those not absorbed.

Annotations of lazily shipped tuples are nearly always one product or a few, for which a handful of
machine instructions do what a decision diagram would do.
"""

from __future__ import annotations

Product = int  # bit i is set: variable i is needed
Sum = tuple[Product, ...]  # none contains another, two or more


def add(old: Sum, new: Sum) -> tuple[Sum, Sum]:
    """Return the disjunction, and those of the new products that the old ones do not absorb.

    >>> add((0b0011,), (0b0111, 0b1001))
    ((3, 9), (9,))
    """
    kept = list(old)
    fresh = []
    for product in new:
        for known in kept:
            if known & product == known:
                break
        else:
            kept = [known for known in kept if known & product != product]
            kept.append(product)
            fresh.append(product)
    return tuple(kept), tuple(fresh)


def both(a: Sum, b: Sum) -> Sum:
    """Return the conjunction.

    >>> both((0b01, 0b10), (0b01, 0b100))
    (1, 6)
    """
    return add((), tuple(sorted({p | q for p in a for q in b}, key=int.bit_count)))[0]


def without(a: Sum, dead: Product) -> Sum:
    """Return the products that need none of these variables."""
    return tuple([product for product in a if not product & dead])


def bits(product: Product) -> list[int]:
    """Return the numbers of the variables, ascending.

    >>> bits(0b101001)
    [0, 3, 5]
    """
    out = []
    while product:
        low = product & -product
        out.append(low.bit_length() - 1)
        product ^= low
    return out
