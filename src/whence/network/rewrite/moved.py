"""What is computed from the walks of one source and destination only, and so at either of them.

`spCost(@S, D, min<C>) :- path(@S, D, Z, P, C)` can as well be computed at D, where a search from
the source ends. Its answer goes back along the path that was found.
"""

from __future__ import annotations

from dataclasses import dataclass

from whence.network.rewrite.paths import Paths
from whence.network.rewrite.places import body_atoms, fresh, positive
from whence.syntax.nodes import Program, Rule, Variable


@dataclass(frozen=True, slots=True)
class Pair:
    """The columns of a relation that hold source, destination and, if any, the path."""

    source: int
    destination: int
    path: int | None


@dataclass(frozen=True, slots=True)
class Moved:
    """Relations from the walks up to the one that is asked for, and the rules that derive them."""

    paths: Paths
    asked: str
    columns: dict[str, Pair]
    rules: tuple[Rule, ...]
    names: dict[str, str]
    """What the relations are called at the destination."""


def find_moved(program: Program, paths: Paths, asked: str) -> Moved | str:
    """Return what moves when walks are searched from their source; or why nothing can."""
    source, destination = paths.index("source"), paths.index("destination")
    assert source is not None
    assert destination is not None
    columns = {paths.relation: Pair(source, destination, paths.index("path"))}
    grew = True
    while grew:
        grew = False
        for name in {rule.head.relation for rule in program.rules} - set(columns):
            pair = _pair(program, name, columns)
            if pair is not None:
                columns[name] = pair
                grew = True
    if asked not in columns or asked == paths.relation:
        return f"`{asked}` is not computed from `{paths.relation}` for one pair of nodes at a time"
    needed = _needed(program, asked, set(columns))
    for rule in program.rules:
        inner = {atom.relation for atom in body_atoms(rule.body)} & (needed - {asked})
        if inner and rule.head.relation not in needed:
            return f"rule `{rule.name or rule.head.relation}` also reads `{min(inner)}`"
    rules = tuple(rule for rule in program.rules if rule.head.relation in needed - {paths.relation})
    names = {name: fresh(program, f"{name}Dst") for name in sorted(needed)}
    return Moved(paths, asked, {n: columns[n] for n in names}, rules, names)


def _pair(program: Program, name: str, known: dict[str, Pair]) -> Pair | None:
    """Return source and destination columns of a relation if all its rules keep to one pair."""
    found: set[Pair | None] = set()
    for rule in program.rules:
        if rule.head.relation == name:
            found.add(_rule_pair(rule, known))
    if len(found) != 1:
        return None
    return found.pop()


def _rule_pair(rule: Rule, known: dict[str, Pair]) -> Pair | None:
    atoms = body_atoms(rule.body)
    if not atoms or atoms != positive(rule.body) or rule.delete:
        return None
    if any(atom.relation not in known for atom in atoms):
        return None
    ends = {
        (a.args[known[a.relation].source], a.args[known[a.relation].destination]) for a in atoms
    }
    head = rule.head
    if len(ends) != 1 or head.location is None:
        return None
    ((start, end),) = ends
    if not isinstance(start, Variable) or not isinstance(end, Variable):
        return None
    if head.args[head.location] != start or end not in head.args:
        return None
    carried = [a.args[place] for a in atoms if (place := known[a.relation].path) is not None]
    path = next((i for i, arg in enumerate(head.args) if arg in carried), None)
    return Pair(head.location, head.args.index(end), path)


def _needed(program: Program, asked: str, within: set[str]) -> set[str]:
    needed, pending = {asked}, [asked]
    while pending:
        name = pending.pop()
        for rule in program.rules:
            if rule.head.relation == name:
                new = {atom.relation for atom in body_atoms(rule.body)} & within - needed
                needed |= new
                pending.extend(new)
    return needed
