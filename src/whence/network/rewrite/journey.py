"""In which order the places of a rule are visited, so that each step knows where it goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from whence.network.rewrite.places import Place, closure, is_pure, positive, same_place
from whence.syntax.nodes import Atom, Constant, Literal, Variable, variables


@dataclass(frozen=True, slots=True)
class Site:
    """What a rule joins at one place; `event` says whether an event is among it."""

    number: int
    place: Place
    items: tuple[Literal, ...]
    event: bool


def journey(
    sites: Sequence[Site], rest: Sequence[Literal], link: Atom | None
) -> list[tuple[int, int]] | None:
    """Return the steps (from, to) that bring all sites together; None where there are none.

    An event travels, and tables stay, wherever there is a choice: then nothing is copied that
    no event asks for. Otherwise tuples go in the order of the text, or along the link of a
    link-restricted rule.
    """
    constraints = [item for item in rest if is_pure(item)]
    known = {
        site.number: closure(set(variables(*positive(site.items))), constraints) for site in sites
    }
    return _search(list(sites), known, constraints, link)


def _search(
    sites: list[Site],
    known: dict[int, set[str]],
    constraints: list[Literal],
    link: Atom | None,
) -> list[tuple[int, int]] | None:
    if len(sites) <= 1:
        return []
    for source, target in sorted(_steps(sites, known, link), key=lambda s: _rank(s[0], s[1], link)):
        merged = Site(target.number, target.place, (), source.event or target.event)
        left = [merged if s is target else s for s in sites if s is not source]
        both = closure(known[source.number] | known[target.number], constraints)
        found = _search(left, {**known, target.number: both}, constraints, link)
        if found is not None:
            return [(source.number, target.number), *found]
    return None


def _steps(
    sites: list[Site], known: dict[int, set[str]], link: Atom | None
) -> Iterator[tuple[Site, Site]]:
    for source in sites:
        for target in sites:
            if source is target or not _knows(known[source.number], target.place):
                continue
            if link is None or _along(source, target, link) or _along(target, source, link):
                yield source, target


def _knows(names: set[str], where: Place) -> bool:
    return isinstance(where, Constant) or (isinstance(where, Variable) and where.name in names)


def _along(source: Site, target: Site, link: Atom) -> bool:
    return same_place(source.place, link.args[0]) and same_place(target.place, link.args[1])


def _rank(source: Site, target: Site, link: Atom | None) -> tuple[bool, bool, int, int]:
    against = link is not None and not _along(source, target, link)
    return (against, not source.event, source.number, target.number)
