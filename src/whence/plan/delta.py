"""Delta rules of maintenance: what a change loses, what it gains, and what still supports a head.

An instance of a rule is lost when a tuple that it needs goes, or one that it must not see comes.
For each literal of a body there is one plan that starts from such tuples and joins the rest, as
semi-naive evaluation does. A supporting plan runs a rule from its head instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from whence.plan.compile_rule import compile_rule
from whence.plan.nodes import Exists, Keyed, Probe, RulePlan, Scan, Step, Version
from whence.rewrite.reorder_body import order_body
from whence.syntax.nodes import (
    Atom,
    Constant,
    Constraint,
    Kind,
    Literal,
    Negation,
    Nil,
    Rule,
    Term,
    Variable,
)

LIMIT = "@limit"
NUMBER = "@id"

Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Place:
    """A literal of a body that a change can start from."""

    position: int
    relation: str
    negated: bool


def places(rule: Rule) -> tuple[Place, ...]:
    """Return the literals of the rule that read a relation."""
    found = []
    for position, literal in enumerate(rule.body):
        match literal:
            case Atom(relation=relation):
                found.append(Place(position, relation, negated=False))
            case Negation(literal=Atom(relation=relation)):
                found.append(Place(position, relation, negated=True))
            case _:
                pass
    return tuple(found)


def losing_plan(rule: Rule, place: Place, own: Collection[str], sizes: Sizes) -> RulePlan:
    """Plan the heads of the instances that lost this premise, each with its premises' ranks.

    `own` are the relations that are computed together with the head. When the premise is one of
    them the rest is read as it is now, else what lies below is read as it was.
    """
    body = list(rule.body)
    ranks: list[Term] = []
    for position, literal in enumerate(body):
        if isinstance(literal, Atom) and literal.relation in own:
            rank = Variable(f"@rank{position}")
            ranks.append(rank)
            body[position] = replace(literal, args=(*literal.args, rank))
    head = replace(rule.head, args=(*rule.head.args, *ranks))
    inside = place.relation in own
    below = Version.ALL if inside else Version.BEFORE
    return _from_place(head, body, place, own, below, sizes)


def gaining_plan(rule: Rule, place: Place, own: Collection[str], sizes: Sizes) -> RulePlan:
    """Plan the heads of the instances that won this premise; the rest is read as it is now."""
    return _from_place(rule.head, list(rule.body), place, own, Version.ALL, sizes)


def _from_place(
    head: Atom,
    body: list[Literal],
    place: Place,
    own: Collection[str],
    below: Version,
    sizes: Sizes,
) -> RulePlan:
    source = body[place.position]
    if isinstance(source, Negation):
        # The negation stays where it is: it still tells which keys have flipped.
        assert isinstance(source.literal, Atom)
        source = source.literal
    else:
        del body[place.position]
    assert isinstance(source, Atom)
    whole = (source, *body)
    rule = Rule((head,), whole)
    ordered = order_body(rule, 0, sizes)
    versions = {0: Version.DELTA}
    plan = compile_rule(rule, head, ordered, versions, source.relation)
    return replace(plan, steps=tuple(_reading(step, own, below) for step in plan.steps))


def _reading(step: Step, own: Collection[str], below: Version) -> Step:
    if not isinstance(step, Probe | Exists) or step.version is not Version.ALL:
        return step
    return replace(step, version=Version.FOLLOWED if step.relation in own else below)


def supporting_plan(rule: Rule, own: Collection[str], sizes: Sizes) -> RulePlan:
    """Plan which heads have an instance whose own-stratum premises rank below a limit.

    It starts from rows of the head's relation followed by the limit and a number of the row; what
    comes out are the numbers of those that have one.
    """
    args, equations = _given(rule, range(len(rule.head.args)))
    source = Atom(rule.head.relation, (*args, Variable(LIMIT), Variable(NUMBER)))
    # The limit stands in the head while the plan is made, so that it is read off the source.
    head = Atom("@supported", (Variable(NUMBER), Variable(LIMIT)))
    whole = Rule((head,), (source, *rule.body, *equations))
    ordered = order_body(whole, 0, sizes)
    plan = compile_rule(whole, head, ordered, {0: Version.DELTA}, source.relation)
    steps = tuple(
        replace(step, below=LIMIT)
        if isinstance(step, Probe | Exists) and step.relation in own
        else step
        for step in plan.steps
    )
    return replace(plan, head=Atom("@supported", (Variable(NUMBER),)), steps=steps)


def instances_plan(rule: Rule, keyed: Keyed, own: Mapping[str, Keyed], sizes: Sizes) -> RulePlan:
    """Plan all instances that derive some value for a key of the head's relation.

    It starts from keys followed by a number. What comes out are the number, the value, and for
    each premise in `own` its value and its rank.
    """
    body = list(rule.body)
    premises: list[Term] = []
    for position, literal in enumerate(body):
        if isinstance(literal, Atom) and literal.relation in own:
            rank = Variable(f"@rank{position}")
            premises += [literal.args[own[literal.relation].value], rank]
            body[position] = replace(literal, args=(*literal.args, rank))
    args, equations = _given(rule, keyed.key)
    source = Atom(rule.head.relation, (*args, Variable(NUMBER)))
    head = Atom("@instances", (Variable(NUMBER), rule.head.args[keyed.value], *premises))
    whole = Rule((head,), (source, *body, *equations))
    ordered = order_body(whole, 0, sizes)
    return compile_rule(whole, head, ordered, {0: Version.DELTA}, source.relation)


def _given(rule: Rule, columns: Iterable[int]) -> tuple[list[Term], list[Literal]]:
    """Return terms that take columns of the head as given, and what they must then equal."""
    args: list[Term] = []
    equations: list[Literal] = []
    for column in columns:
        term = rule.head.args[column]
        if isinstance(term, Variable | Constant | Nil):
            args.append(term)
        else:
            name = Variable(f"@head{column}")
            args.append(name)
            kind = getattr(term, "kind", None) or Kind.NUMBER
            equations.append(Constraint("=", name, term, kind))
    return args, equations


def counting_plan(rule: Rule, place: Place | None, sizes: Sizes) -> RulePlan:
    """Plan the heads of the instances that a premise won or lost adds or takes away, each once.

    Literals before the premise are read as they are now, those after it as they were, so that an
    instance with several changed premises is met once. Without a premise all instances come out,
    as everything was; then the plan starts from one empty binding.
    """
    body = list(rule.body)
    version = {id(literal): Version.BEFORE for literal in body}
    if place is not None:
        version.update((id(literal), Version.ALL) for literal in body[: place.position])
        source = body.pop(place.position)
        if isinstance(source, Negation):
            assert isinstance(source.literal, Atom)
            source = source.literal
        version[id(source)] = Version.DELTA
        body.insert(0, source)
    whole = Rule((rule.head,), tuple(body))
    ordered = order_body(whole, None if place is None else 0, sizes)
    versions = {i: version.get(id(literal), Version.ALL) for i, literal in enumerate(ordered)}
    relation = None if place is None else place.relation
    plan = compile_rule(whole, rule.head, ordered, versions, relation)
    return replace(plan, steps=tuple(map(_every_match, plan.steps)))


def _every_match(step: Step) -> Step:
    """Let each row of a premise count, also where one would do to know that there is any."""
    match step:
        case Scan(relation=relation, version=version, takes=takes, key=key):
            return step if version is Version.DELTA else Probe(relation, version, key, takes)
        case Exists(relation=relation, version=version, key=key, negated=False):
            return Probe(relation, version, key, ())
        case _:
            return step
