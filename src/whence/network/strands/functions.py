"""The functions that a node's rules may call, with those of its clock and its dice among them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from random import Random
from typing import Any

from whence.functor.ndlog import (
    COMPARISONS,
    FUNCTIONS,
    NODE_FUNCTIONS,
    OPERATORS,
    node_functions,
)
from whence.network.model import Clock


def _list(*items: Any) -> tuple[Any, ...]:
    return items


# `in_interval` with its ends known: rings are asked about often, and this is one call, not two.


def _open(item: Any, low: Any, high: Any) -> bool:
    return bool(low < item < high if low < high else item > low or item < high)


def _half_open(item: Any, low: Any, high: Any) -> bool:
    return bool(low < item <= high if low < high else item > low or item <= high)


def _half_closed(item: Any, low: Any, high: Any) -> bool:
    return bool(low <= item < high if low < high else item >= low or item < high)


def _closed(item: Any, low: Any, high: Any) -> bool:
    return bool(low <= item <= high if low < high else item >= low or item <= high)


PURE: dict[str, Callable[..., Any]] = {
    **OPERATORS,
    **COMPARISONS,
    **{name: function.call for name, function in FUNCTIONS.items()},
    "list": _list,
    "not": operator.not_,
    "in ()": _open,
    "in (]": _half_open,
    "in [)": _half_closed,
    "in []": _closed,
}

# What depends on when and where it is asked; a rule that asks is never a view.
IMPURE = frozenset(NODE_FUNCTIONS)
DRAWN = frozenset({"f_rand", "f_coinFlip"})


def pure(name: str) -> Callable[..., Any] | None:
    """Return a function whose value depends on its arguments alone, by its name."""
    return PURE.get(name)


def functions_of(clock: Clock, dice: Random) -> dict[str, Callable[..., Any]]:
    """Return all functions, for a node with this clock and these dice."""
    return {**PURE, **node_functions(clock.now, dice)}
