"""Functions of variables as few bytes: a product, a sum of products, or a diagram's nodes.

Numbers are LEB128, 7 bits to a byte. The first says what follows: 1 is one product, n > 1 a sum of
n products, 0 a diagram. The variables of a product are ascending and each is told as the distance
from the one before; a node of a diagram tells its parts as distances back.
"""

from __future__ import annotations

from collections.abc import Iterable

SHARED = 4
"""Sums of fewer products than these are never longer than their diagram."""
MOST = 256
"""Sums of more products than these are not tried."""

Node = tuple[int, int, int]  # a variable, and what is when it is true or false: see Diagrams.nodes


def pack_product(numbers: list[int]) -> bytes:
    """Return one product.

    >>> list(pack_product([300, 3]))
    [1, 3, 169, 2]
    """
    out = bytearray(b"\x01")
    _put_ascending(out, numbers)
    return bytes(out)


def is_product(packed: bytes) -> bool:
    """Return whether one product follows."""
    return packed[0] == 1


def unpack_product(packed: bytes) -> list[int]:
    """Return the numbers of the variables.

    >>> unpack_product(bytes([1, 3, 169, 2]))
    [3, 300]
    """
    out = []
    last = shift = value = 0
    for byte in packed[1:]:
        value |= (byte & 127) << shift
        if byte < 128:
            last += value
            out.append(last)
            shift = value = 0
        else:
            shift += 7
    return out


def pack_sum(several: Iterable[list[int]]) -> bytes:
    """Return a sum of products; one alone is told as such."""
    listed = list(several)
    if len(listed) == 1:
        return pack_product(listed[0])
    out = bytearray()
    _put(out, len(listed))
    for numbers in listed:
        _put(out, len(numbers))
        _put_ascending(out, numbers)
    return bytes(out)


def unpack_sum(packed: bytes) -> list[list[int]]:
    """Return the products of a sum.

    >>> unpack_sum(pack_sum([[1, 900], [2]]))
    [[1, 900], [2]]
    """
    values = _values(packed)
    out = []
    at = 1
    for _ in range(values[0]):
        count = values[at]
        last = 0
        numbers = []
        for distance in values[at + 1 : at + 1 + count]:
            last += distance
            numbers.append(last)
        out.append(numbers)
        at += 1 + count
    return out


def is_diagram(packed: bytes) -> bool:
    """Return whether a diagram follows."""
    return packed[0] == 0


def pack_diagram(nodes: list[Node]) -> bytes:
    """Return a diagram, children before parents."""
    out = bytearray(b"\x00")
    for place, (variable, high, low) in enumerate(nodes, 2):
        _put(out, variable)
        # 0 and 1 stay what they are, so that the leaves take one byte each.
        _put(out, high if high < 2 else place - high + 1)
        _put(out, low if low < 2 else place - low + 1)
    return bytes(out)


def unpack_diagram(packed: bytes) -> list[Node]:
    """Return the nodes of a diagram.

    >>> unpack_diagram(pack_diagram([(7, 1, 0), (500, 2, 0)]))
    [(7, 1, 0), (500, 2, 0)]
    """
    values = _values(packed)
    out: list[Node] = []
    for at in range(1, len(values), 3):
        place = len(out) + 2
        variable, high, low = values[at : at + 3]
        out.append(
            (
                variable,
                high if high < 2 else place - high + 1,
                low if low < 2 else place - low + 1,
            )
        )
    return out


def _put(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _put_ascending(out: bytearray, numbers: list[int]) -> None:
    numbers.sort()
    last = 0
    for number in numbers:
        value = number - last
        last = number
        while value > 127:
            out.append(value & 127 | 128)
            value >>= 7
        out.append(value)


def _values(packed: bytes) -> list[int]:
    out = []
    shift = value = 0
    for byte in packed:
        value |= (byte & 127) << shift
        if byte < 128:
            out.append(value)
            shift = value = 0
        else:
            shift += 7
    return out
