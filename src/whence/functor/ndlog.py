"""The functions, operators and comparisons of NDlog, over plain Python values.

Numbers have any size, lists are tuples, addresses are strings. A function that has no value for
its arguments raises one of `FAULTS`, and the literal it stands in does not hold: a tuple from
afar must not end a node.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from typing import Any, Final, NamedTuple

FAULTS: Final = (ArithmeticError, TypeError, ValueError, LookupError)
"""What a function raises that has no value for its arguments."""

IDENTIFIER_BITS: Final = 160
MAX_SHIFT: Final = 4096
"""By how many bits a number may be shifted: one tuple must not fill the memory."""

Path = tuple[Any, ...]


class Function(NamedTuple):
    """A function and the numbers of arguments that it takes; no most means any number."""

    call: Callable[..., Any]
    least: int
    most: int | None

    def accepts(self, count: int) -> bool:
        return count >= self.least and (self.most is None or count <= self.most)


# ── lists, which are paths


def concat_path(left: Any, right: Any) -> Path:
    """Return a path with a node before it or behind it.

    What stands before a list is taken for a node, so that the result is always the longer one.

    >>> concat_path("a", ("b", "c")), concat_path(("a", "b"), "c")
    (('a', 'b', 'c'), ('a', 'b', 'c'))
    """
    return (left, *right) if isinstance(right, tuple) else (*_path(left), right)


def _path(value: Any) -> Path:
    if not isinstance(value, tuple):
        raise TypeError(f"{value!r} is no list")
    return value


def _concat(left: Any, right: Any) -> Path:
    return (*_path(left), *_path(right))


def _append(path: Any, item: Any) -> Path:
    return (*_path(path), item)


def _in_path(path: Any, item: Any) -> bool:
    return item in _path(path)


def _head(path: Any) -> Any:
    return _path(path)[0]


def _last(path: Any) -> Any:
    return _path(path)[-1]


def _tail(path: Any) -> Path:
    return _some(path)[1:]


def _remove_last(path: Any) -> Path:
    return _some(path)[:-1]


def _some(path: Any) -> Path:
    if not _path(path):
        raise IndexError("the list is empty")
    return path  # type: ignore[no-any-return]


def _item(path: Any, index: Any) -> Any:
    if index < 1:
        raise IndexError(index)
    return _path(path)[index - 1]


def _size(value: Any) -> int:
    return len(value)


def _is_empty(path: Any) -> bool:
    return not _path(path)


def _reverse(path: Any) -> Path:
    return _path(path)[::-1]


def _init(*items: Any) -> Path:
    return items


# ── numbers and text


def quotient(left: Any, right: Any) -> Any:
    """Return the quotient: of two whole numbers the whole part, rounded down."""
    whole = isinstance(left, int) and isinstance(right, int)
    return left // right if whole else left / right


def remainder(left: Any, right: Any) -> Any:
    """Return what is left of a division, with the sign of the divisor: -1 % 8 is 7."""
    if isinstance(left, str):  # which Python would take for a format
        raise TypeError(f"{left!r} is no number")
    return left % right


def shift_left(value: Any, bits: Any) -> Any:
    if bits > MAX_SHIFT:
        raise OverflowError(bits)
    return value << bits


def sha1(value: Any) -> int:
    """Return the identifier of a value: its SHA-1, a number of 160 bits."""
    text = value if isinstance(value, str) else repr(value)
    return int.from_bytes(hashlib.sha1(text.encode(), usedforsecurity=False).digest(), "big")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _times(left: Any, right: Any) -> Any:
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        raise TypeError("a product is one of numbers")
    return left * right


# ── tables

OPERATORS: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {
        "+": operator.add,
        "-": operator.sub,
        "*": _times,
        "/": quotient,
        "%": remainder,
        "bshl": shift_left,
        "bshr": operator.rshift,
        "neg": operator.neg,
    }
)
"""By the names that the tree has for them."""

COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = MappingProxyType(
    {
        "=": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
)


def in_interval(item: Any, low: Any, high: Any, closed_low: bool, closed_high: bool) -> bool:
    """Say whether one meets `item` on the way from `low` to `high` round the ring.

    From a point to itself it is the whole way round; without ends, all but the point.

    >>> in_interval(1, 9, 3, False, True), in_interval(9, 9, 9, False, False)
    (True, False)
    """
    above = item >= low if closed_low else item > low
    below = item <= high if closed_high else item < high
    return bool(above and below if low < high else above or below)


FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {
        "f_init": Function(_init, 1, None),
        "f_list": Function(_init, 0, None),
        "f_concatPath": Function(concat_path, 2, 2),
        "f_concat": Function(_concat, 2, 2),
        "f_append": Function(_append, 2, 2),
        "f_inPath": Function(_in_path, 2, 2),
        "f_member": Function(_in_path, 2, 2),
        "f_head": Function(_head, 1, 1),
        "f_last": Function(_last, 1, 1),
        "f_tail": Function(_tail, 1, 1),
        "f_removeLast": Function(_remove_last, 1, 1),
        "f_item": Function(_item, 2, 2),
        "f_isEmpty": Function(_is_empty, 1, 1),
        "f_size": Function(_size, 1, 1),
        "f_reverse": Function(_reverse, 1, 1),
        "f_sum": Function(operator.add, 2, 2),
        "f_compute": Function(operator.add, 2, 2),
        "f_min": Function(min, 2, None),
        "f_max": Function(max, 2, None),
        "f_abs": Function(abs, 1, 1),
        "f_sha1": Function(sha1, 1, 1),
        "f_str": Function(_text, 1, 1),
        "f_int": Function(int, 1, 1),
        "f_float": Function(float, 1, 1),
    }
)
"""Functions whose values depend on their arguments alone."""

NODE_FUNCTIONS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {"f_now": (0, 0), "f_rand": (0, 0), "f_coinFlip": (1, 1)}
)
"""Functions that ask the node, and the least and most numbers of their arguments."""


def node_functions(now: Callable[[], float], random: Random) -> dict[str, Callable[..., Any]]:
    """Return the functions that ask a node with this clock and this generator."""
    return {
        "f_now": now,
        "f_rand": lambda: random.getrandbits(62),
        "f_coinFlip": lambda chance: random.random() < chance,
    }


def arity_of(name: str) -> tuple[int, int | None] | None:
    """Return the least and most numbers of arguments of a function; None if there is no such."""
    if name in FUNCTIONS:
        return FUNCTIONS[name].least, FUNCTIONS[name].most
    return NODE_FUNCTIONS.get(name)
