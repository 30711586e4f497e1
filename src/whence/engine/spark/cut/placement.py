"""Where the tuples of a group are: from what is wanted of it down to what it reads.

A relation that is wanted at a place is derived there if each of its rules has a site at which all
that it reads can be had. Rules of a recursion must agree on one column for each of its relations.
What cannot be derived where it is wanted is shipped, if the group may ship.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from whence.engine.spark.cut.exchange import choose_sites
from whence.engine.spark.cut.known import Known
from whence.engine.spark.cut.reading import Anchor, Reading, Statement
from whence.engine.spark.cut.sites import Draft, Shipment, Site, site_at, site_whole
from whence.engine.spark.cut.together import why_unshipped
from whence.engine.spark.model import ALONE, EVERYWHERE, SOMEWHERE, By, Placement
from whence.plan.nodes import Stratum
from whence.syntax.nodes import Nil, Variable

_TRIALS = 2000
"""Columns that are tried for the relations of one recursion."""

_ASSIGNMENTS = 16
"""Ways to place a recursion that are kept."""


def place(
    known: Known, strata: Sequence[Stratum], outputs: Collection[str], *, ships: bool
) -> Draft | None:
    """Return how the strata can be derived together, None where they cannot without shipping."""
    return _Placing(known, strata, ships).draft(outputs)


class _Placing:
    """The copies that are wanted so far, top down, and what recursions leave open."""

    def __init__(self, known: Known, strata: Sequence[Stratum], ships: bool) -> None:
        self.known = known
        self.strata = strata
        self.ships = ships
        self.inside = {name: s.number for s in strata for name in s.relations}
        self.found = Draft()
        self.wanted: dict[str, dict[Placement, None]] = {}
        self.trial: Mapping[str, Placement] = {}
        self.viable: dict[int, list[dict[str, Placement]]] = {}
        self.memo: dict[tuple[str, Placement], bool] = {}
        for stratum in strata:
            if stratum.recursive:
                self.viable[stratum.number] = self._assignments(stratum)

    def draft(self, outputs: Collection[str]) -> Draft | None:
        for stratum in reversed(self.strata):
            if stratum.recursive:
                placed = self._place_recursion(stratum, outputs)
            else:
                (name,) = stratum.relations
                placed = self._place_relation(name, outputs)
            if not placed and not (self.ships and self._ship(stratum, outputs)):
                return None
        for name, places in self.wanted.items():
            if name not in self.inside:
                self.found.reads.update(((name, p), None) for p in places)
        return self.found

    # ── what can be had ──

    def _possible(self, name: str, placement: Placement) -> bool:
        """Say whether a copy can be had, as far as is decided."""
        if name not in self.inside:
            return placement is not EVERYWHERE or self.known.fits(name)
        if name in self.trial:
            return self.trial[name] == placement
        if not self.known.allows(name, placement):
            return False
        if self.ships:
            return True
        ways = self.viable.get(self.inside[name])
        if ways is not None:
            return any(way[name] == placement for way in ways)
        key = (name, placement)
        if key not in self.memo:
            self.memo[key] = self._derivable(name, placement)
        return self.memo[key]

    def _derivable(self, name: str, placement: Placement) -> bool:
        """Say whether a relation that is not recursive can be derived where it is wanted."""
        if not self.known.allows(name, placement):
            return False
        # Every task would do all of the work, or one.
        if placement in (EVERYWHERE, ALONE) and not self._is_simple(name):
            return False
        if placement is EVERYWHERE and name in self.known.given and not self.known.fits(name):
            return False
        sites = [*self._sites(name, placement), *self._subsumption_sites(name, placement)]
        return all(site is not None for site in sites)

    def _is_simple(self, name: str) -> bool:
        rules = self.known.rules.get(name, ())
        return all(sum(r.positive for r in rule.readings) <= 1 for rule in rules)

    def _sites(self, name: str, placement: Placement) -> list[Site | None]:
        return [self._site(rule, placement) for rule in self.known.rules.get(name, ())]

    def _subsumption_sites(self, name: str, placement: Placement) -> list[Site | None]:
        found: list[Site | None] = []
        for _, statement in self.known.subsumptions.get(name, ()):
            own = (placement, placement)
            rest = statement.readings[2:]
            if isinstance(placement, By):
                anchor = statement.readings[0].terms[placement.column]
                assert isinstance(anchor, Variable)
                places = self._places(rest, anchor)
                found.append(
                    Site(statement, anchor, (*own, *places)) if places is not None else None
                )
            else:
                whole = all(self._possible(r.relation, placement) for r in rest)
                places = (*own, *(placement for _ in rest))
                found.append(Site(statement, None, places) if whole else None)
        return found

    def _site(self, statement: Statement, placement: Placement) -> Site | None:
        """Return a site whose heads land where they are wanted."""
        if placement in (EVERYWHERE, ALONE):
            had = all(self._possible(r.relation, placement) for r in statement.readings)
            return site_whole(statement, placement) if had else None
        if isinstance(placement, By):
            anchor = statement.head[placement.column]
            return self._site_at(statement, anchor) if isinstance(anchor, Anchor) else None
        sites = [
            site
            for anchor in statement.anchors
            if (site := self._site_at(statement, anchor)) is not None
        ]
        return min(sites, key=self._burden) if sites else self._site(statement, ALONE)

    def _site_at(self, statement: Statement, anchor: Anchor) -> Site | None:
        places = self._places(statement.readings, anchor)
        found = None if places is None else site_at(statement, anchor, places)
        if found is not None and found.guarded and isinstance(anchor, Nil):
            return None
        return found

    def _places(self, readings: Sequence[Reading], anchor: Anchor) -> tuple[Placement, ...] | None:
        places: list[Placement] = []
        for reading in readings:
            had = self.wanted.get(reading.relation, {})
            options: list[Placement] = [By(c) for c in reading.columns(anchor)]
            options.sort(key=lambda p: p not in had)
            options.append(EVERYWHERE)
            chosen = next((p for p in options if self._possible(reading.relation, p)), None)
            if chosen is None:
                return None
            places.append(chosen)
        return tuple(places)

    def _burden(self, site: Site) -> float:
        """Return about how much it is to have what a site reads."""
        total = 0.0
        for name, placement in site.demands():
            weight = self.known.bytes(name) or (1000 if name in self.inside else 100)
            total += weight * self.known.tasks if placement is EVERYWHERE else weight
            if isinstance(placement, By) and self.known.is_awkward(name, placement.column):
                total += 1
        return total + (0 if isinstance(site.anchor, Variable) else 100)

    # ── recursion ──

    def _assignments(self, stratum: Stratum) -> list[dict[str, Placement]]:
        """Return columns for all relations of a recursion under which nothing is shipped."""
        names = _by_nearness(stratum, self.known)
        order = {name: place for place, name in enumerate(names)}
        due: list[list[Statement]] = [[] for _ in names]
        for name in names:
            for rule in self.known.rules.get(name, ()):
                met = [order[r.relation] for r in rule.readings if r.relation in order]
                due[max(order[name], *met, 0)].append(rule)
        found: list[tuple[float, dict[str, Placement]]] = []
        pending: list[tuple[Placement, ...]] = [()]
        trials = 0
        while pending and trials < _TRIALS and len(found) < _ASSIGNMENTS:
            chosen = pending.pop()
            if len(chosen) == len(names):
                way = dict(zip(names, chosen, strict=True))
                found.append((self._cost(way), way))
                continue
            name = names[len(chosen)]
            for column in reversed(range(self.known.arity(name))):
                trials += 1
                self.trial = dict(zip(names, (*chosen, By(column)), strict=False))
                if self._agree(name, due[len(chosen)]):
                    pending.append((*chosen, By(column)))
        self.trial = {}
        return [way for _, way in sorted(found, key=lambda f: f[0])]

    def _agree(self, name: str, rules: Sequence[Statement]) -> bool:
        placement = self.trial[name]
        if not self.known.allows(name, placement):
            return False
        return all(
            self._site(rule, self.trial[rule.rule.head.relation]) is not None for rule in rules
        )

    def _cost(self, way: Mapping[str, Placement]) -> float:
        self.trial = way
        sites = [site for name, p in way.items() for site in self._sites(name, p)]
        return sum(self._burden(site) for site in sites if site is not None)

    def _place_recursion(self, stratum: Stratum, outputs: Collection[str]) -> bool:
        for way in self.viable[stratum.number]:
            if all(self.wanted.get(n, {}).keys() <= {p} for n, p in way.items()):
                break
        else:
            return False
        self.trial = way
        try:
            for name, placement in way.items():
                if not self._derive(name, placement):
                    return False
                if name in outputs:
                    self.found.writes[name] = placement
        finally:
            self.trial = {}
        return True

    # ── what is wanted ──

    def _place_relation(self, name: str, outputs: Collection[str]) -> bool:
        wanted = [*self.wanted.get(name, ())]
        if not wanted:
            if name not in outputs:
                return True
            placement = self._unwanted(name)
            if placement is None:
                return False
            wanted = [placement]
        if self.ships:
            once = len(wanted) == 1 or self._is_simple(name)
            if not once or not all(self._derivable(name, p) for p in wanted):
                return False
        if not all(self._derive(name, p) for p in wanted):
            return False
        if name in outputs:
            self.found.writes[name] = next((p for p in wanted if isinstance(p, By)), wanted[0])
        return True

    def _unwanted(self, name: str) -> Placement | None:
        """Return a place for a relation that the group only writes."""
        options: list[tuple[float, Placement]] = []
        for column in range(self.known.arity(name)):
            if self._derivable(name, By(column)):
                sites = self._sites(name, By(column))
                options.append((sum(self._burden(s) for s in sites if s is not None), By(column)))
        if options:
            return min(options, key=lambda option: option[0])[1]
        spread = any(rule.anchors for rule in self.known.rules.get(name, ()))
        if spread and not self.known.subsumptions.get(name):
            return SOMEWHERE if self._derivable(name, SOMEWHERE) else None
        return ALONE if self._derivable(name, ALONE) else None

    def _derive(self, name: str, placement: Placement) -> bool:
        """Have a copy derived where it is, and want what that reads."""
        sites: list[Site] = []
        for rule in self.known.rules.get(name, ()):
            site = self._site(rule, placement)
            if site is None or not self._want(site):
                return False
            sites.append(site)
        subsumed: list[Site] = []
        for found in self._subsumption_sites(name, placement):
            if found is None or not self._want(found):
                return False
            subsumed.append(found)
        self.found.local[name, placement] = tuple(sites)
        self.found.subsumed[name, placement] = tuple(subsumed)
        return True

    def _want(self, site: Site) -> bool:
        for name, placement in site.demands():
            if name in self.trial:
                continue
            self.wanted.setdefault(name, {})[placement] = None
            number = self.inside.get(name, -1)
            if number in self.viable and not self.ships:
                ways = [way for way in self.viable[number] if way[name] == placement]
                if not ways:
                    return False
                if len(ways) < len(self.viable[number]):
                    self.viable[number] = ways
                    self.memo.clear()
        return True

    # ── shipping ──

    def _ship(self, stratum: Stratum, outputs: Collection[str]) -> bool:
        """Derive relations anywhere, and ship them where they are wanted."""
        if why_unshipped(self.known, stratum) is not None:
            return False
        own = [n for n in stratum.relations if self._is_alive(n, stratum, outputs)]
        rules = [rule for name in own for rule in self.known.rules.get(name, ())]
        sites = choose_sites(self.known, rules, set(self.inside), set(own), self.wanted)
        for site in sites:
            for name, placement in site.demands():
                self.wanted.setdefault(name, {})[placement] = None
        for name in own:
            mine = tuple(s for s in sites if s.statement.rule.head.relation == name)
            if not self._settle(name, mine, outputs):
                return False
        return True

    def _is_alive(self, name: str, stratum: Stratum, outputs: Collection[str]) -> bool:
        return stratum.recursive or name in outputs or bool(self.wanted.get(name))

    def _settle(self, name: str, sites: tuple[Site, ...], outputs: Collection[str]) -> bool:
        """Say where a relation is at home, and whether it has to be shipped there."""
        wanted = [*self.wanted.get(name, ())]
        home = self._home(name, sites, wanted)
        copies = tuple(p for p in wanted if p != home)
        free = not wanted and not self.known.subsumptions.get(name)
        if not copies and all(site.lands(home) for site in sites):
            self.found.local[name, home] = sites
        elif free:
            home = SOMEWHERE
            self.found.local[name, home] = sites
        else:
            self.found.shipped[name] = Shipment(sites, home, copies)
        for placement in (home, *copies):
            subsumed = self._subsumption_sites(name, placement)
            for site in subsumed:
                if site is None or not self._want(site):
                    return False
            self.found.subsumed[name, placement] = tuple(s for s in subsumed if s is not None)
        if name in outputs:
            self.found.writes[name] = home
        return True

    def _home(self, name: str, sites: Sequence[Site], wanted: Sequence[Placement]) -> Placement:
        options: Sequence[Placement] = [p for p in wanted if isinstance(p, By)]
        if not options and ALONE in wanted:
            return ALONE
        if not options:
            columns = map(By, range(self.known.arity(name)))
            options = [p for p in columns if self.known.allows(name, p)]
        if not options:
            return ALONE
        return min(
            options,
            key=lambda p: (
                -sum(site.lands(p) for site in sites),
                isinstance(p, By) and self.known.is_awkward(name, p.column),
            ),
        )


def _by_nearness(stratum: Stratum, known: Known) -> list[str]:
    """Order the relations of a recursion so that each has a rule with one before it."""
    near: dict[str, dict[str, None]] = {name: {} for name in stratum.relations}
    for name in stratum.relations:
        for rule in known.rules.get(name, ()):
            for reading in rule.readings:
                if reading.relation in near:
                    near[name][reading.relation] = None
                    near[reading.relation][name] = None
    order: dict[str, None] = {}
    pending = [stratum.relations[0]]
    while pending:
        name = pending.pop(0)
        if name not in order:
            order[name] = None
            pending.extend(near[name])
    return [*order, *(name for name in stratum.relations if name not in order)]
