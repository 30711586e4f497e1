"""The actions of the Soufflé grammar that make terms and literals."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeVar

from whence.diagnostics import Diagnostic, Source, Span
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Call,
    Cast,
    Conjunction,
    Constant,
    Constraint,
    Counter,
    Disjunction,
    Kind,
    Literal,
    Negation,
    Nil,
    Record,
    Term,
    Truth,
    UserCall,
    Variable,
    Wildcard,
)
from whence.syntax.operators import PREFIX, nest
from whence.syntax.scanner import Token

T = TypeVar("T")

_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
ESCAPES: Final = {
    '"': '"',
    "'": "'",
    "\\": "\\",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}


class Scope(NamedTuple):
    """The body of an aggregate, and where it ends."""

    body: tuple[Literal, ...]
    end: Span


class TermBuilder:
    """Makes terms and literals, and collects what is wrong with them."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []

    def error(self, code: str, message: str, span: Span, label: str = "", hint: str = "") -> None:
        self.diagnostics.append(Diagnostic(code, message, span, label, hint=hint))

    def at(self, token: Token) -> Span:
        return Span(token[2], token[3], token[4], token[5], self.source)

    def between(self, first: Token, last: Token) -> Span:
        return Span(first[2], first[3], last[4], last[5], self.source)

    def join(self, first: Span, last: Span) -> Span:
        return Span(first.line, first.column, last.end_line, last.end_column, self.source)

    # ── lists and names

    def none(self) -> list[T]:
        return []

    def one(self, item: T) -> list[T]:
        return [item]

    def more(self, items: list[T], _: Token, item: T) -> list[T]:
        items.append(item)
        return items

    def append(self, items: list[T], item: T) -> list[T]:
        items.append(item)
        return items

    def qualified(self, name: Token, _: Token, last: Token) -> Token:
        return name._replace(
            text=f"{name.text}.{last.text}", end_line=last.end_line, end_column=last.end_column
        )

    # ── constants

    def number(self, token: Token) -> Constant:
        return Constant(self._integer(token, token.text), None, span=self.at(token))

    def unsigned(self, token: Token) -> Constant:
        return Constant(self._integer(token, token.text[:-1]), Kind.UNSIGNED, span=self.at(token))

    def _integer(self, token: Token, digits: str) -> int:
        base = {"0x": 16, "0b": 2}.get(digits[:2], 10)
        significant = (digits if base == 10 else digits[2:]).lstrip("0")
        # Shorter than any length at which reading the digits would itself be slow or refused.
        value = int(significant or "0", base) if len(significant) <= 64 else 1 << 64
        if value >= 1 << 64:
            self._out_of_range("number", self.at(token))
            return 0
        return value

    def _out_of_range(self, what: str, span: Span) -> None:
        self.error(
            "W0108",
            f"{what} does not fit into 64 bits",
            span,
            hint="numbers go from -9223372036854775808 to 9223372036854775807, "
            "unsigned ones to 18446744073709551615",
        )

    def floating(self, token: Token) -> Constant:
        value = float(token.text)
        if value == float("inf"):
            self.error("W0108", "float does not fit into 64 bits", self.at(token))
            value = 0.0
        return Constant(value, Kind.FLOAT, span=self.at(token))

    def address(self, token: Token) -> Constant:
        """`1.2.3.4`: an IPv4 address is a 32-bit number, signed as in Soufflé."""
        parts = [part.lstrip("0") or "0" for part in token.text.split(".")]
        value = 0
        for part in parts:
            byte = int(part) if len(part) <= 3 else 256
            if byte > 255:
                self.error(
                    "W0108",
                    "part of an IPv4 address is greater than 255",
                    self.at(token),
                    hint="four numbers with dots between them are read as an IPv4 address",
                )
                byte = 0
            value = value << 8 | byte
        return Constant(value - (value >> 31 << 32), None, span=self.at(token))

    def symbol(self, token: Token) -> Constant:
        return Constant(self.unquote(token), Kind.SYMBOL, span=self.at(token))

    def unquote(self, token: Token) -> str:
        """Return what a string literal stands for."""
        inner = token.text[1:-1]
        if "\\" not in inner:
            return inner

        def character(match: re.Match[str]) -> str:
            if match[1] not in ESCAPES:
                self.error(
                    "W0109",
                    f"unknown escape sequence `{match[0]}`",
                    self._inside(token, 1 + match.start(), 1 + match.end()),
                    hint="write a backslash as `\\\\`; known are "
                    + " ".join(f"`\\{c}`" for c in ESCAPES),
                )
            return ESCAPES.get(match[1], match[1])

        return _ESCAPE.sub(character, inner)

    def _inside(self, token: Token, start: int, end: int) -> Span:
        before = token.text[:start]
        line = token.line + before.count("\n")
        column = start - before.rfind("\n") if "\n" in before else token.column + start
        return Span(line, column, line, column + end - start, self.source)

    # ── other terms

    def variable(self, token: Token) -> Variable | Constant:
        span = Span(token[2], token[3], token[4], token[5], self.source)
        match token[1]:
            case "__LINE__":
                return Constant(token.line, None, span=span)
            case "__FILE__":
                return Constant(self.source.name, Kind.SYMBOL, span=span)
            case "__ITERATION__":
                self.error("W0106", "`__ITERATION__` is not supported yet", span)
        return Variable(token[1], span=span)

    def wildcard(self, token: Token) -> Wildcard:
        return Wildcard(span=self.at(token))

    def nil(self, token: Token) -> Nil:
        return Nil(span=self.at(token))

    def counter(self, first: Token, *rest: Token) -> Counter:
        return Counter(span=self.between(first, rest[-1] if rest else first))

    def record(self, opening: Token, *rest: list[Term] | Token) -> Record:
        items, closing = self._inner(rest)
        return Record(tuple(items), span=self.between(opening, closing))

    def _inner(self, rest: tuple[list[Term] | Token, ...]) -> tuple[list[Term], Token]:
        """Return what stands before a closing bracket, if anything, and the bracket."""
        *items, closing = rest
        assert isinstance(closing, Token)
        if not items:
            return [], closing
        assert isinstance(items[0], list)
        return items[0], closing

    def parenthesised(self, _: Token, term: Term, __: Token) -> Term:
        return term

    def cast(
        self, word: Token, _: Token, term: Term, __: Token, kind: Token, closing: Token
    ) -> Cast:
        return Cast(term, kind.text, span=self.between(word, closing))

    def user_call(self, at: Token, name: Token, _: Token, *rest: list[Term] | Token) -> UserCall:
        args, closing = self._inner(rest)
        return UserCall(name.text, tuple(args), span=self.between(at, closing))

    def call(self, name: Token, _: Token, *rest: list[Term] | Token) -> Call:
        args, closing = self._inner(rest)
        return Call(name.text, tuple(args), span=self.between(name, closing))

    def call_minmax(
        self, name: Token, _: Token, first: Term, __: Token, rest: list[Term], closing: Token
    ) -> Call:
        return Call(name.text, (first, *rest), span=self.between(name, closing))

    # ── operators

    def triple(self, left: Term, operator: Token, right: Term) -> list[Token | Term]:
        return [left, operator, right]

    def quadruple(
        self, left: Term, operator: Token, prefixes: list[Token], right: Term
    ) -> list[Token | Term]:
        return [left, operator, *prefixes, right]

    def append_two(
        self, sequence: list[Token | Term], operator: Token, right: Term
    ) -> list[Token | Term]:
        sequence += (operator, right)
        return sequence

    def append_prefixed(
        self, sequence: list[Token | Term], operator: Token, prefixes: list[Token], right: Term
    ) -> list[Token | Term]:
        sequence += (operator, *prefixes, right)
        return sequence

    def expression(self, sequence: list[Token | Term]) -> Term:
        return nest(sequence, self._prefix, self._infix)

    def _prefix(self, operator: Token, term: Term) -> Term:
        span = self.join(self.at(operator), term.span)
        if (
            operator.text == "-"
            and isinstance(term, Constant)
            and not isinstance(term.value, str)
            and term.kind is not Kind.UNSIGNED
            and term.value >= 0
        ):
            if term.value > 1 << 63 and term.kind is None:
                self._out_of_range("number", span)
            return Constant(0 - term.value, term.kind, span=span)
        return Call(PREFIX[operator.text], (term,), span=span)

    def _infix(self, operator: Token, left: Term, right: Term) -> Term:
        return Call(operator.text, (left, right), span=self.join(left.span, right.span))

    # ── aggregates

    def braces(self, _: Token, body: list[Literal], closing: Token) -> Scope:
        return Scope(tuple(body), self.at(closing))

    def lone_atom(self, atom: Atom) -> Scope:
        return Scope((atom,), atom.span)

    def aggregate(self, name: Token, *rest: Term | Token | Scope) -> Aggregate:
        *before, scope = rest
        assert isinstance(scope, Scope)
        target = before[0]
        span = self.join(self.at(name), scope.end)
        if isinstance(target, Token | Scope):
            if name.text != "count":
                self.error(
                    "W0110",
                    f"`{name.text}` does not say what to aggregate",
                    self.at(name),
                    hint=f"write `{name.text} x : {{ … }}`",
                )
            return Aggregate(name.text, None, scope.body, span=span)
        if name.text == "count":
            self.error(
                "W0110",
                "`count` counts the tuples of its body and takes no term",
                target.span,
                hint="write `count : { … }`",
            )
        return Aggregate(name.text, target, scope.body, span=span)

    # ── literals

    def atom(self, name: Token, _: Token, *rest: list[Term] | Token) -> Atom:
        args, closing = self._inner(rest)
        return Atom(name.text, tuple(args), span=self.between(name, closing))

    def constraint(self, left: Term, operator: Token, right: Term) -> Constraint:
        return Constraint(operator.text, left, right, span=self.join(left.span, right.span))

    def match(
        self, name: Token, _: Token, left: Term, __: Token, right: Term, closing: Token
    ) -> Constraint:
        return Constraint(name.text, left, right, span=self.between(name, closing))

    def truth(self, token: Token) -> Truth:
        return Truth(token.text == "true", span=self.at(token))

    def negation(self, sign: Token, literal: Literal) -> Literal:
        span = self.join(self.at(sign), literal.span)
        if isinstance(literal, Constraint) and literal.op in ("match", "contains"):
            return Constraint(f"not_{literal.op}", literal.left, literal.right, span=span)
        return Negation(literal, span=span)

    def group(self, opening: Token, body: list[Literal], closing: Token) -> Literal:
        return self._conjoin(body)

    def either(self, left: list[Literal], _: Token, right: list[Literal]) -> list[list[Literal]]:
        return [left, right]

    def disjunction(self, choices: list[list[Literal]]) -> list[Literal]:
        items = tuple(self._conjoin(choice) for choice in choices)
        return [Disjunction(items, span=self.join(items[0].span, items[-1].span))]

    def _conjoin(self, body: list[Literal]) -> Literal:
        if len(body) == 1:
            return body[0]
        return Conjunction(tuple(body), span=self.join(body[0].span, body[-1].span))
