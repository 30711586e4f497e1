"""The actions of the NDlog grammar: rules, tables and the other statements of a program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from whence.diagnostics import Span
from whence.syntax.builder import MAX_DEPTH
from whence.syntax.nodes import (
    Atom,
    Call,
    Conjunction,
    Constant,
    Constraint,
    Disjunction,
    HeadAggregate,
    InInterval,
    Kind,
    Literal,
    Materialize,
    Pragma,
    Query,
    Rule,
    Term,
    Variable,
    Watch,
    children,
)
from whence.syntax.scanner import Token
from whence.syntax.term_builder import TermBuilder

MAX_BITS: Final = 512
"""How long a number may be; identifiers have 160 bits."""

SHIFTS: Final = {"<<": "bshl", ">>": "bshr"}
"""Operators whose functors have the names of the other dialect."""

FULL_NETWORK: Final = "network", "full"
"""The pragma that `fullyConnected.` stands for."""


class Include(NamedTuple):
    """`#include(…)`: rules of this text or of a file, all or those with the labels."""

    file: str | None
    labels: tuple[Token, ...]
    span: Span


class Located(NamedTuple):
    """`@X` among the arguments of a predicate."""

    term: Term
    span: Span


Statement: TypeAlias = Rule | Materialize | Watch | Query | Pragma | Include
Arguments: TypeAlias = "list[Term | Located]"


class NdlogBuilder(TermBuilder):
    """Collects the statements of a program while the parser runs."""

    statements: list[Statement]

    def nothing(self) -> None:
        self.statements = []

    def keep(self, _: None, statement: Statement) -> None:
        self.statements.append(statement)

    # ── statements

    def materialize(self, word: Token, _: Token, table: Token, *rest: object) -> Materialize:
        lifetime, size, dot = rest[1], rest[3], rest[-1]
        keys = next((item for item in rest if isinstance(item, list)), [])
        assert isinstance(lifetime, Constant)
        assert isinstance(size, Constant)
        assert isinstance(dot, Token)
        if isinstance(size.value, float) and size.value != math.inf:
            self.error(
                "W1300",
                "the size of a table is a number of tuples",
                size.span,
                hint="write a whole number, or `infinity`",
            )
        return Materialize(
            table.text,
            None if lifetime.value == math.inf else float(lifetime.value),
            None if size.value == math.inf else int(size.value),
            tuple(self._integer(key, key.text) for key in keys),
            span=self.between(word, dot),
        )

    def link_table(self, sign: Token, name: Token) -> Token:
        return name._replace(column=sign.column, line=sign.line)

    def watch(self, word: Token, _: Token, table: Token, __: Token, dot: Token) -> Watch:
        return Watch(table.text, span=self.between(word, dot))

    def query(self, word: Token, atom: Atom, dot: Token) -> Query:
        self._check_depth((atom,))
        return Query(atom, span=self.between(word, dot))

    def fully_connected(self, word: Token, dot: Token) -> Pragma:
        return Pragma(*FULL_NETWORK, span=self.between(word, dot))

    def include(
        self, sign: Token, word: Token, _: Token, parts: list[Token], closing: Token
    ) -> Include:
        files = [part for part in parts if part.type == "STRING"]
        if files and (files[0] is not parts[0] or len(files) > 1):
            self.error(
                "W1303",
                "the file of an `#include` comes first, and is one",
                self.at(files[-1]),
                hint='write `#include("file.ndlog", label, label)`',
            )
        labels = tuple(part for part in parts if part.type != "STRING")
        file = self.unquote(files[0]) if files else None
        return Include(file, labels, self.between(sign, closing))

    def hyphenated(self, label: Token, _: Token, last: Token) -> Token:
        return label._replace(
            text=f"{label.text}-{last.text}", end_line=last.end_line, end_column=last.end_column
        )

    # ── rules

    def labelled(self, label: Token, rule: Rule) -> Rule:
        return replace(rule, name=label.text, span=self.join(self.at(label), rule.span))

    def base_fact(self, head: Atom, dot: Token) -> Rule:
        self._check_depth((head,))
        return Rule((head,), span=self.join(head.span, self.at(dot)))

    def clause(self, head: Atom, _: Token, body: list[Literal], dot: Token) -> Rule:
        self._check_depth((head, *body))
        return Rule((head,), tuple(body), span=self.join(head.span, self.at(dot)))

    def deletion(
        self, word: Token, head: Atom, mark: Token, body: list[Literal], dot: Token
    ) -> Rule:
        rule = self.clause(head, mark, body, dot)
        return replace(rule, delete=True, span=self.between(word, dot))

    def _check_depth(self, nodes: tuple[Term | Literal, ...]) -> None:
        pending: list[tuple[Term | Literal, int]] = [(node, 1) for node in nodes]
        while pending:
            node, depth = pending.pop()
            if depth > MAX_DEPTH:
                self.error(
                    "W0107",
                    f"terms or bodies nest more than {MAX_DEPTH} levels deep",
                    node.span,
                    hint="name parts of it with variables or further relations",
                )
                return
            pending.extend((child, depth + 1) for child in children(node))

    # ── predicates

    def predicate(self, name: Token, _: Token, *rest: Arguments | Token) -> Atom:
        *args, closing = rest
        assert isinstance(closing, Token)
        return self._predicate(name, closing, args[0] if args else [])

    def predicate_at(
        self, name: Token, at: Token, place: Term, _: Token, args: Arguments, closing: Token
    ) -> Atom:
        span = self.join(self.at(at), place.span)
        return self._predicate(name, closing, args, Located(place, span))

    def link(self, sign: Token, name: Token, _: Token, args: Arguments, closing: Token) -> Atom:
        atom = self._predicate(name, closing, args)
        return replace(atom, link=True, span=self.between(sign, closing))

    def link_at(self, sign: Token, name: Token, *rest: Token) -> Atom:
        atom = self.predicate_at(name, *rest)  # type: ignore[arg-type]
        return replace(atom, link=True, span=self.join(self.at(sign), atom.span))

    def location(self, at: Token, place: Term) -> Located:
        return Located(place, self.join(self.at(at), place.span))

    def _predicate(
        self,
        name: Token,
        closing: Token,
        args: object,
        outside: Located | None = None,
    ) -> Atom:
        assert isinstance(args, list)
        inside = [i for i, arg in enumerate(args) if isinstance(arg, Located)]
        terms = tuple(arg.term if isinstance(arg, Located) else arg for arg in args)
        location = inside[0] if inside else None
        if outside is not None:
            location = self._column(name, terms, outside)
        spans = [args[i].span for i in inside]
        for span in spans if outside is not None else spans[1:]:
            self.error(
                "W1301",
                f"`{name.text}` has more than one location",
                span,
                "another one",
                hint="a tuple is kept in one place: mark one argument with `@`",
            )
        return Atom(name.text, terms, location=location, span=self.between(name, closing))

    def _column(self, name: Token, terms: Sequence[Term], place: Located) -> int | None:
        for index, term in enumerate(terms):
            inner = term.target if isinstance(term, HeadAggregate) else term
            if inner == place.term:
                return index
        self.error(
            "W1302",
            f"the location of `{name.text}` is none of its arguments",
            place.span,
            hint=f"write `{name.text}(@X, …)`, or `{name.text}@X(X, …)` with `X` in both places",
        )
        return None

    # ── aggregates in heads

    def count_all(self, word: Token, star: Token, closing: Token) -> HeadAggregate:
        function = word.text[:-1].rstrip()
        if function != "count":
            self.error(
                "W1306",
                f"`{function}` does not say what to aggregate",
                self.at(star),
                hint=f"write `{function}<C>` with a variable of the body; only `count` takes `*`",
            )
        return HeadAggregate(function, None, span=self.between(word, closing))

    def head_aggregate(self, word: Token, target: Term, closing: Token) -> HeadAggregate:
        function = word.text[:-1].rstrip()
        return HeadAggregate(function, target, span=self.between(word, closing))

    def aggregate_location(self, word: Token, at: Token, place: Term, closing: Token) -> Located:
        found = self.head_aggregate(word, place, closing)
        return Located(found, self.join(self.at(at), place.span))

    # ── literals

    def comparison(self, left: Term, operator: Token, right: Term) -> Constraint:
        op = "=" if operator.type == "EQUALS" else operator.text
        return Constraint(op, left, right, span=self.join(left.span, right.span))

    def interval(
        self, item: Term, _: Token, opening: Token, low: Term, __: Token, high: Term, closing: Token
    ) -> InInterval:
        return InInterval(
            item,
            low,
            high,
            opening.text == "[",
            closing.text == "]",
            span=self.join(item.span, self.at(closing)),
        )

    def two(self, first: Literal, _: Token, second: Literal) -> list[Literal]:
        return [first, second]

    def any_of(self, choices: list[Literal]) -> Disjunction:
        return Disjunction(tuple(choices), span=self.join(choices[0].span, choices[-1].span))

    def group(self, opening: Token, body: list[Literal], closing: Token) -> Literal:
        if len(body) == 1:
            return body[0]
        return Conjunction(tuple(body), span=self.between(opening, closing))

    # ── terms

    def word(self, token: Token) -> Constant:
        return Constant(token.text, Kind.SYMBOL, span=self.at(token))

    def infinity(self, token: Token) -> Constant:
        return Constant(math.inf, Kind.FLOAT, span=self.at(token))

    def truth_value(self, token: Token) -> Constant:
        return Constant(token.text == "true", None, span=self.at(token))

    def variable(self, token: Token) -> Variable:
        return Variable(token.text, span=self.at(token))

    def expression(self, sequence: list[Token | Term]) -> Term:
        return super().expression(
            [
                item._replace(text=SHIFTS.get(item.text, item.text))
                if isinstance(item, Token)
                else item
                for item in sequence
            ]
        )

    def _prefix(self, operator: Token, term: Term) -> Term:
        span = self.join(self.at(operator), term.span)
        if isinstance(term, Constant) and type(term.value) in (int, float) and term.value >= 0:  # type: ignore[operator]
            return Constant(0 - term.value, term.kind, span=span)  # type: ignore[operator]
        return Call("neg", (term,), span=span)

    def _integer(self, token: Token, digits: str) -> int:
        digits = digits.removesuffix("I")
        base = {"0x": 16, "0b": 2}.get(digits[:2], 10)
        significant = (digits if base == 10 else digits[2:]).lstrip("0") or "0"
        # No more digits than the longest number has: reading many would itself be slow.
        value = int(significant, base) if len(significant) <= MAX_BITS else 1 << MAX_BITS
        if value.bit_length() > MAX_BITS:
            self.error("W1308", f"number does not fit into {MAX_BITS} bits", self.at(token))
            return 0
        return value
