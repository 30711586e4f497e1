"""Operators, how strongly they bind, and the nesting of a flat sequence by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from whence.syntax.nodes import Term
from whence.syntax.scanner import Token

INFIX: Final[dict[str, int]] = {
    "lor": 1,
    "lxor": 2,
    "land": 3,
    "bor": 4,
    "bxor": 5,
    "band": 6,
    "bshl": 7,
    "bshr": 7,
    "bshru": 7,
    "+": 8,
    "-": 8,
    "*": 9,
    "/": 9,
    "%": 9,
    "^": 11,
}
"""How strongly each infix operator binds; all lean left but `^`."""

PREFIX: Final[dict[str, str]] = {"-": "neg", "bnot": "bnot", "lnot": "lnot"}
"""The functor of each prefix operator."""

PREFIX_STRENGTH: Final = 10
"""Prefix operators bind stronger than `*` and weaker than `^`: `-2 ^ 2` is -4."""


def nest(
    sequence: Sequence[Token | Term],
    prefix: Callable[[Token, Term], Term],
    infix: Callable[[Token, Term, Term], Term],
) -> Term:
    """Return the term left when every operator has been applied to its operands."""
    operands: list[Term] = []
    waiting: list[tuple[int, bool, Token]] = []

    def apply() -> None:
        _, is_prefix, operator = waiting.pop()
        right = operands.pop()
        operands.append(
            prefix(operator, right) if is_prefix else infix(operator, operands.pop(), right)
        )

    operand_next = True
    for item in sequence:
        if not isinstance(item, Token):
            operands.append(item)
            operand_next = False
        elif operand_next:
            waiting.append((PREFIX_STRENGTH, True, item))
        else:
            strength = INFIX[item.text]
            leans_right = item.text == "^"
            while waiting and (
                waiting[-1][0] > strength or (waiting[-1][0] == strength and not leans_right)
            ):
                apply()
            waiting.append((strength, False, item))
            operand_next = True
    while waiting:
        apply()
    return operands.pop()
