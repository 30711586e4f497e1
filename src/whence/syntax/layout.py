"""Where the blanks and line breaks of one statement go.

The result depends on the tokens and on which comments stand alone on their line, never on the
layout that was there, so laying out twice changes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from whence.syntax.scanner import Token

WIDTH: Final = 100
INDENT: Final = 4

CLOSERS: Final = frozenset({"COMMA", "SEMICOLON", "RPAREN", "RBRACKET", "RBRACE"})
_OPENERS: Final = frozenset({"LPAREN", "LBRACKET", "LBRACE"})
_TIGHT_BEFORE: Final = frozenset({"COMMA", "SEMICOLON", "RPAREN", "RBRACKET", "DOT", "RANGLE"})
_TIGHT_AFTER: Final = frozenset({"LPAREN", "LBRACKET", "AT", "NOT", "DOT", "HASH", "FOLD"})
_CALLED: Final = frozenset(
    {"IDENT", "FUNCTION", "MATCH", "AS", "AUTOINC", "MINMAX"}
    | {"MATERIALIZE", "KEYS", "WATCH", "INCLUDE"}
)
_OPERAND_END: Final = frozenset(
    {"IDENT", "NUMBER", "UNSIGNED", "FLOAT", "ADDRESS", "STRING", "UNDERSCORE", "NIL", "DOLLAR"}
    | {"RPAREN", "RBRACKET", "RBRACE", "VARIABLE", "INFINITY", "TRUTH"}
)


class Remark(NamedTuple):
    """A comment on lines of its own, and whether a blank line stands before it."""

    text: str
    blank: bool


@dataclass(slots=True)
class Piece:
    """A token with the comments that go with it."""

    token: Token
    blank: bool = False
    """Whether a blank line stands before it."""
    above: list[Remark] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    """Comments before it on its line."""
    after: list[str] = field(default_factory=list)
    """Comments that end its line."""
    spaced: bool = False
    depth: int = 0


def lay_out(pieces: Sequence[Piece]) -> list[str]:
    """Return the lines of a statement; comments above its first token are not among them."""
    _measure(pieces)
    plan = next((i for i, p in enumerate(pieces) if p.token.type == "PLAN"), len(pieces))
    clause, orders = pieces[:plan], pieces[plan:]
    lines = _clause(clause)
    if orders:
        lines += _above(orders[0], 0) + _lay(orders, 0)
    return lines


def _measure(pieces: Sequence[Piece]) -> None:
    """Set the depth of each piece and whether a blank separates it from the one before."""
    statement = pieces[0].token.type
    depth = 0
    for index, piece in enumerate(pieces):
        kind = piece.token.type
        if kind in CLOSERS and kind not in ("COMMA", "SEMICOLON"):
            depth -= 1
        piece.depth = depth
        if kind in _OPENERS:
            depth += 1
        if kind == "PLAN":
            statement = kind
        piece.spaced = index > 0 and _spaced(pieces, index, statement)


def _spaced(pieces: Sequence[Piece], index: int, statement: str) -> bool:
    kind, before = pieces[index].token.type, pieces[index - 1].token.type
    earlier = pieces[index - 2].token.type if index > 1 else ""
    if kind in _TIGHT_BEFORE or before in _TIGHT_AFTER:
        return False
    if (kind == "AT" and before == "IDENT") or (kind == "LPAREN" and earlier == "AT"):
        return False  # `relation@X(`
    if "MINUS" in (kind, before) and _in_label(pieces, index):
        return False
    if kind == "LPAREN":
        return not (before in _CALLED or (before == "COLON" and statement == "PLAN"))
    if "COLON" in (kind, before):
        if statement == "PLAN" or earlier == "AT" or (index > 2 and _annotates(pieces, index)):
            return False
        return before == "COLON" or statement == "IDENT"
    if "EQUALS" in (kind, before):
        return statement != "DIRECTIVE"
    if before == "MINUS":
        return earlier in _OPERAND_END
    return True


def _in_label(pieces: Sequence[Piece], index: int) -> bool:
    """Whether a piece is part of the label of a rule such as `sp1-d`, or of those included."""
    first = pieces[0].token.type
    if first == "HASH":
        return pieces[1].token.type == "INCLUDE"
    label = all(p.token.type in ("IDENT", "VARIABLE", "NUMBER", "MINUS") for p in pieces[:index])
    return label and first in ("IDENT", "VARIABLE")


def _annotates(pieces: Sequence[Piece], index: int) -> bool:
    """Whether a piece is the semiring of `@prov:semiring`."""
    return pieces[index - 1].token.type == "COLON" and pieces[index - 3].token.type == "AT"


def _clause(pieces: Sequence[Piece]) -> list[str]:
    mark = next((i for i, p in enumerate(pieces) if p.token.type == "IF"), None)
    if mark is None or _fits(pieces, 0):
        return _lay(pieces, 0)
    lines = _lay(pieces[: mark + 1], 0)
    for chunk in _split(pieces[mark + 1 :], 0):
        lines += _above(chunk[0], INDENT) + _lay(chunk, INDENT)
    return lines


def _lay(pieces: Sequence[Piece], indent: int) -> list[str]:
    if _fits(pieces, indent):
        return [" " * indent + _flat(pieces)]
    separators = [p.depth for p in pieces[:-1] if p.token.type in ("COMMA", "SEMICOLON", "PIPE")]
    chunks = _split(pieces, min(separators)) if separators else _split_at_comments(pieces)
    if len(chunks) == 1:
        return [" " * indent + _flat(pieces)]
    lines = _lay(chunks[0], indent)
    for chunk in chunks[1:]:
        lines += _above(chunk[0], indent + INDENT) + _lay(chunk, indent + INDENT)
    return lines


def _split(pieces: Sequence[Piece], depth: int) -> list[Sequence[Piece]]:
    """Cut after each `;` of that depth, or after each `,` where there is none."""
    found = {p.token.type for p in pieces[:-1] if p.depth == depth}
    marks = ("SEMICOLON",) if "SEMICOLON" in found else ("COMMA", "PIPE")
    return _cut(
        pieces,
        [i + 1 for i, p in enumerate(pieces) if p.depth == depth and p.token.type in marks],
    )


def _split_at_comments(pieces: Sequence[Piece]) -> list[Sequence[Piece]]:
    cuts = {i for i, p in enumerate(pieces) if p.above and i > 0}
    cuts |= {i + 1 for i, p in enumerate(pieces) if p.after}
    return _cut(pieces, sorted(cuts))


def _cut(pieces: Sequence[Piece], cuts: Sequence[int]) -> list[Sequence[Piece]]:
    bounds = [0, *cuts, len(pieces)]
    return [pieces[a:b] for a, b in itertools.pairwise(bounds) if a < b]


def _fits(pieces: Sequence[Piece], indent: int) -> bool:
    if any(p.above for p in pieces[1:]) or any(p.after for p in pieces[:-1]):
        return False
    return indent + len(_flat(pieces, comment=False)) <= WIDTH


def _above(piece: Piece, indent: int) -> list[str]:
    return [" " * indent + remark.text for remark in piece.above]


def _flat(pieces: Sequence[Piece], *, comment: bool = True) -> str:
    parts: list[str] = []
    for index, piece in enumerate(pieces):
        closes = piece.token.type in CLOSERS or piece.token.type == "DOT"
        if index and (piece.spaced or (piece.before and closes)):
            parts.append(" ")
        for text in piece.before:
            parts.append(text if closes and text is piece.before[-1] else f"{text} ")
        parts.append(piece.token.text)
    if comment and pieces[-1].after:
        parts.append("  " + " ".join(pieces[-1].after))
    return "".join(parts)
