"""Tokens and sets of tokens, in words."""

from __future__ import annotations

from typing import Final

from whence.syntax.scanner import Token
from whence.syntax.table import END, Table

_TERM: Final = frozenset(
    {"IDENT", "NUMBER", "UNSIGNED", "FLOAT", "ADDRESS", "STRING", "UNDERSCORE", "NIL", "DOLLAR"}
    | {"AUTOINC", "LBRACKET", "LPAREN", "AS", "AT", "FUNCTION", "MINMAX", "AGGREGATE"}
    | {"MINUS", "PREFIX"}
)
_GROUPS: Final[tuple[tuple[frozenset[str], str], ...]] = (
    (
        frozenset({"DECL", "TYPE", "IDENT", "PRAGMA", "FUNCTOR", "DIRECTIVE", "LEGACY_TYPE", END}),
        "a statement",
    ),
    (frozenset({"DECL", "TYPE", "PRAGMA", "FUNCTOR", "DIRECTIVE", "LEGACY_TYPE"}), "a directive"),
    (_TERM | {"NOT", "MATCH", "TRUTH"}, "a literal"),
    (_TERM, "a term"),
    (frozenset({"EQUALS", "LE", "COMPARE"}), "a comparison"),
    (frozenset({"INFIX", "MINUS"}), "an operator"),
)
"""Sets of terminals that have a name; larger ones first."""

_NAMES: Final = {
    END: "end of the text",
    "IDENT": "a name",
    "NUMBER": "a number",
    "UNSIGNED": "an unsigned number",
    "FLOAT": "a float",
    "ADDRESS": "an IPv4 address",
    "STRING": "a string",
    "QUALIFIER": "a qualifier",
    "FUNCTION": "a functor",
    "AGGREGATE": "an aggregate",
    "MINMAX": "`min` or `max`",
    "INFIX": "an operator",
    "PREFIX": "an operator",
    "TRUTH": "`true` or `false`",
    "DIRECTIVE": "a directive",
    "COMPARE": "a comparison",
}


def spelling(token: Token) -> str:
    """Return how to speak of a token: as it is written, shortened when long."""
    if token.type == END:
        return _NAMES[END]
    text = token.text.split("\n")[0]
    return f"`{text if len(text) <= 40 else text[:40] + '…'}`"


def describe(expected: frozenset[str], table: Table) -> str:
    """Return the terminals as a phrase such as "`,`, `.` or a term"."""
    rest = set(expected)
    phrases: list[str] = []
    for group, phrase in _GROUPS:
        if group <= rest:
            rest -= group
            phrases.append(phrase)
    spelled: dict[str, str] = {}
    for word, terminal in table.words.items():
        spelled.setdefault(terminal, f"`{word}`")
    names = sorted(_NAMES.get(t) or spelled.get(t, t) for t in rest)
    phrases = sorted(set(names)) + phrases
    if len(phrases) == 1:
        return phrases[0]
    return ", ".join(phrases[:-1]) + " or " + phrases[-1] if phrases else "nothing"
