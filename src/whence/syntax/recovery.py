"""Where to go on after a syntax error, so that one text shows all its errors."""

from __future__ import annotations

from whence.syntax.scanner import UNCLOSED, Token
from whence.syntax.table import END
from whence.syntax.view import DIRECTIVES, View, is_word


def resume(view: View) -> int:
    """Return the index of a token that probably begins a statement, past the error."""
    dot = view.superfluous_dot()
    if dot:
        return dot + 1
    if view.lacks_dot():
        return view.index
    if view.token.type == UNCLOSED:
        return _next_line(view)
    if view.token.type in DIRECTIVES and not view.between_statements:
        return view.index
    if view.first.type in DIRECTIVES or view.token.type in DIRECTIVES:
        return _after_directive(view)
    return _after_clause(view)


def _next_line(view: View) -> int:
    at = view.index + 1
    while view.tokens[at].type != END and not (
        view.tokens[at].type in DIRECTIVES or view.begins_clause(at)
    ):
        at += 1
    return at


def _after_clause(view: View) -> int:
    tokens, at = view.tokens, view.index
    between = view.between_statements
    while tokens[at].type != END:
        if at > view.index and (
            tokens[at].type in DIRECTIVES or (between and view.begins_clause(at))
        ):
            return at
        if tokens[at].type == "DOT" and not (view.touches_next(at) and is_word(tokens[at + 1])):
            return _after_plan(view, at + 1)
        at += 1
    return at


def _after_plan(view: View, at: int) -> int:
    if view.tokens[at].type == "PLAN":
        at += 1
        while _in_plan(view.tokens[at]):
            at += 1
    return at


def _in_plan(token: Token) -> bool:
    return token.type in ("NUMBER", "COLON", "LPAREN", "RPAREN", "COMMA")


def _after_directive(view: View) -> int:
    """A directive has no end mark: take the next one, or what looks like a clause."""
    at, depth = view.index, 0
    while view.tokens[at].type != END:
        kind = view.tokens[at].type
        if kind == "LBRACE":
            depth += 1
        elif kind == "RBRACE":
            depth = max(0, depth - 1)
        elif depth == 0 and at > view.index and (kind in DIRECTIVES or view.begins_clause(at)):
            return at
        at += 1
    return at
