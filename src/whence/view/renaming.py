"""A program with other names for some of its relations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar, cast

from whence.syntax.nodes import Atom, Literal, Program, Term, rebuild, walk

_NodeT = TypeVar("_NodeT", bound=Term | Literal)


def renamed(program: Program, names: Mapping[str, str]) -> Program:
    """Return the program in which these relations have other names.

    >>> from whence.syntax.souffle import parse
    >>> print(renamed(parse(".decl a(x: number)  a(2) :- a(1)."), {"a": "b"}))
    .decl b(x: number)
    <BLANKLINE>
    b(2) :- b(1).
    """

    def one(node: _NodeT) -> _NodeT:
        if not any(isinstance(n, Atom) and n.relation in names for n in walk(node)):
            return node
        again = rebuild(node, one)
        if isinstance(again, Atom) and again.relation in names:
            again = replace(again, relation=names[again.relation])
        return cast("_NodeT", again)

    def name(relation: str) -> str:
        return names.get(relation, relation)

    return replace(
        program,
        relations=tuple(replace(d, name=name(d.name)) for d in program.relations),
        rules=tuple(
            replace(r, heads=tuple(map(one, r.heads)), body=tuple(map(one, r.body)))
            for r in program.rules
        ),
        subsumptions=tuple(
            replace(
                s,
                dominated=one(s.dominated),
                dominating=one(s.dominating),
                body=tuple(map(one, s.body)),
            )
            for s in program.subsumptions
        ),
        directives=tuple(replace(d, relation=name(d.relation)) for d in program.directives),
    )
