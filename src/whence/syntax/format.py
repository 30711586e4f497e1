"""The canonical layout of a program's text, with its comments: what `whence fmt` writes."""

from __future__ import annotations

from itertools import pairwise

from whence.syntax.layout import CLOSERS, Piece, Remark, lay_out
from whence.syntax.ndlog import ndlog_statements
from whence.syntax.scanner import Comment, Scan
from whence.syntax.souffle import statements


def format_source(text: str, name: str = "<text>", *, dialect: str = "souffle") -> str:
    """Return the text with every statement laid out anew, in order, and all comments kept.

    Blank lines between statements stay, at most one in a row.

    >>> print(format_source("a( x ):-b(x) ,!c( x+1 ).  // why"), end="")
    a(x) :- b(x), !c(x + 1).  // why
    """
    found = ndlog_statements if dialect == "ndlog" else statements
    scanned, begins = found(text, name=name)
    pieces = _attach(scanned, frozenset(begins))
    end = len(pieces) - 1
    lines: list[str] = []
    for first, last in pairwise([*begins, end]):
        _add_above(pieces[first], lines)
        if pieces[first].blank and lines:
            lines.append("")
        lines += lay_out(pieces[first:last])
    _add_above(pieces[end], lines)
    return "\n".join(lines) + "\n" if lines else ""


def _add_above(piece: Piece, lines: list[str]) -> None:
    for remark in piece.above:
        if remark.blank and lines:
            lines.append("")
        lines.append(remark.text)


def _attach(scanned: Scan, begins: frozenset[int]) -> list[Piece]:
    """Give each comment to the token it goes with.

    A comment never stands between a token and the punctuation that closes it, so that a line
    can break after the punctuation and the comment still ends that line.
    """
    tokens = scanned.tokens
    pieces = [Piece(token) for token in tokens]
    comments = iter(scanned.comments)
    comment = next(comments, None)
    line = 0
    for index, piece in enumerate(pieces):
        while comment is not None and comment.before == index:
            blank = 0 < line < comment.line - 1
            text = _text(comment)
            if comment.end_line == piece.token.line and piece.token.text:
                piece.blank = piece.blank or (blank and not piece.before)
                piece.before.append(text)
            elif index and comment.line == tokens[index - 1].end_line:
                _add_after(pieces, _closed(pieces, index, begins) - 1, text)
            else:
                pieces[_closed(pieces, index, begins)].above.append(Remark(text, blank))
            line = comment.end_line
            comment = next(comments, None)
        if not piece.before:
            piece.blank = 0 < line < piece.token.line - 1
        line = piece.token.end_line
    return pieces


def _text(comment: Comment) -> str:
    return comment.text.replace("\r\n", "\n").rstrip()


def _closed(pieces: list[Piece], index: int, begins: frozenset[int]) -> int:
    """Return the first index from `index` on that does not close what stands before it."""
    while index not in begins:
        kind = pieces[index].token.type
        if kind == "DOT" and not _ends_clause(pieces, index, begins):
            index += 2  # the rest of a qualified name
        elif kind == "DOT" or kind in CLOSERS:
            index += 1
        else:
            break
    return index


def _ends_clause(pieces: list[Piece], index: int, begins: frozenset[int]) -> bool:
    after = index + 1
    return after in begins or after == len(pieces) - 1 or pieces[after].token.type == "PLAN"


def _add_after(pieces: list[Piece], index: int, text: str) -> None:
    trailing = pieces[index].after
    if trailing and trailing[-1].startswith(("//", "#")):
        pieces[index + 1].above.append(Remark(text, False))
    else:
        trailing.append(text)
