"""From a draft to a group: the program over copies that a task evaluates, and what is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from whence.engine.spark.cut.known import Known
from whence.engine.spark.cut.reading import has_plain_body, relocate, relocate_subsumption
from whence.engine.spark.cut.sites import Draft, Site
from whence.engine.spark.model import (
    ALONE,
    SOMEWHERE,
    By,
    Copy,
    Group,
    Placement,
    Ship,
    Strategy,
)
from whence.plan.nodes import Stratum
from whence.syntax.nodes import (
    Atom,
    Attribute,
    Constant,
    Program,
    RelationDecl,
    Rule,
    Subsumption,
    Variable,
)

UNIT = "@one"
"""A relation without columns, whose only tuple is at task 0: there are rules without a place."""


def copy_name(relation: str, placement: Placement) -> str:
    """Return the name of a copy.

    >>> copy_name("edge", By(0))
    'edge@0'
    """
    return f"{relation}@{placement}"


class Locating:
    """The parts of a group's program, in the order in which they are found."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.relations: dict[str, RelationDecl] = {}
        self.rules: list[Rule] = []
        self.subsumptions: list[Subsumption] = []
        self.reads: dict[str, Copy] = {}
        self.ships: list[Ship] = []
        self.facts: dict[Atom, None] = {}

    def add(self, draft: Draft) -> None:
        """Add the copies, rules and ships of a draft."""
        for name, placement in draft.reads:
            self._read(name, placement)
        for (name, placement), sites in draft.local.items():
            head = self._declare(copy_name(name, placement), name)
            self._derive(head, sites)
            if name in self.known.given:
                self._given(head, name, placement)
        for name, shipment in draft.shipped.items():
            outbox = self._declare(f"{name}@out", name)
            home = Copy(copy_name(name, shipment.home), name, shipment.home)
            copies = tuple(Copy(copy_name(name, p), name, p) for p in shipment.copies)
            self._derive(outbox, shipment.sites)
            if name in self.known.given:
                self._given(outbox, name, shipment.home)
            for copy in (home, *copies):
                self._declare(copy.name, name)
                self._pass_on(outbox, copy.name, name)
            self.ships.append(Ship(name, outbox, home, copies))
            self._subsume_outbox(outbox, name)
        for sites in draft.subsumed.values():
            for site in sites:
                copies_read = [copy_name(n, p) for n, p in site.demands()]
                self.subsumptions.append(relocate_subsumption(site.statement.rule, copies_read))

    def _declare(self, copy: str, relation: str) -> str:
        self.relations[copy] = replace(self.known.decls[relation], name=copy)
        return copy

    def _read(self, relation: str, placement: Placement) -> None:
        name = copy_name(relation, placement)
        self._declare(name, relation)
        self.reads[name] = Copy(name, relation, placement)

    def _given(self, head: str, relation: str, placement: Placement) -> None:
        """Let what is given of a relation be in a copy of it, or in its outbox."""
        if placement is SOMEWHERE:
            placement = By(0) if self.known.arity(relation) else ALONE
        if not self.known.rules.get(relation):
            self.reads[head] = Copy(head, relation, placement)
            return
        source = f"{relation}@given@{placement}"
        self._declare(source, relation)
        self.reads[source] = Copy(source, relation, placement)
        self._pass_on(source, head, relation)

    def _pass_on(self, source: str, target: str, relation: str) -> None:
        args = tuple(Variable(f"x{i}") for i in range(self.known.arity(relation)))
        self.rules.append(Rule((Atom(target, args),), (Atom(source, args),)))

    def _derive(self, head: str, sites: Iterable[Site]) -> None:
        for site in sites:
            copies = [copy_name(name, place) for name, place in site.demands()]
            self.rules.append(relocate(site.statement.rule, head, copies, self._guard(site)))

    def _guard(self, site: Site) -> Atom | None:
        """Return the atom that holds only where the site's instances are to be derived."""
        if not site.guarded:
            return None
        if site.anchor is None:
            return self._stated(UNIT, (), ())
        assert isinstance(site.anchor, Constant)
        assert site.anchor.kind is not None
        kind = site.anchor.kind.value
        return self._stated(f"@at_{kind}", (site.anchor,), (Attribute("value", kind),))

    def _stated(
        self, relation: str, args: tuple[Constant, ...], attributes: tuple[Attribute, ...]
    ) -> Atom:
        placement: Placement = By(0) if args else ALONE
        copy = Copy(copy_name(relation, placement), relation, placement)
        self.relations[copy.name] = RelationDecl(copy.name, attributes)
        self.reads[copy.name] = copy
        self.facts[Atom(relation, args)] = None
        return Atom(copy.name, args)

    def _subsume_outbox(self, outbox: str, relation: str) -> None:
        """Let an outbox drop what it knows to be dominated: it need not be sent."""
        for subsumption, statement in self.known.subsumptions.get(relation, ()):
            if has_plain_body(subsumption):
                copies = [outbox for _ in statement.readings]
                self.subsumptions.append(relocate_subsumption(statement.rule, copies))

    def program(self) -> Program:
        """Return the program over the copies."""
        whole = self.known.program
        return Program(
            whole.types,
            whole.functors,
            tuple(self.relations.values()),
            tuple(self.rules),
            tuple(self.subsumptions),
            pragmas=whole.pragmas,
        )


def locate(
    known: Known,
    draft: Draft,
    strata: Iterable[Stratum],
    *,
    number: int,
    strategy: Strategy,
    why: str,
    everything: bool,
) -> tuple[Group, tuple[Atom, ...]]:
    """Return the group that a draft describes, and the facts that it wants stated."""
    found = Locating(known)
    found.add(draft)
    writes = tuple(Copy(copy_name(n, p), n, p) for n, p in draft.writes.items())
    group = Group(
        number,
        strategy,
        tuple(dict.fromkeys(s.number for s in strata)),
        found.program(),
        tuple(found.reads.values()),
        writes,
        tuple(found.ships),
        why,
        None if everything else tuple(copy.name for copy in writes),
    )
    return group, tuple(found.facts)


def keep(
    known: Known,
    strata: Sequence[Stratum],
    outputs: Collection[str],
    *,
    number: int,
    strategy: Strategy,
    why: str,
    everything: bool,
) -> Group:
    """Return a group that has its rules as they are, over the relations themselves."""
    whole = known.program
    own = [name for s in strata for name in s.relations]
    used = dict.fromkeys(own)
    for name in own:
        for statement in known.statements(name):
            used.update((r.relation, None) for r in statement.readings)
    program = Program(
        whole.types,
        whole.functors,
        tuple(known.decls[name] for name in used),
        tuple(rule for s in strata for rule in s.rules),
        tuple(one for s in strata for one in s.subsumptions),
        tuple(d for d in whole.directives if d.action == "limitsize" and d.relation in own),
        whole.pragmas,
    )
    read = [name for name in used if name not in own or name in known.given]
    written = [name for name in own if name in outputs]
    return Group(
        number,
        strategy,
        tuple(dict.fromkeys(s.number for s in strata)),
        program,
        tuple(Copy(name, name, ALONE) for name in read),
        tuple(Copy(name, name, ALONE) for name in written),
        why=why,
        asked=None if everything else tuple(written),
    )
