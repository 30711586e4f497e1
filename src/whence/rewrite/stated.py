"""The annotations of facts in a program's text, told from their columns."""

from __future__ import annotations

from dataclasses import replace

from whence.syntax.nodes import Constant, Program, RelationDecl, Rule


def state_annotations(program: Program) -> Program:
    """Take the last argument of a fact that has one more than an `@prov` relation has columns.

    It is the fact's annotation from then on, and the fact is as wide as its relation.

    >>> from whence.syntax.souffle import parse
    >>> program = state_annotations(parse(".decl edge(x: number, @prov)  edge(1, 0.5). edge(2)."))
    >>> [(len(rule.head.args), rule.annotation and rule.annotation.value) for rule in program.rules]
    [(1, 0.5), (1, None)]
    """
    declared = {d.name: d for d in program.relations if d.provenance is not None}
    if not declared:
        return program
    return replace(program, rules=tuple(_stated(rule, declared) for rule in program.rules))


def _stated(rule: Rule, declared: dict[str, RelationDecl]) -> Rule:
    if rule.body or rule.annotation is not None or len(rule.heads) != 1:
        return rule
    head = rule.head
    decl = declared.get(head.relation)
    if decl is None or len(head.args) != decl.arity + 1:
        return rule
    *args, last = head.args
    if not isinstance(last, Constant):
        return rule
    return replace(rule, heads=(replace(head, args=tuple(args)),), annotation=last)
