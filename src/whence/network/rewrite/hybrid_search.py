"""Hybrid search: from the source some hops, from the destination the rest (Loo, 2006, section 8.3).

`neighbourhood.py` says how many hops on each side cost least. Zone routing is the other mixture:
every node knows the walks in its zone, and a search ends where the destination is in a zone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whence.network.rewrite.halves import (
    first_half,
    renamed,
    second_half,
    sent_back,
    unit,
    whole,
    within,
)
from whence.network.rewrite.magic_sets import Bound
from whence.network.rewrite.moved import Moved
from whence.network.rewrite.places import fresh, positive
from whence.network.rewrite.reorder import search_step
from whence.network.rewrite.selection import AggregateSelection, selections, with_selections
from whence.syntax.nodes import (
    Atom,
    Call,
    Constant,
    Constraint,
    Literal,
    Materialize,
    Negation,
    Program,
    Rule,
    Term,
    Variable,
)


def cannot(moved: Moved, best: AggregateSelection | None) -> str:
    """Return why walks cannot be put together from halves; empty if they can."""
    name = moved.paths.relation
    if best is None:
        return f"more of `{name}` is needed than the best, which meet in one place"
    if moved.paths.bounds:
        return f"a limit on `{name}` would have to hold of the whole"
    if moved.paths.index("path") is None:
        return f"`{name}` does not say how long it is, nor the way back"
    return ""


def hybrid_search(
    program: Program,
    moved: Moved,
    bound: Bound,
    radius: tuple[int, int],
    best: AggregateSelection,
) -> Program:
    """Return a program that finds walks of as many hops as the two radii together.

    A walk that is longer than the first radius is put together at the node which is so many hops
    from its source; a shorter one is found at its destination. `best` says which walks are asked
    for; where they are measured in hops, only those are followed on the way.
    """
    paths, (ahead, behind) = moved.paths, radius
    start, end = bound.by_source or "magicSrc", bound.by_destination or "magicDst"
    there, here = moved.names[paths.relation], fresh(program, f"{paths.relation}Src")
    first, second = first_half(paths, there), second_half(paths, here)
    path, source = paths.index("path"), paths.index("source")
    assert path is not None
    assert source is not None
    made: list[Rule] = []
    found: list[tuple[Sequence[Term], tuple[Literal, ...]]] = []
    if ahead:
        forward = within(search_step(paths.step, moved), there, paths, ahead)
        made += [_asked(_at_end(moved), start, 0, "td1"), replace(forward, name="td2")]
        found.append((first.args, (Atom(end, (Variable("M"),), location=0), first)))
    if behind:
        backward = renamed(paths.step, paths.relation, here, "bu2")
        made += [
            _asked(renamed(paths.base, paths.relation, here, "bu1"), end, 1, "bu1"),
            within(backward, here, paths, behind),
        ]
    if ahead and behind:
        reach = Constraint("=", Call("f_size", (first.args[path],)), Constant(ahead + 1, None))
        columns, values = whole(paths)
        found.append((columns, (first, second, reach, *values)))
    elif behind:
        made.append(_own(moved, Atom(start, (Variable("S"),), location=0), here))
    back, stored = sent_back(program, moved, found) if found else ([], [])
    used = [name for name, wanted in ((there, ahead), (here, behind)) if wanted]
    stored += [Materialize(name, None, None, ()) for name in used]
    stored += [Materialize(name, None, None, (1,)) for name in (start, end)]
    facts = [
        Rule((Atom(name, (value,), location=0),))
        for name, value in ((start, bound.source), (end, bound.destination))
        if value is not None
    ]
    chosen = [replace(best, relation=name) for name in used] if unit(paths) is not None else []
    chosen += replies(back, best)
    return _with(program, moved, [*made, *back, *facts], stored, chosen)


def zone_routing(
    program: Program, moved: Moved, bound: Bound, hops: int, best: AggregateSelection
) -> Program | str:
    """Return a program in which nodes know the walks of so many hops, and a search the rest.

    Queries are rows (source, destination) of `magicQuery`. Or why there is none: only where walks
    are measured in hops is what a zone knows the best of all.
    """
    paths = moved.paths
    if unit(paths) is None:
        return "a walk that leaves a zone may be better than those in it, unless hops are counted"
    query, inside = fresh(program, "magicQuery"), fresh(program, "inZone")
    zone, search = (fresh(program, f"{paths.relation}{part}") for part in ("Zone", "Search"))
    known = second_half(paths, zone)
    made = [
        renamed(paths.base, paths.relation, zone, "zo1"),
        within(renamed(paths.step, paths.relation, zone, "zo2"), zone, paths, hops),
        Rule((Atom(inside, (Variable("M"), Variable("D")), location=0),), (known,), name="zo3"),
        _own(moved, Atom(query, (Variable("S"), Variable("D")), location=0), zone),
        _searching(_at_end(moved), moved, search, query, inside, "zs1"),
        _searching(search_step(paths.step, moved), moved, search, query, inside, "zs2"),
    ]
    first = first_half(paths, search)
    first = replace(first, args=(*first.args, Variable("D")))
    columns, values = whole(paths)
    back, tables = sent_back(program, moved, [(columns, (first, known, *values))])
    stored = [
        *tables,
        *(Materialize(name, None, None, ()) for name in (zone, search)),
        *(Materialize(name, None, None, (1, 2)) for name in (query, inside)),
    ]
    facts = []
    if bound.source is not None and bound.destination is not None:
        facts = [Rule((Atom(query, (bound.source, bound.destination), location=0),))]
    target = len(paths.columns)
    chosen = [
        replace(best, relation=zone),
        replace(best, relation=search, group=(*best.group, target)),
        *replies(back, best),
    ]
    return _with(program, moved, [*made, *back, *facts], stored, chosen)


def replies(back: list[Rule], best: AggregateSelection) -> list[AggregateSelection]:
    """Return the selection of what goes back: its columns are those of walks, after the place."""
    names = {rule.head.relation for rule in back if rule.head.relation != best.relation}
    group = (0, *(column + 1 for column in best.group))
    return [replace(best, relation=n, group=group, column=best.column + 1) for n in names]


def _own(moved: Moved, asked: Atom, name: str) -> Rule:
    """Return the rule for walks that their source knows by itself."""
    paths = moved.paths
    source, end = paths.index("source"), paths.index("destination")
    assert source is not None
    assert end is not None
    columns: list[Term] = [Variable(f"V{i}") for i in range(len(paths.columns))]
    columns[source], columns[end] = Variable("S"), Variable("D")
    head = Atom(paths.relation, tuple(columns), location=source)
    return Rule((head,), (asked, replace(head, relation=name)), name="own")


def _searching(rule: Rule, moved: Moved, search: str, query: str, inside: str, label: str) -> Rule:
    """Return a rule of a search that carries its target T, and ends where T is in the zone."""
    there, target = moved.names[moved.paths.relation], Variable("T")
    pair = moved.columns[moved.paths.relation]
    walks = [atom for atom in positive(rule.body) if atom.relation == there]

    def carried(atom: Atom) -> Atom:
        return replace(atom, relation=search, args=(*atom.args, target))

    here = walks[0].args[pair.destination] if walks else rule.head.args[pair.source]
    body: list[Literal] = [carried(item) if item in walks else item for item in rule.body]
    if not walks:
        body.insert(0, Atom(query, (here, target), location=0))
    body.append(Negation(Atom(inside, (here, target), location=0)))
    if walks:
        body.append(Constraint("!=", here, target))
    return replace(rule, heads=(carried(rule.head),), body=tuple(body), name=label)


def _at_end(moved: Moved) -> Rule:
    """Return the rule for walks of one link that are kept at their end."""
    pair, base = moved.columns[moved.paths.relation], moved.paths.base
    name = moved.names[moved.paths.relation]
    head = replace(base.head, relation=name, location=pair.destination)
    return replace(base, heads=(head,))


def _asked(rule: Rule, magic: str, side: int, label: str) -> Rule:
    """Return a rule for walks of one link, if one end of the link is asked about."""
    node = positive(rule.body)[0].args[side]
    return replace(rule, body=(Atom(magic, (node,), location=0), *rule.body), name=label)


def _with(
    program: Program,
    moved: Moved,
    made: list[Rule],
    stored: list[Materialize],
    chosen: list[AggregateSelection],
) -> Program:
    """Return the program with other rules for its walks, which are kept at their source."""
    rules = [rule for rule in program.rules if rule.head.relation != moved.paths.relation]
    after = replace(program, rules=(*made, *rules), tables=(*program.tables, *stored))
    return with_selections(after, (*selections(program), *chosen))
