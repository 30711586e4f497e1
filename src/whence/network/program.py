"""A localized program as a node needs it: shapes of tables, strands, timers, facts.

It is made once and then bound at each node. Which tuples are derived again and again, which once,
and which are kept exact follows from the relations of a rule (Loo 2006, section 2.5).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from enum import Enum

from whence.analysis.ndlog.state import PERIODIC, State, body_atoms, states
from whence.diagnostics import Diagnostic, ProgramError
from whence.network.model import Row, Scheme, Value
from whence.network.strands.functions import IMPURE
from whence.network.strands.plan import Mode, StrandPlan
from whence.network.strands.planner import constant, plan_strand, single_headed
from whence.network.strands.strand import Code, compile_strand
from whence.network.table import Shape
from whence.syntax.nodes import Atom, Call, HeadAggregate, Negation, Program, Rule, walk


class Kind(Enum):
    """What is done with the tuples of a relation."""

    EVENT = "event"  # they happen
    SOFT = "soft"  # they time out unless they are refreshed
    BASE = "base"  # they are asserted and deleted, one by one
    VIEW = "view"  # they hold as long as something derives them


@dataclass(frozen=True, slots=True)
class RelationPlan:
    """A relation of a program."""

    shape: Shape
    kind: Kind
    arity: int


@dataclass(frozen=True, slots=True)
class Ticks:
    """A strand that a timer starts: `periodic(@X, E, period, count)`."""

    plan: StrandPlan
    location: int
    period: float
    count: int | None
    rest: tuple[Value, ...]  # the columns after location and identifier


@dataclass(frozen=True, slots=True)
class NodeProgram:
    """What a node installs."""

    name: str
    source: Program
    relations: dict[str, RelationPlan]
    strands: tuple[StrandPlan, ...]
    ticks: tuple[Ticks, ...]
    facts: tuple[tuple[str, Row], ...]
    watches: tuple[str, ...]
    annotated: frozenset[str]  # relations whose tuples have annotations: views and what feeds them
    _codes: dict[tuple[int, bool, bool], Code] = field(
        default_factory=dict, compare=False, repr=False
    )

    def code(self, plan: StrandPlan, scheme: Scheme) -> Code:
        """Return the code of one of its strands, which nodes with such a scheme share."""
        key = (id(plan), scheme.annotated, scheme.retracting)
        if key not in self._codes:
            shapes = {name: relation.shape for name, relation in self.relations.items()}
            self._codes[key] = compile_strand(
                plan, shapes, annotated=scheme.annotated, retracting=scheme.retracting
            )
        return self._codes[key]

    @property
    def views(self) -> frozenset[str]:
        """Return the relations that are kept exact."""
        return frozenset(n for n, plan in self.relations.items() if plan.kind is Kind.VIEW)


def node_program(
    program: Program, name: str = "program", *, windows: Collection[str] = ()
) -> NodeProgram:
    """Return what nodes install for a localized program.

    Relations in `windows` have lifetimes but are premises of views: what expires there is deleted,
    and the deletion cascades (Liu et al. 2008, section 3.1).
    """
    rules = [one for rule in _named(program.rules) for one in single_headed(rule)]
    state = states(program)
    for window in windows:
        state[window] = State.HARD
    views = _views(rules, state)
    arity, location = _columns(program, rules)
    relations = {
        relation: RelationPlan(
            _shape(program, relation, arity[relation], location.get(relation)),
            _kind(state[relation], relation in views),
            arity[relation],
        )
        for relation in arity
        if relation != PERIODIC
    }
    strands: list[StrandPlan] = []
    ticks: list[Ticks] = []
    facts: list[tuple[str, Row]] = []
    annotated = set(views)
    for rule in rules:
        if not rule.body:
            head = rule.heads[0]
            facts.append((head.relation, tuple(constant(arg) for arg in head.args)))
            continue
        mode = _mode(rule, relations, views)
        if mode is Mode.VIEW:
            annotated.update(atom.relation for atom in body_atoms(rule))
        for plan in _strands(rule, mode, state):
            if plan.relation == PERIODIC:
                ticks.append(_ticks(rule, plan))
            else:
                strands.append(plan)
    return NodeProgram(
        name,
        program,
        relations,
        tuple(strands),
        tuple(ticks),
        tuple(facts),
        tuple(watch.relation for watch in program.watches),
        frozenset(annotated),
    )


def _named(rules: tuple[Rule, ...]) -> list[Rule]:
    return [rule if rule.name else replace(rule, name=f"#{n}") for n, rule in enumerate(rules, 1)]


def _views(rules: list[Rule], state: dict[str, State]) -> frozenset[str]:
    """Return the relations all of whose rules are hard-state rules and can be taken back."""
    derived = {rule.heads[0].relation for rule in rules if rule.body}
    spoiled = {
        rule.heads[0].relation
        for rule in rules
        if rule.body and (rule.delete or not _maintainable(rule, state))
    }
    return frozenset(derived - spoiled)


def _maintainable(rule: Rule, state: dict[str, State]) -> bool:
    relations = [rule.heads[0].relation, *(atom.relation for atom in body_atoms(rule))]
    return all(state[relation] is State.HARD for relation in relations) and not any(
        isinstance(node, Call) and node.functor in IMPURE
        for part in (*rule.heads, *rule.body)
        for node in walk(part)
    )


def _kind(state: State, view: bool) -> Kind:
    match state:
        case State.EVENT:
            return Kind.EVENT
        case State.SOFT:
            return Kind.SOFT
        case State.HARD:
            return Kind.VIEW if view else Kind.BASE


def _mode(rule: Rule, relations: dict[str, RelationPlan], views: frozenset[str]) -> Mode:
    head = rule.heads[0].relation
    if head in views:
        return Mode.VIEW
    return Mode.ASSERT if relations[head].kind is Kind.BASE or rule.delete else Mode.SOFT


def _strands(rule: Rule, mode: Mode, state: dict[str, State]) -> list[StrandPlan]:
    atoms = [n for n, item in enumerate(rule.body) if isinstance(item, Atom)]
    events = [n for n in atoms if state[_relation(rule, n)] is State.EVENT]
    if not atoms:
        raise ProgramError(
            Diagnostic("W1354", "a rule of a network needs an atom in its body", rule.span)
        )
    if events:
        if len(events) > 1:
            raise ProgramError(
                Diagnostic(
                    "W1355",
                    "two events never happen at the same time",
                    rule.body[events[1]].span,
                    hint="materialize one of the two relations",
                )
            )
        return [plan_strand(rule, mode, events[0], event=True)]
    negated = [
        n
        for n, item in enumerate(rule.body)
        if isinstance(item, Negation) and isinstance(item.literal, Atom)
    ]
    return [plan_strand(rule, mode, n, event=False) for n in (*atoms, *negated)]


def _relation(rule: Rule, number: int) -> str:
    atom = rule.body[number]
    assert isinstance(atom, Atom)
    return atom.relation


def _ticks(rule: Rule, plan: StrandPlan) -> Ticks:
    atom = rule.body[plan.position]
    assert isinstance(atom, Atom)
    rest = tuple(constant(arg) for arg in atom.args[2:])
    period, count = rest[0], rest[1] if len(rest) > 1 else None
    if not isinstance(period, int | float) or not isinstance(count, int | None):
        raise ProgramError(
            Diagnostic("W1356", "a period is a number, and how often is a whole one", atom.span)
        )
    return Ticks(plan, atom.location or 0, float(period), count, rest)


def _columns(program: Program, rules: list[Rule]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the arity of each relation, and the column that says where its tuples are."""
    arity: dict[str, int] = {}
    location: dict[str, int] = {}
    atoms = [atom for rule in rules for atom in (rule.heads[0], *body_atoms(rule))]
    for atom in (*atoms, *(query.atom for query in program.queries)):
        arity.setdefault(atom.relation, len(atom.args))
        if atom.location is not None:
            location.setdefault(atom.relation, atom.location)
    for table in program.tables:  # nobody speaks of it, but somebody may insert into it
        arity.setdefault(table.relation, max(table.keys, default=1))
    return arity, location


def _shape(program: Program, relation: str, arity: int, location: int | None) -> Shape:
    declared = next((t for t in program.tables if t.relation == relation), None)
    place = 0 if location is None else location
    if declared is None:
        return Shape(relation, location=place)
    # Several addresses may share a processor: rows of different ones are never rivals.
    columns = tuple(sorted({key - 1 for key in declared.keys} | {place}))
    whole = not declared.keys or len(columns) >= arity
    return Shape(
        relation, None if whole else columns, declared.lifetime, declared.size, location=place
    )


def folded(rule: Rule) -> bool:
    """Return whether a rule has an aggregate in its head."""
    return any(isinstance(arg, HeadAggregate) for arg in rule.heads[0].args)
