"""The actions of the Soufflé grammar that make declarations, rules and the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from whence.diagnostics import Source, Span
from whence.syntax.nodes import (
    Atom,
    Attribute,
    Directive,
    FunctorDecl,
    Literal,
    Pragma,
    Program,
    RecordType,
    RelationDecl,
    Rule,
    Subsumption,
    Subtype,
    Term,
    TypeDecl,
    UnionType,
    children,
)
from whence.syntax.scanner import Token
from whence.syntax.term_builder import TermBuilder

MAX_DEPTH: Final = 200
"""How deep terms and bodies may nest, so that every later pass may recurse."""

_LEGACY_IO: Final = ("input", "output", "printsize")
_REPRESENTATIONS: Final = ("btree", "btree_delete", "brie", "eqrel")

Orders: TypeAlias = tuple[tuple[int, tuple[int, ...]], ...]


class Annotation(NamedTuple):
    """`@prov` or `@prov:semiring` among the attributes of a relation."""

    semiring: str
    span: Span


class Builder(TermBuilder):
    """Collects the statements of a program while the parser runs; `build` returns it."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.types: list[TypeDecl] = []
        self.functors: list[FunctorDecl] = []
        self.relations: list[RelationDecl] = []
        self.rules: list[Rule] = []
        self.subsumptions: list[Subsumption] = []
        self.directives: list[Directive] = []
        self.pragmas: list[Pragma] = []
        self._last_dot = 0

    def build(self) -> Program:
        """Return the program of the statements seen so far."""
        return Program(
            tuple(self.types),
            tuple(self.functors),
            tuple(self.relations),
            tuple(self.rules),
            tuple(self.subsumptions),
            tuple(self.directives),
            tuple(self.pragmas),
        )

    def nothing(self) -> None:
        return None

    def keep(self, _: None, clause: Rule | Subsumption | None) -> None:
        if isinstance(clause, Rule):
            self.rules.append(clause)
        elif isinstance(clause, Subsumption):
            self.subsumptions.append(clause)

    # ── types

    def subtype(self, word: Token, name: Token, _: Token, base: Token) -> None:
        self.types.append(Subtype(name.text, base.text, span=self.between(word, base)))

    def union_type(self, word: Token, name: Token, _: Token, members: list[Token]) -> None:
        span = self.between(word, members[-1])
        if len(members) == 1:
            self.types.append(Subtype(name.text, members[0].text, alias=True, span=span))
        else:
            self.types.append(UnionType(name.text, tuple(m.text for m in members), span=span))

    def record_type(
        self, word: Token, name: Token, _: Token, __: Token, *rest: list[Attribute] | Token
    ) -> None:
        *fields, closing = rest
        assert isinstance(closing, Token)
        attributes = fields[0] if fields else []
        assert isinstance(attributes, list)
        self.types.append(
            RecordType(
                name.text, self._plain(attributes, "record"), span=self.between(word, closing)
            )
        )

    def legacy_type(self, word: Token, name: Token) -> None:
        base = "number" if word.text == ".number_type" else "symbol"
        self.types.append(Subtype(name.text, base, span=self.between(word, name)))

    # ── attributes

    def attribute(self, name: Token, _: Token, kind: Token) -> Attribute:
        return Attribute(name.text, kind.text, span=self.between(name, kind))

    def unnamed(self, kind: Token) -> Attribute:
        return Attribute("", kind.text, span=self.at(kind))

    def annotation(self, at: Token, name: Token, *semiring: Token) -> Annotation:
        span = self.between(at, semiring[-1] if semiring else name)
        if name.text != "prov":
            self.error(
                "W0111",
                f"unknown annotation `@{name.text}`",
                span,
                hint="an annotation is declared as `@prov` or `@prov:tropical`",
            )
        named = "" if not semiring else semiring[-1].text
        if semiring and semiring[-1].type == "STRING":
            named = self.unquote(semiring[-1])
        return Annotation(named, span)

    def _plain(self, items: Sequence[Attribute | Annotation], owner: str) -> tuple[Attribute, ...]:
        for item in items:
            if isinstance(item, Annotation):
                self.error(
                    "W0111",
                    f"a {owner} takes no annotation",
                    item.span,
                    hint="`@prov` is the last attribute of a relation",
                )
        return tuple(item for item in items if isinstance(item, Attribute))

    # ── relations, functors, directives

    def relation(self, word: Token, names: list[Token], _: Token, *rest: object) -> None:
        *inner, closing, qualifiers = rest
        assert isinstance(closing, Token)
        assert isinstance(qualifiers, list)
        items: list[Attribute | Annotation] = inner[0] if inner else []  # type: ignore[assignment]
        provenance = None
        if items and isinstance(items[-1], Annotation):
            provenance = items[-1].semiring
            items = items[:-1]
        for item in items:
            if isinstance(item, Annotation):
                self.error(
                    "W0111",
                    "an annotation comes after all attributes",
                    item.span,
                    hint="move it to the end and keep only one",
                )
        attributes = tuple(item for item in items if isinstance(item, Attribute))
        kept = self._qualifiers(qualifiers)
        for name in names:
            self.relations.append(
                RelationDecl(name.text, attributes, kept, provenance, span=self.at(name))
            )
            for qualifier in qualifiers:
                if qualifier.text in _LEGACY_IO:
                    self.directives.append(
                        Directive(qualifier.text, name.text, span=self.at(qualifier))
                    )

    def _qualifiers(self, tokens: list[Token]) -> tuple[str, ...]:
        seen: dict[str, Token] = {}
        for token in tokens:
            rival = next((r for r in seen if r in _REPRESENTATIONS), None)
            if token.text in seen:
                self.error("W0113", f"qualifier `{token.text}` is given twice", self.at(token))
            elif token.text in _REPRESENTATIONS and rival:
                self.error(
                    "W0113",
                    f"qualifier `{token.text}` contradicts `{rival}`",
                    self.at(token),
                    hint="a relation has one representation",
                )
            seen.setdefault(token.text, token)
        return tuple(q for q in seen if q not in _LEGACY_IO)

    def functor(self, word: Token, name: Token, _: Token, *rest: object) -> None:
        *inner, __, ___, returns, stateful = rest
        assert isinstance(returns, Token)
        assert isinstance(stateful, list)
        parameters: list[Attribute | Annotation] = inner[0] if inner else []  # type: ignore[assignment]
        self.functors.append(
            FunctorDecl(
                name.text,
                self._plain(parameters, "functor"),
                returns.text,
                bool(stateful),
                span=self.between(word, stateful[0] if stateful else returns),
            )
        )

    def directive(self, word: Token, names: list[Token], *rest: object) -> None:
        pairs = next((item for item in rest if isinstance(item, list)), [])
        for name in names:
            self.directives.append(
                Directive(word.text[1:], name.text, tuple(pairs), span=self.at(name))
            )

    def pair(self, key: Token, _: Token, value: Token) -> tuple[str, str]:
        text = self.unquote(value) if value.type == "STRING" else value.text
        return key.text, text

    def pragma(self, word: Token, key: Token, *value: Token) -> None:
        self.pragmas.append(
            Pragma(
                self.unquote(key),
                self.unquote(value[0]) if value else "",
                span=self.between(word, value[0] if value else key),
            )
        )

    # ── clauses

    def fact(self, atom: Atom, dot: Token) -> Rule:
        rule = Rule((atom,), span=self.join(atom.span, self.at(dot)))
        self._check_depth((atom,), dot)
        return rule

    def rule(self, heads: list[Atom], _: Token, body: list[Literal], dot: Token) -> Rule:
        self._check_depth((*heads, *body), dot)
        return Rule(tuple(heads), tuple(body), span=self.join(heads[0].span, self.at(dot)))

    def subsumption(
        self, less: Atom, _: Token, more: Atom, __: Token, body: list[Literal], dot: Token
    ) -> Subsumption:
        self._check_depth((less, more, *body), dot)
        return Subsumption(less, more, tuple(body), span=self.join(less.span, self.at(dot)))

    def planned(
        self, clause: Rule | Subsumption, _: Token, orders: list[tuple[int, tuple[int, ...]]]
    ) -> Rule | Subsumption:
        return replace(clause, orders=tuple(orders))

    def order(self, version: Token, *rest: object) -> tuple[int, tuple[int, ...]]:
        numbers = next((item for item in rest if isinstance(item, list)), [])
        return self._integer(version, version.text), tuple(
            self._integer(n, n.text) for n in numbers
        )

    def _check_depth(self, nodes: tuple[Term | Literal, ...], dot: Token) -> None:
        # A clause is no deeper than it has tokens, so nearly all pass without being walked.
        if dot.position - self._last_dot > MAX_DEPTH:
            self.check_depth(nodes)
        self._last_dot = dot.position

    def check_depth(self, nodes: tuple[Term | Literal, ...]) -> None:
        """Report the first place where nodes nest too deeply."""
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
