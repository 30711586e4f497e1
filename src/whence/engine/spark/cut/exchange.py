"""Sites for rules whose tuples are shipped: those that want the fewest copies of what is derived.

A copy by a column costs each tuple once more, one at every task costs it once for each task. Rules
change their minds, one after the other, while that makes it cheaper.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from whence.engine.spark.cut.known import Known
from whence.engine.spark.cut.reading import Anchor, Statement
from whence.engine.spark.cut.sites import Site, site_at, site_whole
from whence.engine.spark.model import ALONE, EVERYWHERE, By, Placement
from whence.syntax.nodes import Nil, Variable

_PASSES = 4
_STARTS = 8
_TRIED = 1000
"""Rules over all starts: with many rules there are fewer."""

_GIVEN = 0.05
"""What a copy of a relation from outside costs beside one that is shipped round by round."""
_TOO_MUCH = 1000.0
_NOT_AT_HOME = 0.5
_ALL_SEE_ALL = 0.4
"""What a site costs at which every task looks at every new tuple."""
_ONE_TASK = 3.0
"""What a site costs at which one task does all the work."""

Copies = Counter[tuple[str, Placement]]


def choose_sites(
    known: Known,
    rules: Sequence[Statement],
    inside: Collection[str],
    own: Collection[str],
    wanted: Mapping[str, Iterable[Placement]],
) -> list[Site]:
    """Return a site for each rule; `own` are the relations they derive, `inside` the group's."""
    choosing = _Choosing(known, inside, own, wanted)
    options = [choosing.options(rule) for rule in rules]
    count = min(_STARTS, _TRIED // max(1, len(rules)))
    starts: list[str | None] = [None, *sorted(own)[:count]]
    found = [choosing.descend(options, start) for start in starts]
    return min(found, key=lambda one: one[0])[1]


@dataclass(frozen=True, slots=True)
class _Choosing:
    known: Known
    inside: Collection[str]
    own: Collection[str]
    wanted: Mapping[str, Iterable[Placement]]

    def options(self, rule: Statement) -> list[Site]:
        """Return the sites that a rule can have."""
        found: list[Site] = []
        for anchor in rule.anchors:
            site = site_at(rule, anchor, self._places(rule, anchor))
            if site is not None and not (site.guarded and isinstance(anchor, Nil)):
                found.append(site)
        if not found:
            found.append(site_whole(rule, ALONE))
        return found

    def _places(self, rule: Statement, anchor: Anchor) -> tuple[Placement, ...]:
        places: list[Placement] = []
        for reading in rule.readings:
            columns = [By(c) for c in reading.columns(anchor)]
            allowed = [
                p
                for p in columns
                if reading.relation not in self.inside or self.known.allows(reading.relation, p)
            ]
            places.append(allowed[0] if allowed else EVERYWHERE)
        return tuple(places)

    def descend(self, options: Sequence[list[Site]], start: str | None) -> tuple[float, list[Site]]:
        """Return the sites that rules settle for, when this relation is had everywhere first."""
        copies: Copies = Counter((n, p) for n, places in self.wanted.items() for p in places)
        first = [] if start is None else [(start, EVERYWHERE)]
        chosen: list[Site | None] = [None] * len(options)
        copies.update(first)
        for turn in range(_PASSES):
            before = list(chosen)
            if turn == 1:
                copies.subtract(first)
            for place, sites in enumerate(options):
                current = chosen[place]
                if current is not None:
                    copies.subtract(current.demands())
                tried = [self._thrifty(site, copies) for site in sites]
                best = min(tried, key=lambda site: self._more(site, copies))
                copies.update(best.demands())
                chosen[place] = best
            if before == chosen:
                break
        settled = [site for site in chosen if site is not None]
        return self._cost(settled, copies), settled

    def _thrifty(self, site: Site, had: Copies) -> Site:
        """Return the site with copies that are had anyway in place of more, where that will do."""
        places = list(site.places)
        for at, reading in enumerate(site.statement.readings):
            name, place = reading.relation, places[at]
            if place is EVERYWHERE or had[name, place]:
                continue
            if had[name, EVERYWHERE]:
                instead = [*places[:at], EVERYWHERE, *places[at + 1 :]]
                if site.anchor is None:
                    continue
                changed = site_at(site.statement, site.anchor, tuple(instead))
                if changed is not None and changed.guarded == site.guarded:
                    places = instead
        if site.anchor is None or tuple(places) == site.places:
            return site
        return Site(site.statement, site.anchor, tuple(places), site.guarded)

    def _copy(self, name: str, place: Placement) -> float:
        """Return what a copy costs."""
        many = self.known.tasks if place is EVERYWHERE else 1
        awkward = isinstance(place, By) and self.known.is_awkward(name, place.column)
        if name in self.inside:
            return many + 0.01 * awkward
        if place is EVERYWHERE and not self.known.fits(name):
            return _TOO_MUCH
        return _GIVEN * many + 0.01 * awkward

    def _more(self, site: Site, had: Copies) -> float:
        """Return what a site costs beside what is had."""
        new = dict.fromkeys(copy for copy in site.demands() if had[copy] <= 0)
        return sum(self._copy(*copy) for copy in new) + self._unease(site, had)

    def _unease(self, site: Site, had: Copies) -> float:
        """Return what the place of a site itself costs: work at one task, and tuples on the way."""
        cost = 0.0 if isinstance(site.anchor, Variable) else _ONE_TASK
        name = site.statement.rule.head.relation
        homes = [By(c) for c, term in enumerate(site.statement.head) if term == site.anchor]
        known = any(had[name, By(c)] > 0 for c in range(len(site.statement.head)))
        landing = any(had[name, home] > 0 for home in homes) or (bool(homes) and not known)
        cost += 0.0 if landing else _NOT_AT_HOME
        new = [p for n, p in site.demands() if n in self.own]
        return cost + (_ALL_SEE_ALL if new and not any(isinstance(p, By) for p in new) else 0.0)

    def _cost(self, sites: Sequence[Site], copies: Copies) -> float:
        had = [copy for copy, count in copies.items() if count > 0]
        return sum(self._copy(*copy) for copy in had) + sum(self._unease(s, copies) for s in sites)
