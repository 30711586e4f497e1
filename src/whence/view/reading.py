"""Which relations a stratum is computed from."""

from __future__ import annotations

from whence.plan.nodes import Stratum
from whence.syntax.nodes import Atom, walk


def reads(stratum: Stratum) -> frozenset[str]:
    """Return the relations that the stratum is computed from, in aggregates too."""
    literals = [literal for rule in stratum.rules for literal in rule.body]
    literals += [literal for s in stratum.subsumptions for literal in s.body]
    return frozenset(
        node.relation for literal in literals for node in walk(literal) if isinstance(node, Atom)
    )
