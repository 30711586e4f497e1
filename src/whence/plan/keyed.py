"""Which subsumptions keep one best row per key, so that rows can be improved in place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whence.plan.nodes import Exists, Keyed, Probe, RulePlan
from whence.syntax.nodes import Atom, Constraint, Kind, Subsumption, Variable

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ORDERED = (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT)


def recognise_keyed(subsumption: Subsumption) -> Keyed | None:
    """Return the key and the order when the subsumption is `better value wins`, else None.

    It is when both atoms share their variables on the key columns, exactly one other column is
    compared, and the columns that are neither do not matter (then the order must not be strict,
    or equally good rows would stay side by side).
    """
    dominated, dominating = subsumption.dominated, subsumption.dominating
    if len(subsumption.body) != 1 or not isinstance(subsumption.body[0], Constraint):
        return None
    test = subsumption.body[0]
    if test.op not in _FLIPPED or test.kind not in _ORDERED:
        return None
    if not _distinct_variables(dominated) or not _distinct_variables(dominating):
        return None
    worse = {a.name: i for i, a in enumerate(dominated.args) if isinstance(a, Variable)}
    better = {a.name: i for i, a in enumerate(dominating.args) if isinstance(a, Variable)}
    if any(better[name] != i for name, i in worse.items() if name in better):
        return None
    key = tuple(i for name, i in sorted(worse.items(), key=lambda e: e[1]) if name in better)
    left, right, op = test.left, test.right, test.op
    if not isinstance(left, Variable) or not isinstance(right, Variable):
        return None
    if left.name in worse and right.name in better:
        left, right, op = right, left, _FLIPPED[op]
    if left.name not in better or right.name not in worse:
        return None
    value = better[left.name]
    if value in key or worse[right.name] != value:
        return None
    payload = len(dominated.args) - len(key) - 1
    if payload and op in ("<", ">"):
        return None
    return Keyed(key, value, test.kind, greatest=op in (">", ">="))


def _distinct_variables(atom: Atom) -> bool:
    names = [a.name for a in atom.args if isinstance(a, Variable)]
    return len(names) == len(atom.args) == len(set(names))


def probes_only_keys(relation: str, keyed: Keyed, rules: Iterable[RulePlan]) -> bool:
    """Say whether these rules need indexes of the relation only on columns that never change."""
    stable = set(keyed.key)
    return all(
        {column for column, _ in step.key} <= stable
        for rule in rules
        for step in rule.steps
        if isinstance(step, Probe | Exists) and step.relation == relation
    )


def keyed_relations(
    subsumptions: Sequence[Subsumption], rules: Sequence[RulePlan]
) -> dict[str, Keyed]:
    """Return the relations that can be kept as keyed: one recognised subsumption each."""
    found: dict[str, Keyed] = {}
    counts: dict[str, int] = {}
    for subsumption in subsumptions:
        name = subsumption.dominated.relation
        counts[name] = counts.get(name, 0) + 1
        keyed = recognise_keyed(subsumption)
        if keyed is not None and probes_only_keys(name, keyed, rules):
            found[name] = keyed
    return {name: keyed for name, keyed in found.items() if counts[name] == 1}
