"""What tasks keep current of a program that is cut into groups: local parts, and shared ones.

A local part is a live view of its own. The relations of a shared part are derived at one task and
kept at others: there, what comes from other tasks is in relations without rules. Groups that no
such part can keep are at one task alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from whence.analysis.dependencies import dependencies
from whence.analysis.kinds import relation_kinds
from whence.analysis.strata import components
from whence.engine.spark.model import (
    ALONE,
    SOMEWHERE,
    By,
    Copy,
    Group,
    Placement,
    Ship,
    SparkPlan,
    Strategy,
)
from whence.facts.schema import Column, arrow_schema, truths
from whence.plan.build import build_plan
from whence.syntax.nodes import (
    Atom,
    Attribute,
    Constant,
    Counter,
    Kind,
    Negation,
    Program,
    Rule,
    Variable,
    Wildcard,
    walk,
)
from whence.view.program import maintained, why_recomputed
from whence.view.reading import reads
from whence.view.renaming import renamed

_SUPPORT = "@support:"
_STATED = "@stated:"


@dataclass(frozen=True, slots=True)
class Part:
    """Relations that one view of each task keeps."""

    program: Program
    derives: tuple[str, ...]
    """The relations that it derives, by the names of their copies."""
    ships: tuple[Ship, ...] = ()
    """What crosses between tasks; without any, the part is local."""

    @property
    def external(self) -> tuple[str, ...]:
        """The relations that hold what comes from other tasks."""
        supports = [support_of(ship) for ship in self.ships]
        return (*supports, *(copy.name for ship in self.ships for copy in ship.copies))

    @property
    def own(self) -> frozenset[str]:
        """The relations that are computed together, those from other tasks among them."""
        return frozenset((*self.derives, *self.external)) if self.ships else frozenset()


@dataclass(frozen=True, slots=True)
class Kept:
    """A group as tasks keep it current."""

    number: int
    strategy: Strategy
    reads: tuple[Copy, ...]
    writes: tuple[Copy, ...]
    parts: tuple[Part, ...]
    why: str


def support_of(ship: Ship) -> str:
    """Return the relation, at a home, of what each sender derives of a shipped relation."""
    return _SUPPORT + ship.home.name


def kept(
    plan: SparkPlan, tasks: int, declared: Program, outputs: Collection[str]
) -> tuple[Kept, ...]:
    """Return how so many tasks keep the groups current, and outputs that have no rules."""
    wanted = {*outputs, *(copy.relation for group in plan.groups for copy in group.reads)}
    groups = [_once(_kept(_seen(group), tasks), wanted) for group in plan.groups]
    written = {copy.relation for group in plan.groups for copy in group.writes}
    for name in outputs:
        if name not in written:
            groups.append(_base(len(groups), declared, name))
    return tuple(groups)


def _base(number: int, program: Program, name: str) -> Kept:
    """Return a group that only holds base facts, to tell which of them come and go."""
    decl = program.relation(name)
    held = Copy(f"{name}@given", name, _home(decl.arity))
    alone = Program(types=program.types, relations=(replace(decl, name=held.name),))
    parts = (Part(alone, ()),)
    return Kept(number, Strategy.DECOMPOSED, (held,), (held,), parts, "base facts")


def _home(arity: int) -> Placement:
    return By(0) if arity else ALONE


def stated(plan: SparkPlan, declared: Program) -> dict[str, pa.Table]:
    """Return the facts that a plan states, as tables of its relations."""
    found: dict[str, list[Atom]] = {}
    for fact in plan.facts:
        found.setdefault(fact.relation, []).append(fact)
    kinds: dict[str, tuple[Kind, ...]] = {}
    for group in plan.groups:
        known = relation_kinds(group.program)
        kinds |= {copy.relation: known[copy.name] for copy in group.reads}
    kinds |= relation_kinds(declared)
    return {name: _table(kinds[name], facts) for name, facts in found.items()}


def _table(kinds: tuple[Kind, ...], facts: list[Atom]) -> pa.Table:
    if not kinds:
        return truths(1)
    columns = tuple(Column(str(i), kind) for i, kind in enumerate(kinds))
    values = zip(*(fact.args for fact in facts), strict=True)
    arrays = [
        pa.array([term.value if isinstance(term, Constant) else "nil" for term in terms], f.type)
        for terms, f in zip(values, arrow_schema(columns), strict=True)
    ]
    return pa.table(arrays, names=[column.name for column in columns])


def _once(group: Kept, wanted: Collection[str]) -> Kept:
    """Give a home to relations of which several tasks may have the same tuples."""
    parts, writes = list(group.parts), []
    for copy in group.writes:
        if copy.placement is not SOMEWHERE or copy.relation not in wanted:
            writes.append(copy)
            continue
        program = next(p.program for p in group.parts if copy.name in p.derives)
        decl = program.relation(copy.name)
        home = Copy(f"{copy.relation}@once", copy.relation, _home(decl.arity))
        ship = Ship(copy.relation, f"{home.name}:out", home)
        rules = (_copying(ship.outbox, copy.name, decl.arity),)
        names = (copy.name, ship.outbox, home.name)
        relations = tuple(replace(decl, name=name, qualifiers=()) for name in names)
        whole = Program(types=program.types, relations=relations, rules=rules)
        parts.append(_shared(whole, names[1:], (ship,)))
        writes.append(home)
    return replace(group, parts=tuple(parts), writes=tuple(writes))


def speaks(groups: Iterable[Kept]) -> bool:
    """Say whether tasks have anything to tell each other."""
    written: dict[str, Copy] = {}
    for group in groups:
        for copy in group.reads:
            before = written.get(copy.relation)
            if before is not None and before.placement != copy.placement:
                return True
        if any(part.ships for part in group.parts):
            return True
        written.update({copy.relation: copy for copy in group.writes})
    return False


def _seen(group: Group) -> Group:
    """Return a group whose relations all have names that a view tells the changes of."""
    names = {d.name: f"~{d.name}" for d in group.program.relations if d.name.startswith("@")}
    if not names:
        return group

    def named(copy: Copy) -> Copy:
        return replace(copy, name=names.get(copy.name, copy.name))

    ships = tuple(
        replace(
            ship,
            outbox=names.get(ship.outbox, ship.outbox),
            home=named(ship.home),
            copies=tuple(map(named, ship.copies)),
        )
        for ship in group.ships
    )
    return replace(
        group,
        program=renamed(group.program, names),
        reads=tuple(map(named, group.reads)),
        writes=tuple(map(named, group.writes)),
        ships=ships,
    )


def _kept(group: Group, tasks: int) -> Kept:
    whole = (Part(group.program, _heads(group.program)),)
    strategy, why = group.strategy, group.why
    if strategy is Strategy.DECOMPOSED or tasks == 1:
        return Kept(group.number, strategy, group.reads, group.writes, whole, why)
    if strategy is Strategy.GANG:
        parts = _parts(group)
        against = _why_alone(group, parts)
        if not against:
            return Kept(group.number, strategy, group.reads, group.writes, parts, why)
        why = f"kept by one task: {against}"
    else:
        why = why or "kept by one task"
    reads, writes = (
        tuple(replace(copy, placement=ALONE) for copy in copies)
        for copies in (group.reads, group.writes)
    )
    return Kept(group.number, Strategy.ALONE, reads, writes, whole, why)


def _why_alone(group: Group, parts: Iterable[Part]) -> str:
    """Return why tasks cannot keep the group together, tuple by tuple."""
    for stratum in build_plan(group.program).strata:
        if stratum.growths:
            return f"`{stratum.growths[0].relation}` may grow without end"
    return next((found for part in parts if part.ships and (found := _why_not_shared(part))), "")


def _why_not_shared(part: Part) -> str:
    if part.program.subsumptions:
        name = part.program.subsumptions[0].dominated.relation
        return f"tuples of `{name}` are dropped by subsumption"
    literals = [x for rule in part.program.rules for x in (*rule.heads, *rule.body)]
    if any(isinstance(node, Counter) for literal in literals for node in walk(literal)):
        return "a counter counts the derivations of all tasks"
    plan = maintained(part.program, part.external, unsearched=None).plan
    for stratum in plan.strata:
        if part.own & {*stratum.relations}:
            found = why_recomputed(stratum, plan.program)
            if found is not None:
                return found
        elif part.own & reads(stratum):
            return "an aggregate depends on the recursion that it stands in"
    return ""


def _heads(program: Program) -> tuple[str, ...]:
    found = dict.fromkeys(head.relation for rule in program.rules for head in rule.heads)
    found |= dict.fromkeys(s.dominated.relation for s in program.subsumptions)
    return tuple(found)


def _parts(group: Group) -> tuple[Part, ...]:
    """Cut a group into parts, each after those that it reads."""
    program = group.program
    names = {
        name: ship.home.name
        for ship in group.ships
        for name in (ship.outbox, ship.home.name, *(copy.name for copy in ship.copies))
    }
    graph: dict[str, dict[str, None]] = {names.get(d.name, d.name): {} for d in program.relations}
    for edge in dependencies(program):
        head, read = names.get(edge.head, edge.head), names.get(edge.relation, edge.relation)
        graph[head][read] = None
    heads = {names.get(name, name) for name in _heads(program)}
    found: list[Part] = []
    local: list[str] = []
    for component in components(graph):
        derived = [name for name in component if name in heads]
        ships = tuple(ship for ship in group.ships if ship.home.name in component)
        if not ships:
            local += derived
            continue
        if local:
            found.append(_local(program, local))
            local = []
        found.append(_shared(program, derived, ships))
    if local:
        found.append(_local(program, local))
    return tuple(found)


def _local(program: Program, names: Collection[str]) -> Part:
    rules = tuple(rule for rule in program.rules if rule.head.relation in names)
    dropped = tuple(s for s in program.subsumptions if s.dominated.relation in names)
    part = replace(program, rules=rules, subsumptions=dropped)
    return Part(_declared(part), tuple(names))


def _shared(program: Program, names: Collection[str], ships: tuple[Ship, ...]) -> Part:
    """Return the part of these relations, without the rules that copy between tasks."""
    outbox = {ship.home.name: ship.outbox for ship in ships}
    outbox |= {copy.name: ship.outbox for ship in ships for copy in ship.copies}
    mine = {*names, *outbox, *outbox.values()}
    rules = []
    declared = list(program.relations)
    stated: set[str] = set()
    for rule in program.rules:
        name = rule.head.relation
        if name not in mine or _copies(rule, ships):
            continue
        name = outbox.get(name, name)
        if not any(isinstance(literal, Atom | Negation) for literal in rule.body):
            if name not in stated:
                stated.add(name)
                decl = replace(program.relation(name), name=_STATED + name)
                declared.append(decl)
                rules.append(_copying(name, decl.name, decl.arity))
            name = _STATED + name
        rules.append(replace(rule, heads=(replace(rule.head, relation=name),)))
    for ship in ships:
        decl = program.relation(ship.home.name)
        sender = Attribute("@sender", "number")
        support = support_of(ship)
        declared.append(replace(decl, name=support, attributes=(*decl.attributes, sender)))
        rules.append(_copying(decl.name, support, decl.arity, further=1))
    dropped = tuple(s for s in program.subsumptions if s.dominated.relation in mine)
    part = replace(program, relations=tuple(declared), rules=tuple(rules), subsumptions=dropped)
    copies = {copy.name for ship in ships for copy in ship.copies}
    derives = {*names, *outbox.values()} - copies
    supports = {support_of(ship) for ship in ships}
    return Part(_declared(part, copies | supports), tuple(sorted(derives)), ships)


def _copying(head: str, source: str, arity: int, *, further: int = 0) -> Rule:
    columns = tuple(Variable(f"c{i}") for i in range(arity))
    return Rule((Atom(head, columns),), (Atom(source, (*columns, *(Wildcard(),) * further)),))


def _copies(rule: Rule, ships: tuple[Ship, ...]) -> bool:
    """Say whether the rule only brings tuples from one place to another."""
    if len(rule.body) != 1 or not isinstance(rule.body[0], Atom):
        return False
    head, source = rule.head.relation, rule.body[0].relation
    for ship in ships:
        if head == ship.home.name and source == ship.outbox:
            return True
        if any(head == c.name for c in ship.copies) and source in (ship.outbox, ship.home.name):
            return True
    return False


def _declared(program: Program, further: Collection[str] = ()) -> Program:
    """Return the program with the declarations that its rules need, and of no others."""
    used = {*further, *_heads(program)}
    for edge in dependencies(program):
        used |= {edge.head, edge.relation}
    return replace(
        program,
        relations=tuple(d for d in program.relations if d.name in used),
        directives=tuple(d for d in program.directives if d.relation in used),
    )
