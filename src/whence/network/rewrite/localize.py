"""Localization: no body is left that joins tuples of several places (Loo, 2006, section 5.2.1).

What is joined at one place is sent on as an intermediate relation to the next place, and there it
is joined with what is there. `journey.py` decides the order of places.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from whence.diagnostics import Diagnostic, ProgramError
from whence.network.rewrite.intermediate import Intermediates
from whence.network.rewrite.journey import Site, journey
from whence.network.rewrite.places import (
    Place,
    alternatives,
    closure,
    fully_connected,
    is_pure,
    located_in_aggregate,
    negated_atom,
    place,
    positive,
    same_place,
)
from whence.network.rewrite.spread import gather_aggregates
from whence.syntax.nodes import (
    Atom,
    Literal,
    Negation,
    Program,
    Rule,
    Term,
    Variable,
    Wildcard,
    variables,
)


def localize(program: Program, *, backward: bool = True, windows: Collection[str] = ()) -> Program:
    """Return the program with every body at one place.

    With `backward` a rule that answers against the direction of its link asks for the link back,
    `#link(@D, S)`, so that nothing is sent where there is no link; links are taken to go both
    ways. Without it the answer goes back the way the question came. What expires in `windows` is
    deleted, so what is sent of it needs no lifetime of its own.
    """
    made = Intermediates(program, frozenset(windows))
    full = fully_connected(program)
    out: list[Rule] = []
    for rule in gather_aggregates(program, made):
        for one in alternatives(rule):
            out.extend(_Localizer(one, made, full, backward).rules())
    if tuple(out) == program.rules and not made.tables:
        return program
    return replace(program, rules=tuple(out), tables=(*program.tables, *made.tables.values()))


@dataclass(slots=True)
class _Localizer:
    rule: Rule
    made: Intermediates
    full: bool
    backward: bool
    out: list[Rule] = field(default_factory=list)
    back: list[Atom] = field(default_factory=list)
    """Links that the way back needs, for the body that is being built."""

    def rules(self) -> list[Rule]:
        rule = self.rule
        if not rule.body:
            return [rule]
        sites = _sites(rule.body, self.made.events)
        rest: list[Literal] = [item for item in rule.body if not isinstance(item, Atom)]
        if len(sites) <= 1:
            here = sites[0].place if sites else None
            if all(same_place(place(a), here) for a in map(negated_atom, rest) if a is not None):
                return [rule]
        link = next((atom for atom in positive(rule.body) if atom.link), None)
        if link is None and not self.full:
            raise ProgramError(_unlinked(rule))
        steps = journey(sites, rest, link if not self.full else None)
        if steps is None:
            raise ProgramError(_unreachable(rule, sites))
        standing = {site.number: site for site in sites}
        for source, target in steps:
            site, rest = self._ship(standing.pop(source), standing[target], rest, standing, link)
            standing[target] = site
        (site,) = standing.values()
        site, rest = self._deny(site, rest, link)
        self._answer(site, rest, link)
        return self.out

    def _ship(
        self,
        source: Site,
        target: Site,
        rest: list[Literal],
        standing: dict[int, Site],
        link: Atom | None,
    ) -> tuple[Site, list[Literal]]:
        """Send what `source` joined to `target`; return the new target and what is left."""
        others = [item for site in standing.values() for item in site.items]
        early, late = _apply(source, rest, target.place)
        body = (*source.items, *early)
        self._way(source.place, target.place, link)
        wanted = set(variables(self.rule.head, *others, *late)) | _name(target.place)
        atom = self._intermediate(body, source, target.place, wanted)
        event = source.event or target.event
        return Site(target.number, target.place, (atom, *target.items), event), late

    def _intermediate(
        self, body: tuple[Literal, ...], source: Site, target: Place, wanted: set[str]
    ) -> Atom:
        given = closure(set(variables(*positive(body))), body)
        columns: list[Term] = [v for n, v in variables(*body).items() if n in wanted & given]
        if isinstance(target, Variable):
            at = next(
                i
                for i, v in enumerate(columns)
                if isinstance(v, Variable) and v.name == target.name
            )
        else:
            assert target is not None
            at, columns = len(columns), [*columns, target]
        back, self.back = tuple(self.back), []
        return self.made.relation(self.rule, (*body, *back), columns, at, source.place, self.out)

    def _way(self, source: Place, target: Place, link: Atom | None) -> None:
        """Note the link back if this step goes against the link of the rule."""
        if self.full or link is None or not self.backward or same_place(source, target):
            return
        start, end = link.args[0], link.args[1]
        if same_place(source, end) and same_place(target, start):
            args = (end, start, *(Wildcard() for _ in link.args[2:]))
            self.back = [Atom(link.relation, args, location=0, link=True)]

    def _deny(
        self, site: Site, rest: list[Literal], link: Atom | None
    ) -> tuple[Site, list[Literal]]:
        """Visit the places of negations, now that their variables have values."""
        while True:
            away = [
                item
                for item in rest
                if (atom := negated_atom(item)) and not same_place(place(atom), site.place)
            ]
            if not away:
                return site, rest
            atom = negated_atom(away[0])
            assert atom is not None
            there = Site(site.number + 1, place(atom), (), False)
            here = [n for n in rest if isinstance(n, Negation) and n not in away]
            site = Site(site.number, site.place, (*site.items, *here), site.event)
            rest = [item for item in rest if item not in here]
            if not _name(there.place) <= closure(set(variables(*positive(site.items))), rest):
                raise ProgramError(_unreachable(self.rule, [site, there]))
            site, rest = self._ship(site, there, rest, {}, link)

    def _answer(self, site: Site, rest: list[Literal], link: Atom | None) -> None:
        head = self.rule.head
        if not located_in_aggregate(head):
            self._way(site.place, place(head), link)
        order = {id(item): i for i, item in enumerate(self.rule.body)}
        items = sorted((*site.items, *rest), key=lambda item: order.get(id(item), -1))
        back = [atom for atom in self.back if not _has_link(items, atom)]
        self.back = []
        joined = positive(items)
        checked = [item for item in items if not isinstance(item, Atom)]
        body = (*joined, *back, *checked)
        name = self.made.label(self.rule, self.out, last=True)
        self.out.append(replace(self.rule, body=body, name=name))


def _has_link(items: list[Literal], wanted: Atom) -> bool:
    return any(
        atom.relation == wanted.relation and atom.args[:2] == wanted.args[:2]
        for atom in positive(items)
    )


def _sites(body: tuple[Literal, ...], events: set[str]) -> list[Site]:
    """Return the atoms of a body, together where they are at one place, as the text has them."""
    sites: list[Site] = []
    anywhere: list[Atom] = []
    for atom in positive(body):
        here = place(atom)
        if here is None:
            anywhere.append(atom)
            continue
        event = atom.relation in events
        for i, site in enumerate(sites):
            if same_place(site.place, here):
                items = (*site.items, atom)
                sites[i] = Site(site.number, site.place, items, site.event or event)
                break
        else:
            sites.append(Site(len(sites), here, (atom,), event))
    if anywhere and sites:
        first = sites[0]
        sites[0] = Site(first.number, first.place, (*anywhere, *first.items), first.event)
    return sites


def _apply(source: Site, rest: list[Literal], target: Place) -> tuple[list[Literal], list[Literal]]:
    """Return the literals to check before leaving a place, and the others.

    Filters go early, as they spare messages; equations stay until they are needed, so that what
    is sent is what is stored and several rules can share it.
    """
    bound = set(variables(*positive(source.items)))
    early: list[Literal] = []
    if not _name(target) <= bound:
        needed = closure(bound, filter(is_pure, rest))
        early = [i for i in rest if is_pure(i) and set(variables(i)) <= needed and _is_free(i)]
        bound = needed
    for item in rest:
        if item in early or not is_pure(item) or not set(variables(item)) <= bound:
            continue
        atom = negated_atom(item)
        if atom is None or same_place(place(atom), source.place):
            early.append(item)
    return early, [item for item in rest if item not in early]


def _is_free(literal: Literal) -> bool:
    return negated_atom(literal) is None


def _name(term: Place) -> set[str]:
    return {term.name} if isinstance(term, Variable) else set()


def _unlinked(rule: Rule) -> Diagnostic:
    return Diagnostic(
        "W1380",
        f"rule `{rule.name or rule.head.relation}` joins tuples of several nodes without a link",
        rule.span,
        notes=("tuples are sent along links only",),
        hint="join them by a `#link`, or say `fullyConnected.` if every node can reach every other",
    )


def _unreachable(rule: Rule, sites: list[Site]) -> Diagnostic:
    names = ", ".join(f"`@{s.place.name if isinstance(s.place, Variable) else '?'}`" for s in sites)
    return Diagnostic(
        "W1381",
        f"rule `{rule.name or rule.head.relation}` joins tuples at {names}, "
        "and no tuple of one place names the other",
        rule.span,
        hint="a tuple can be sent to an address that stands in a tuple it is joined with",
    )
