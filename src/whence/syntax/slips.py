"""What a syntax error means, in words, and where to go on after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from whence.diagnostics import Diagnostic, Source, Span, nearest
from whence.syntax.expectation import describe, spelling
from whence.syntax.scanner import STRAY, UNKNOWN_DIRECTIVE, Token
from whence.syntax.table import END, Table

MAX_ERRORS: Final = 20

_HABITS: Final[dict[str, str]] = {
    ":=": "a rule is written with `:-`, an equation with `=`",
    "==": "equality is written `=`",
    "=>": "`greater or equal` is written `>=`",
    "=<": "`less or equal` is written `<=`",
    "<>": "inequality is written `!=`",
    "->": "the head of a rule comes first: `head :- body.`",
    "<<": "a shift to the left is written `bshl`",
    ">>": "a shift to the right is written `bshr`",
    ">>>": "an unsigned shift to the right is written `bshru`",
    "**": "a power is written `^`",
    "&&": "between literals write `,`; between numbers `land`",
    "||": "between literals write `;`; between numbers `lor`",
    "^^": "exclusive or is written `lxor`",
    "&": "between literals write `,`; between numbers `band`",
    "|": "between literals write `;`; between numbers `bor`",
    "~": "negation is written `!`; the bits of a number are flipped by `bnot`",
    "\\": "negation is written `!`",
    "'": 'a string stands in double quotes: `"text"`',
    "not": "negation is written `!`",
    "and": "between literals write `,`",
    "or": "between literals write `;`",
}

_NOT_YET: Final[dict[str, str]] = {
    ".comp": "components",
    ".init": "components",
    ".override": "components",
    ".include": "`.include`",
    ".once": "`.include`",
    ".lattice": "lattices",
    ".debug_delta": "`debug_delta`",
}

_DIRECTIVES: Final = frozenset(
    {"TYPE", "LEGACY_TYPE", "DECL", "FUNCTOR", "PRAGMA", "DIRECTIVE", UNKNOWN_DIRECTIVE}
)
_OPENING: Final = {"LPAREN": "(", "LBRACKET": "[", "LBRACE": "{"}
_CLOSING: Final = {"RPAREN": "(", "RBRACKET": "[", "RBRACE": "{"}


class Slips:
    """Explains each syntax error of a text and finds the next statement."""

    def __init__(self, source: Source, tokens: Sequence[Token], table: Table) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._source = source
        self._tokens = tokens
        self._table = table
        self._known = sorted(w for w in table.words if w[0] == "." and len(w) > 1)

    def recover(self, begin: int, index: int, expected: frozenset[str]) -> int:
        """Note what is wrong at `index` in the statement from `begin`; return where to go on."""
        token = self._tokens[index]
        self.diagnostics.append(self._explain(begin, index, expected))
        if len(self.diagnostics) >= MAX_ERRORS or token.type == END:
            return len(self._tokens)
        if self._lacks_dot(index, expected):
            return index
        return self._next_statement(begin, index)

    # ── explaining

    def _explain(self, begin: int, index: int, expected: frozenset[str]) -> Diagnostic:
        token = self._tokens[index]
        for explain in (
            self._unknown_directive,
            self._not_yet,
            self._unclosed_string,
            self._missing_dot,
            self._end,
            self._reserved,
        ):
            found = explain(begin, index, expected)
            if found:
                return found
        return Diagnostic(
            "W0102" if token.type == STRAY else "W0101",
            f"unexpected {spelling(token)}",
            self._at(token),
            f"expected {describe(expected, self._table)}",
            hint=self._habit(begin, index),
        )

    def _unknown_directive(
        self, begin: int, index: int, expected: frozenset[str]
    ) -> Diagnostic | None:
        token, after = self._tokens[index], self._peek(index + 1)
        if token.type == UNKNOWN_DIRECTIVE:
            word, span = token.text, self._at(token)
        elif token.type == "DOT" and "DECL" in expected and self._touch(index) and _is_word(after):
            word, span = f".{after.text}", self._between(token, after)
        else:
            return None
        if word in _NOT_YET:
            return self._unsupported(_NOT_YET[word], span)
        near = nearest(word, self._known)
        return Diagnostic(
            "W0105",
            f"unknown directive `{word}`",
            span,
            hint=f"did you mean `{near}`?" if near else f"known are {_listed(self._known)}",
        )

    def _not_yet(self, begin: int, index: int, expected: frozenset[str]) -> Diagnostic | None:
        token, before, after = self._tokens[index], self._peek(index - 1), self._peek(index + 1)
        first = self._tokens[begin]
        if before.type == "DOLLAR" and token.type == "IDENT" and self._touch(index - 1):
            return self._unsupported("algebraic data types", self._between(before, token))
        if first.type == "TYPE" and token.type == "LBRACE":
            return self._unsupported("algebraic data types", self._at(token))
        if first.type == "DECL" and token.text == "<>":
            return self._unsupported("lattices", self._at(token))
        if first.type == "DECL" and token.text == "choice" and after.type == "MINUS":
            return self._unsupported("`choice-domain`", self._between(token, self._peek(index + 2)))
        if first.type == "DECL" and self._peek(index + 1).text == "debug_delta":
            return self._unsupported("`debug_delta`", self._at(after))
        if token.type == "AT" and before.type == "AT":
            return self._unsupported("user-defined aggregates", self._between(before, token))
        if before.text == "__ITERATION__" and token.type == "LPAREN":
            return self._unsupported("`__ITERATION__`", self._at(before))
        return None

    def _unsupported(self, what: str, span: Span) -> Diagnostic:
        verb = "are" if what.endswith("s") else "is"
        return Diagnostic("W0106", f"{what} {verb} not supported yet", span)

    def _unclosed_string(
        self, begin: int, index: int, expected: frozenset[str]
    ) -> Diagnostic | None:
        for token in self._tokens[max(begin, index - 2) : index + 1]:
            if token.type == "STRING" and token.end_line > token.line:
                return Diagnostic(
                    "W0103",
                    "string is not closed on its line",
                    Span(token.line, token.column, token.line, token.column + 1, self._source),
                    "opened here",
                    notes=(f"it runs on to line {token.end_line}, where the text goes wrong",),
                    hint='close it with `"`',
                )
        return None

    def _missing_dot(self, begin: int, index: int, expected: frozenset[str]) -> Diagnostic | None:
        if not self._lacks_dot(index, expected):
            return None
        before = self._tokens[index - 1]
        return Diagnostic(
            "W0101",
            f"expected {describe(expected, self._table)} before {spelling(self._tokens[index])}",
            Span(
                before.end_line,
                before.end_column,
                before.end_line,
                before.end_column + 1,
                self._source,
            ),
            "the statement does not end",
            hint="a fact or rule ends with `.`",
        )

    def _lacks_dot(self, index: int, expected: frozenset[str]) -> bool:
        token = self._tokens[index]
        return (
            "DOT" in expected
            and index > 0
            and self._first_on_line(index)
            and (token.type in _DIRECTIVES or token.type in ("IDENT", "PLAN"))
        )

    def _end(self, begin: int, index: int, expected: frozenset[str]) -> Diagnostic | None:
        if self._tokens[index].type != END:
            return None
        before = self._peek(index - 1)
        place = Span(
            before.end_line, before.end_column, before.end_line, before.end_column + 1, self._source
        )
        opened = self._open_bracket(begin, index)
        hint = ""
        if opened:
            hint = f"`{opened.text}` in line {opened.line} is not closed"
        elif "DOT" in expected:
            hint = "a fact or rule ends with `.`"
        return Diagnostic(
            "W0101",
            "unexpected end of text",
            place if index else self._at(self._tokens[index]),
            f"expected {describe(expected, self._table)}",
            hint=hint,
        )

    def _open_bracket(self, begin: int, index: int) -> Token | None:
        opened: list[Token] = []
        for token in self._tokens[begin:index]:
            if token.type in _OPENING:
                opened.append(token)
            elif token.type in _CLOSING and opened:
                opened.pop()
        return opened[-1] if opened else None

    def _reserved(self, begin: int, index: int, expected: frozenset[str]) -> Diagnostic | None:
        token = self._tokens[index]
        if not ("IDENT" in expected and token.type != "IDENT" and token.text in self._table.words):
            return None
        if not token.text[0].isalpha():
            return None
        return Diagnostic(
            "W0101",
            f"unexpected {spelling(token)}",
            self._at(token),
            f"expected {describe(expected, self._table)}",
            hint=f"`{token.text}` is a reserved word; choose another name such as `{token.text}_`",
        )

    def _habit(self, begin: int, index: int) -> str:
        token, after = self._tokens[index], self._peek(index + 1)
        text = token.text[:1] if token.text.startswith(("'", "\\")) else token.text
        if token.text == "<" and after.type == "MINUS" and self._touch(index):
            return "a rule is written with `:-`"
        if self._first_on_line(index) and token.text in ("%", "-"):
            return "a comment begins with `//`"
        if token.type == "DOT" and self._tokens[begin].type in _DIRECTIVES:
            return "a directive does not end with `.`"
        if text in _HABITS:
            return _HABITS[text]
        before = self._peek(index - 1)
        if before.type == "IDENT" and before.text in _HABITS:
            return _HABITS[before.text]
        if token.type == "DOT" and before.type == "RPAREN" and self._peek(begin).type == "IDENT":
            return "each fact is a statement of its own, and a rule has a body: `head :- body.`"
        return ""

    # ── going on

    def _next_statement(self, begin: int, index: int) -> int:
        tokens = self._tokens
        if tokens[begin].type in _DIRECTIVES or tokens[index].type in _DIRECTIVES:
            return self._after_directive(begin, index)
        at = index
        while tokens[at].type != END:
            token = tokens[at]
            if token.type in _DIRECTIVES and at > index:
                return at
            if token.type == "DOT" and not (self._touch(at) and _is_word(tokens[at + 1])):
                return self._after_plan(at + 1)
            at += 1
        return at

    def _after_plan(self, at: int) -> int:
        if self._tokens[at].type == "PLAN":
            at += 1
            while self._tokens[at].type in ("NUMBER", "COLON", "LPAREN", "RPAREN", "COMMA"):
                at += 1
        return at

    def _after_directive(self, begin: int, index: int) -> int:
        """A directive has no end mark: take the next one, or what looks like a clause."""
        tokens = self._tokens
        at, depth = index, 0
        while tokens[at].type != END:
            token = tokens[at]
            if token.type == "LBRACE":
                depth += 1
            elif token.type == "RBRACE":
                depth = max(0, depth - 1)
            elif depth == 0 and at > index:
                if token.type in _DIRECTIVES:
                    return at
                starts_clause = token.type == "IDENT" and tokens[at + 1].type in ("LPAREN", "DOT")
                if starts_clause and self._first_on_line(at) and token.line > tokens[begin].line:
                    return at
            at += 1
        return at

    # ── places

    def _peek(self, index: int) -> Token:
        return self._tokens[max(0, min(index, len(self._tokens) - 1))]

    def _touch(self, index: int) -> bool:
        """Whether nothing stands between a token and the next."""
        token, after = self._tokens[index], self._peek(index + 1)
        return (token.end_line, token.end_column) == (after.line, after.column)

    def _first_on_line(self, index: int) -> bool:
        return index == 0 or self._tokens[index - 1].end_line < self._tokens[index].line

    def _at(self, token: Token) -> Span:
        return self._between(token, token)

    def _between(self, first: Token, last: Token) -> Span:
        return Span(first.line, first.column, last.end_line, last.end_column, self._source)


def _is_word(token: Token) -> bool:
    return token.text.replace("?", "_").isidentifier()


def _listed(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)
