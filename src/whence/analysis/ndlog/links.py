"""Communication along links: rules over two nodes that are neighbours.

Loo 2006, definitions 2.3 to 2.5. A program that declares `fullyConnected.` is not restricted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from whence.analysis.ndlog.locations import place, places
from whence.analysis.ndlog.state import atoms, positive_atoms
from whence.diagnostics import Diagnostic
from whence.syntax.ndlog_builder import FULL_NETWORK
from whence.syntax.ndlog_printer import print_ndlog_term
from whence.syntax.nodes import Atom, Constant, Constraint, Program, Rule, Term, Variable

Place = Variable | Constant


def fully_connected(program: Program) -> bool:
    """Say whether a program declares that every node can send to every other."""
    return any((p.key, p.value) == FULL_NETWORK for p in program.pragmas)


def is_local(rule: Rule) -> bool:
    """Say whether all predicates of a rule are in one place (definition 2.2)."""
    same = _aliases(rule)
    return len({same.get(here, here) for here in places(rule)}) <= 1


def check_links(program: Program) -> list[Diagnostic]:
    """Report rules that would send to nodes which no link leads to."""
    found: list[Diagnostic] = []
    for rule in program.rules:
        for atom in atoms(rule):
            if atom.link and (atom.location != 0 or len(atom.args) < 2):
                found.append(_shape(atom))
    if fully_connected(program) or found:
        return found
    for rule in program.rules:
        if rule.body and not is_local(rule):
            found += _restricted(rule)
    if not found:
        found += _one_way(program)
    return found


def _restricted(rule: Rule) -> list[Diagnostic]:
    links = [atom for atom in positive_atoms(rule) if atom.link]
    if len(links) > 1:
        return [
            Diagnostic(
                "W1316",
                "a rule over two nodes has more than one link",
                links[1].span,
                "another link",
                hint="go one link at a time: split the rule in two",
            )
        ]
    if not links:
        return [_no_link(rule)]
    same = _aliases(rule)
    ends = {_known(_as_place(term), same) for term in links[0].args[:2]}
    for here, atom in places(rule).items():
        if same.get(here, here) not in ends:
            assert atom.location is not None
            source, target = (print_ndlog_term(term) for term in links[0].args[:2])
            return [
                Diagnostic(
                    "W1315",
                    f"`{atom.relation}` is at neither end of the link",
                    atom.args[atom.location].span,
                    f"neither `{source}` nor `{target}`",
                    hint="send along one link at a time, or declare `fullyConnected.`",
                )
            ]
    return []


def _no_link(rule: Rule) -> Diagnostic:
    (one, _), (two, atom), *_ = places(rule).items()
    a, b = print_ndlog_term(one), print_ndlog_term(two)
    plain = next((x.relation for x in positive_atoms(rule) if x.relation.startswith("link")), "")
    hint = f"join with the link between them, `#link(@{a}, {b}, …)`, or declare `fullyConnected.`"
    if plain:
        hint = f"if `{plain}` is the link between them, write `#{plain}`"
    return Diagnostic(
        "W1314",
        f"this rule is over the nodes `{a}` and `{b}`, and no link joins them",
        atom.span,
        "another node",
        hint=hint,
    )


def _shape(atom: Atom) -> Diagnostic:
    return Diagnostic(
        "W1317",
        f"the link `#{atom.relation}` does not begin with its two ends",
        atom.span,
        hint=f"a link is kept at its source: `#{atom.relation}(@Source, Destination, …)`",
    )


# ── links that are needed both ways


def reverse_links(program: Program) -> Iterator[tuple[Rule, Atom]]:
    """Yield the rules that answer against the direction of their link, and the link.

    The source of such a link sends what it has to the destination, which joins it and sends what
    it derives back; so there must be a link the other way (Loo 2006, section 5.3).
    """
    if fully_connected(program):
        return
    for rule in program.rules:
        links = [atom for atom in positive_atoms(rule) if atom.link]
        if not rule.body or is_local(rule) or len(links) != 1:
            continue
        same = _aliases(rule)
        source, target = (_known(_as_place(term), same) for term in links[0].args[:2])
        body = {_known(place(a), same) for a in positive_atoms(rule) if a is not links[0]}
        if target in body and _known(place(rule.head), same) == source:
            yield rule, links[0]


def one_way_links(
    program: Program, links: Mapping[str, Iterable[Sequence[object]]]
) -> Iterator[tuple[str, Sequence[object], Rule]]:
    """Yield the links without one back along which a rule answers, by relation.

    `links` are the rows of link relations, each with its source and destination first.
    """
    needed: dict[str, Rule] = {}
    for rule, link in reverse_links(program):
        needed.setdefault(link.relation, rule)
    for relation, rule in needed.items():
        rows = list(links.get(relation, ()))
        ends = {(row[0], row[1]) for row in rows}
        yield from ((relation, row, rule) for row in rows if (row[1], row[0]) not in ends)


def _one_way(program: Program) -> list[Diagnostic]:
    facts: dict[str, list[Sequence[object]]] = {}
    spans: dict[tuple[str, object, object], Atom] = {}
    for fact in (rule.head for rule in program.rules if not rule.body):
        values = [_value(term) for term in fact.args]
        if len(values) > 1:
            facts.setdefault(fact.relation, []).append(values)
            spans[fact.relation, values[0], values[1]] = fact
    found: list[Diagnostic] = []
    for relation, row, rule in one_way_links(program, facts):
        fact = spans[relation, row[0], row[1]]
        name = f"rule `{rule.name}`" if rule.name else f"the rule in line {rule.span.line}"
        a, b = (print_ndlog_term(term) for term in fact.args[:2])
        found.append(
            Diagnostic(
                "W1318",
                f"there is a link from `{a}` to `{b}` and none back",
                fact.span,
                notes=(f"{name} sends answers back along it",),
                hint="give the link in both directions, or declare `fullyConnected.`",
            )
        )
    return found


def _value(term: Term) -> object:
    return term.value if isinstance(term, Constant) else term


def _as_place(term: Term) -> Place | None:
    return term if isinstance(term, Variable | Constant) else None


def _known(here: Place | None, same: dict[Place, Place]) -> Place | None:
    return None if here is None else same.get(here, here)


def _aliases(rule: Rule) -> dict[Place, Place]:
    """Return one name for each of the places that a rule says are equal."""
    same: dict[Place, Place] = {}

    def root(here: Place) -> Place:
        while here in same:
            here = same[here]
        return here

    for literal in rule.body:
        match literal:
            case Constraint(
                op="=", left=Variable() | Constant() as left, right=Variable() | Constant() as right
            ):
                if root(left) != root(right):
                    same[root(left)] = root(right)
            case _:
                pass
    return {here: root(here) for here in list(same)}
