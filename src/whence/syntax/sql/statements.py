"""A script in SQL as statements, each parsed by sqlglot.

Statements end at `;`, and where the next one can only begin: papers print several views below each
other without it. A `WITH` that ends without a `SELECT` is a view.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from whence.diagnostics import Source, Span
from whence.syntax.sql.faults import fault
from whence.syntax.sql.places import stretch

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

_BEGIN: Final = frozenset(("CREATE", "WITH", "INSERT", "DELETE", "UPDATE", "DROP"))
_MAX_TOKENS: Final = 200_000
_MAX_DEPTH: Final = 100
"""Deeper nesting than people write, and less than the parser's own recursion could take."""


def statements(source: Source) -> Iterator[exp.Expr]:
    """Yield the statements of a script in order."""
    import sqlglot
    from sqlglot.errors import ParseError, TokenError
    from sqlglot.parser import Parser

    dialect = sqlglot.Dialect.get_or_raise("postgres")
    try:
        tokens = dialect.tokenize(source.text)
    except TokenError as error:
        raise fault("W1500", f"the script cannot be read: {_first_line(error)}", Span()) from None
    for part in _split(source, tokens):
        _check_depth(source, part)
        views = _ends_without_select(part)
        if views:
            part = [*part, *_select_nothing(dialect, part[-1])]
        try:
            # The parser is made for each statement, so that what it says is about this one.
            (found,) = Parser(dialect=dialect).parse(part, source.text)
        except ParseError as error:
            raise _parse_fault(source, part, error) from None
        except RecursionError:
            place = stretch(source, part[0].start, part[0].end + 1)
            raise fault("W1501", "the statement is nested too deeply", place) from None
        if found is not None:
            found.meta["views"] = views
            yield found


def _split(source: Source, tokens: list[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each statement."""
    if len(tokens) > _MAX_TOKENS:
        raise fault("W1501", f"the script has more than {_MAX_TOKENS:,} tokens", Span())
    part: list[Token] = []
    depth = 0
    for token in tokens:
        word = token.text.upper()
        if token.token_type.name == "SEMICOLON" and depth <= 0:
            if part:
                yield part
            part, depth = [], 0
            continue
        depth += (token.token_type.name == "L_PAREN") - (token.token_type.name == "R_PAREN")
        before = part[-1].text.upper() if part else ""
        begins = word in _BEGIN and token.token_type.name not in ("STRING", "IDENTIFIER")
        if begins and depth == 0 and part and before not in ("AS", "RECURSIVE", "ON", "OR"):
            yield part
            part = []
        part.append(token)
    if part:
        yield part


def _check_depth(source: Source, part: list[Token]) -> None:
    depth = 0
    for token in part:
        depth += (token.token_type.name == "L_PAREN") - (token.token_type.name == "R_PAREN")
        if depth > _MAX_DEPTH:
            place = stretch(source, token.start, token.end + 1)
            raise fault("W1501", f"parentheses are nested more than {_MAX_DEPTH} deep", place)


def _ends_without_select(part: list[Token]) -> bool:
    """Say whether a `WITH` has only its views: after the last `)` at no depth comes nothing."""
    if part[0].text.upper() != "WITH":
        return False
    depth = 0
    for token in part:
        depth += (token.token_type.name == "L_PAREN") - (token.token_type.name == "R_PAREN")
        if depth == 0 and token.text.upper() in ("SELECT", "INSERT", "DELETE", "VALUES"):
            return False
    return part[-1].token_type.name == "R_PAREN"


def _select_nothing(dialect: object, last: Token) -> list[Token]:
    """Return the tokens of a `SELECT` for the parser's sake, at the place of the last token."""
    made: list[Token] = dialect.tokenize("SELECT 1")  # type: ignore[attr-defined]
    for token in made:
        token.line, token.col, token.start, token.end = last.line, last.col, last.start, last.end
    return made


def _parse_fault(source: Source, part: list[Token], error: Exception) -> Exception:
    details = getattr(error, "errors", None) or [{}]
    what = str(details[0].get("description") or _first_line(error)).rstrip(".")
    line, column = details[0].get("line"), details[0].get("col")
    place = stretch(source, part[0].start, part[0].end + 1)
    for token in part:
        if (token.line, token.col) == (line, column):
            place = stretch(source, token.start, token.end + 1)
    return fault("W1500", f"this is not SQL that can be read: {what[0].lower()}{what[1:]}", place)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
