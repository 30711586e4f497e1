"""Which relations of a translation are recursive with each other."""

from __future__ import annotations

from collections.abc import Sequence

from whence.syntax.nodes import Atom, Rule, walk


def recursive_with(rules: Sequence[Rule]) -> dict[str, frozenset[str]]:
    """Return, for each relation that is recursive, those that it is recursive with."""
    reads: dict[str, set[str]] = {}
    for rule in rules:
        found = reads.setdefault(rule.head.relation, set())
        for literal in rule.body:
            found.update(node.relation for node in walk(literal) if isinstance(node, Atom))
        for term in rule.head.args:
            found.update(node.relation for node in walk(term) if isinstance(node, Atom))
    reached = {name: _reached(name, reads) for name in reads}
    together = {
        name: frozenset(other for other in found if name in reached.get(other, ()))
        for name, found in reached.items()
    }
    return {name: others for name, others in together.items() if others}


def _reached(start: str, reads: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(reads[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(reads.get(name, ()))
    return seen
