"""The semirings by name: one list that one can read, and the instance that an evaluation uses.

An instance belongs to one evaluation: it may hold variables, decision diagrams and a budget.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from whence.diagnostics import Diagnostic, UsageError, nearest
from whence.semiring.absorption import Absorption
from whence.semiring.access import Access
from whence.semiring.base import Semiring
from whence.semiring.boolean import Boolean
from whence.semiring.bottleneck import Bottleneck
from whence.semiring.counting import Counting, CountingInf
from whence.semiring.fuzzy import Fuzzy
from whence.semiring.how import How
from whence.semiring.lukasiewicz import Lukasiewicz
from whence.semiring.minimax import Minimax
from whence.semiring.own import checked, load
from whence.semiring.probability import Probability
from whence.semiring.product import Product, features
from whence.semiring.topk import TopK, TopKDistinct
from whence.semiring.tropical import Tropical
from whence.semiring.visits import Visits
from whence.semiring.viterbi import Viterbi
from whence.semiring.which import Which
from whence.semiring.why import MinWhy, Why

AnySemiring = Semiring[Any]

SEMIRINGS: dict[str, Callable[[], AnySemiring]] = {
    "boolean": Boolean,
    "tropical": Tropical,
    "viterbi": Viterbi,
    "fuzzy": Fuzzy,
    "lukasiewicz": Lukasiewicz,
    "access": Access,
    "minimax": Minimax,
    "bottleneck": Bottleneck,
    "visits": Visits,
    "counting": Counting,
    "counting-inf": CountingInf,
    "which": Which,
    "why": Why,
    "minwhy": MinWhy,
    "how": How,
    "absorption": Absorption,
    "probability": Probability,
}
"""Those with a name of their own."""

MOST = 1000
"""The highest k of a family, and the most dimensions of a product."""

FAMILIES: dict[str, tuple[re.Pattern[str], Callable[[int], AnySemiring]]] = {
    "top-K": (re.compile(r"top-([1-9]\d{0,9})"), TopK),
    "top-K-distinct": (re.compile(r"top-([1-9]\d{0,9})-distinct"), TopKDistinct),
    "K-feature": (re.compile(r"([1-9]\d{0,9})-feature"), features),
}
"""Those with a number in their name."""

PRODUCT = re.compile(r"product\((.*)\)", re.DOTALL)
DIMENSIONS = (
    "boolean",
    "tropical",
    "viterbi",
    "fuzzy",
    "lukasiewicz",
    "access",
    "minimax",
    "bottleneck",
    "visits",
)
"""What a product may be made of: the chains, and `visits`."""


def make(named: str | AnySemiring | type[AnySemiring], *, load_code: bool = False) -> AnySemiring:
    """Return a fresh semiring of that name; one's own instance or class is checked and returned.

    With `load_code` a name may also be `module:Class` or `file.py:Class`, whose code is then run;
    so a name out of a program or a file never is.

    >>> make("tropical").plus(3, 4), make("top-2").name, make("product(tropical,fuzzy)").one
    (3, 'top-2', (0, 1.0))
    """
    if not isinstance(named, str):
        ours = getattr(type(named), "__module__", "").startswith("whence.semiring.")
        return named if ours and isinstance(named, Semiring) else checked(named)
    if load_code and ":" in named:
        return load(named)
    name = named.strip().lower()
    if name in SEMIRINGS:
        return SEMIRINGS[name]()
    for pattern, maker in FAMILIES.values():
        matched = pattern.fullmatch(name)
        if matched:
            return maker(_at_most(int(matched[1]), named))
    matched = PRODUCT.fullmatch(name)
    if matched:
        parts = [part.strip() for part in matched[1].split(",")]
        _at_most(len(parts), named)
        wrong = [part for part in parts if part not in DIMENSIONS]
        if wrong:
            raise _unknown(
                f"a product of semirings has no dimension `{wrong[0]}`",
                wrong[0],
                DIMENSIONS,
            )
        return Product(*(SEMIRINGS[part]() for part in parts))
    for family in FAMILIES:
        if re.fullmatch(family.lower().replace("k", r"[k\d]+", 1), name):  # `top-k`, `top-0`
            example = family.replace("K", "3")
            hint = f"K is a number from 1 to {MOST}: `{example}`"
            raise UsageError(Diagnostic("W0920", f"there is no semiring `{named}`", hint=hint))
    raise _unknown(f"there is no semiring `{named}`", name, names())


def names() -> tuple[str, ...]:
    """Return all names, families as `top-K`."""
    return (*SEMIRINGS, *FAMILIES, "product(…)")


def _at_most(count: int, named: str) -> int:
    if count > MOST:
        message = f"semiring `{named}` is larger than any that is made: {MOST} is the most"
        raise UsageError(Diagnostic("W0920", message))
    return count


def _unknown(message: str, name: str, known: tuple[str, ...]) -> UsageError:
    like = nearest(name, known)
    hint = f"did you mean `{like}`?" if like else f"one of {', '.join(known)}"
    return UsageError(Diagnostic("W0920", message, hint=hint))
