"""Terms in place of variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whence.syntax.nodes import Literal, Rule, Term, Variable, rebuild


def substituted(rule: Rule, terms: Mapping[str, Term]) -> Rule:
    """Return a rule with terms in place of variables, in its body and head."""

    def put(node: Term | Literal) -> Term | Literal:
        if isinstance(node, Variable):
            return terms.get(node.name, node)
        return rebuild(node, put)

    heads = tuple(rebuild(head, put) for head in rule.heads)
    return replace(rule, heads=heads, body=tuple(rebuild(item, put) for item in rule.body))
