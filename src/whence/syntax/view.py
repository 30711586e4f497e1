"""Tokens around a syntax error, and what their places say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from whence.diagnostics import Source, Span
from whence.syntax.scanner import UNKNOWN_DIRECTIVE, Token
from whence.syntax.table import END, Table

DIRECTIVES: Final = frozenset(
    {"TYPE", "LEGACY_TYPE", "DECL", "FUNCTOR", "PRAGMA", "DIRECTIVE", UNKNOWN_DIRECTIVE}
)
_OPENING: Final = frozenset({"LPAREN", "LBRACKET", "LBRACE"})
_CLOSING: Final = frozenset({"RPAREN", "RBRACKET", "RBRACE"})


@dataclass(frozen=True, slots=True)
class View:
    """The statement from `begin` on, in which the token at `index` was not `expected`."""

    source: Source
    table: Table
    tokens: Sequence[Token]
    begin: int
    index: int
    expected: frozenset[str]

    @property
    def first(self) -> Token:
        return self.tokens[self.begin]

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    @property
    def before(self) -> Token:
        return self.peek(self.index - 1)

    @property
    def after(self) -> Token:
        return self.peek(self.index + 1)

    @property
    def between_statements(self) -> bool:
        return "DECL" in self.expected

    def peek(self, index: int) -> Token:
        return self.tokens[max(0, min(index, len(self.tokens) - 1))]

    def touches_next(self, index: int) -> bool:
        """Whether nothing stands between a token and the one after it."""
        token, after = self.tokens[index], self.peek(index + 1)
        return (token.end_line, token.end_column) == (after.line, after.column)

    def begins_line(self, index: int) -> bool:
        return index == 0 or self.tokens[index - 1].end_line < self.tokens[index].line

    def ends_line(self, index: int) -> bool:
        after = self.peek(index + 1)
        return after.type == END or after.line > self.tokens[index].end_line

    def begins_clause(self, index: int) -> bool:
        """Whether a line begins here as a fact or rule does."""
        return (
            self.tokens[index].type == "IDENT"
            and self.peek(index + 1).type in ("LPAREN", "DOT")
            and self.begins_line(index)
        )

    def open_bracket(self) -> Token | None:
        """Return the innermost bracket of the statement that is still open."""
        opened: list[Token] = []
        for token in self.tokens[self.begin : self.index]:
            if token.type in _OPENING:
                opened.append(token)
            elif token.type in _CLOSING and opened:
                opened.pop()
        return opened[-1] if opened else None

    def unknown_qualifier(self) -> bool:
        """Whether a word after a declaration was taken for the beginning of a clause."""
        return (
            self.index == self.begin + 1
            and self.first.type == "IDENT"
            and "LPAREN" in self.expected
            and not self.begins_line(self.begin)
            and self.peek(self.begin - 1).type in ("RPAREN", "QUALIFIER")
        )

    def lacks_dot(self) -> bool:
        """Whether a line begins a new statement while a clause could have ended before it."""
        return (
            "DOT" in self.expected
            and self.begin < self.index
            and self.first.type == "IDENT"
            and self.begins_line(self.index)
            and (self.token.type in DIRECTIVES or self.token.type in ("IDENT", "PLAN"))
        )

    def superfluous_dot(self) -> int:
        """Return where a `.` ends a line that the grammar reads as part of a name, or 0.

        A directive takes no final `.`, and a lone name before one is no atom.
        """
        for at in range(self.begin + 1, self.index + 1):
            if self.tokens[at].type == "DOT" and self.ends_line(at):
                if self.first.type in DIRECTIVES:
                    return at
                if self.tokens[at - 1].type == "IDENT" and self.peek(at + 1).type == "IDENT":
                    return at
        return 0

    def at(self, token: Token) -> Span:
        return self.between(token, token)

    def between(self, first: Token, last: Token) -> Span:
        return Span(first.line, first.column, last.end_line, last.end_column, self.source)

    def behind(self, token: Token) -> Span:
        line, column = token.end_line, token.end_column
        return Span(line, column, line, column + 1, self.source)


def is_word(token: Token) -> bool:
    return token.text.replace("?", "_").isidentifier()
