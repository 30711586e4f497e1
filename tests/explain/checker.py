"""Checks explanations by substitution alone: its own matching, its own nested loops, no index.

A state is what the definition gives: the relations of a program, and the facts it was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import inf, isnan

from whence.explain.model import (
    Absence,
    Cone,
    Cut,
    Derived,
    Fact,
    Failed,
    Folded,
    Given,
    Premise,
    Proof,
    Value,
    WhyNot,
)
from whence.functor import AGGREGATES, COMPARISONS, FUNCTORS, NEGATED
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Call,
    Conjunction,
    Constant,
    Constraint,
    Disjunction,
    Kind,
    Literal,
    Negation,
    Nil,
    Program,
    Record,
    Rule,
    Term,
    Truth,
    Variable,
    Wildcard,
    children,
)

Row = tuple[Value, ...]
Env = dict[str, Value]


@dataclass(frozen=True)
class State:
    """The relations of a program and its base facts."""

    program: Program
    relations: Mapping[str, set[Row]]
    base: Mapping[str, set[Row]]

    def facts(self) -> Iterator[Fact]:
        for name, rows in self.relations.items():
            for row in sorted(rows, key=repr):
                yield Fact(name, row)

    def is_base(self, fact: Fact) -> bool:
        return fact.row in self.base.get(fact.relation, ())


# ── bodies without disjunction ──


def alternatives(literals: Iterable[Literal], positive: bool = True) -> list[tuple[Literal, ...]]:
    """The conjunctions of which one must hold, negation moved inward."""
    choices = [()]
    for literal in literals:
        choices = [a + b for a, b in product(choices, _choices(literal, positive))]
    return choices


def _choices(literal: Literal, positive: bool) -> list[tuple[Literal, ...]]:
    match literal:
        case Negation(literal=inner):
            return _choices(inner, not positive)
        case Conjunction(items=items) if positive:
            return alternatives(items)
        case Disjunction(items=items) if positive:
            return [choice for item in items for choice in _choices(item, True)]
        case Conjunction(items=items):
            return [choice for item in items for choice in _choices(item, False)]
        case Disjunction(items=items):
            return alternatives(items, False)
        case _ if positive:
            return [(literal,)]
        case Constraint(op=op, left=left, right=right, kind=kind):
            return [(Constraint(NEGATED[op], left, right, kind),)]
        case Truth(value=value):
            return [(Truth(not value),)]
        case _:
            return [(Negation(literal),)]


def names(node: Term | Literal, within: bool = False) -> set[str]:
    """The variables of a node, those inside of aggregates only when asked for."""
    if isinstance(node, Variable):
        return {node.name}
    if isinstance(node, Aggregate) and not within:
        return set()
    return {name for child in children(node) for name in names(child, within)}


def aggregates(node: Term | Literal) -> list[Aggregate]:
    if isinstance(node, Aggregate):
        return [node]
    return [found for child in children(node) for found in aggregates(child)]


# ── evaluation by substitution ──


class Unknown(Exception):
    """A term has a variable without value."""


class NoValue(Exception):
    """A term has no value, as a minimum of nothing."""


@dataclass(frozen=True)
class World:
    """Relations, and the names that a rule shares with its aggregates."""

    relations: Mapping[str, set[Row]]
    scope: frozenset[str]

    def value(self, term: Term, env: Env) -> Value:
        match term:
            case Variable(name=name):
                if name not in env:
                    raise Unknown
                return env[name]
            case Constant(value=value, kind=kind):
                return float(value) if kind is Kind.FLOAT else value
            case Nil():
                return None
            case Record(items=items):
                return tuple(self.value(item, env) for item in items)
            case Call(functor=functor, args=args):
                values = [self.value(arg, env) for arg in args]
                return FUNCTORS[functor, _kind(values[0])].scalar(*values)  # type: ignore[arg-type]
            case Aggregate():
                return self.folded(term, env)[0]
            case _:
                raise Unknown

    def folded(self, term: Aggregate, env: Env) -> tuple[Value, int]:
        """An aggregate's value, and how many assignments it is over."""
        own = names(term.target) if term.target is not None else set()
        inside = {name for literal in term.body for name in names(literal, within=True)}
        shared = (inside & self.scope) - own
        if not shared <= env.keys():
            raise Unknown
        named = [_with_names(literal, str(place)) for place, literal in enumerate(term.body)]
        scope = frozenset(n for o in named for n in names(o)) | own | shared
        inner = World(self.relations, frozenset(scope))
        found: dict[tuple[tuple[str, Value], ...], Env] = {}
        for flat in alternatives(named):
            for one in inner.solutions(flat, {name: env[name] for name in shared}):
                found[tuple(sorted(one.items()))] = one
        if term.target is None:
            return len(found), len(found)
        values = [inner.value(term.target, one) for one in found.values()]
        kind = _kind(values[0]) if values else term.kind or Kind.NUMBER
        result = AGGREGATES[term.function, kind].scalar(values)  # type: ignore[arg-type]
        if result is None:
            raise NoValue
        return result, len(values)

    def match(self, term: Term, value: Value, env: Env) -> Env | None:
        """The environment in which a pattern is the value; Unknown if that cannot be said."""
        match term:
            case Wildcard():
                return env
            case Variable(name=name) if name not in env:
                return {**env, name: value}
            case Record(items=items):
                if not isinstance(value, tuple):
                    return None
                return self.match_all(items, value, env)
            case _:
                return env if equal(self.value(term, env), value) else None

    def match_all(self, terms: tuple[Term, ...], row: Row, env: Env) -> Env | None:
        """The same for all arguments: what is to be computed waits for the others."""
        pending = list(zip(terms, row, strict=True))
        while pending:
            stuck = []
            for term, value in pending:
                try:
                    found = self.match(term, value, env)
                except Unknown:
                    stuck.append((term, value))
                    continue
                if found is None:
                    return None
                env = found
            if len(stuck) == len(pending):
                raise Unknown
            pending = stuck
        return env

    def matches(self, atom: Atom, env: Env) -> Iterator[Env]:
        for row in self.relations[atom.relation]:
            found = self.match_all(atom.args, row, env)
            if found is not None:
                yield found

    def holds(self, literal: Literal, env: Env) -> list[Env]:
        """The environments in which a literal holds; Unknown if that cannot be said yet."""
        match literal:
            case Atom(args=args):
                given = {n for arg in args if _is_pattern(arg) for n in names(arg)} | env.keys()
                if not all(names(arg) <= given for arg in args):
                    raise Unknown
                return list(self.matches(literal, env))
            case Negation(literal=Atom() as atom):
                if not all(_is_known(arg, env) for arg in atom.args):
                    raise Unknown
                return [] if any(True for _ in self.matches(atom, env)) else [env]
            case Truth(value=value):
                return [env] if value else []
            case Constraint(op="=", left=left, right=right):
                try:
                    try:
                        found = self.match(right, self.value(left, env), env)
                    except Unknown:
                        found = self.match(left, self.value(right, env), env)
                except NoValue:
                    return []
                return [] if found is None else [found]
            case Constraint(op=op, left=left, right=right):
                try:
                    a, b = self.value(left, env), self.value(right, env)
                except NoValue:
                    return []
                return [env] if COMPARISONS[op, _kind(a)].scalar(a, b) else []  # type: ignore[arg-type]
            case _:
                raise AssertionError(literal)

    def solutions(self, body: tuple[Literal, ...], env: Env) -> Iterator[Env]:
        if not body:
            yield env
            return
        for place, literal in enumerate(body):
            try:
                found = self.holds(literal, env)
            except Unknown:
                continue
            for one in found:
                yield from self.solutions(body[:place] + body[place + 1 :], one)
            return
        raise Unknown


def equal(a: Value, b: Value) -> bool:
    if isinstance(a, float) and isinstance(b, float) and isnan(a) and isnan(b):
        return True
    return a == b


def _kind(value: Value) -> Kind:
    match value:
        case float():
            return Kind.FLOAT
        case int():
            return Kind.NUMBER
        case str():
            return Kind.SYMBOL
        case _:
            return Kind.RECORD


def _is_known(term: Term, env: Env) -> bool:
    """Whether a term has a value, or asks for none."""
    if isinstance(term, Wildcard):
        return True
    if isinstance(term, Record):
        return all(_is_known(item, env) for item in term.items)
    return names(term) <= env.keys()


def _with_names(node: Literal, path: str) -> Literal:
    """The literal with a variable for each wildcard that a positive atom binds."""

    def term(found: Term, at: str) -> Term:
        match found:
            case Wildcard():
                return Variable(f"any {at}")
            case Record(items=items):
                return Record(tuple(term(o, f"{at}.{i}") for i, o in enumerate(items)), found.type)
            case _:
                return found

    match node:
        case Atom(relation=relation, args=args):
            return Atom(relation, tuple(term(o, f"{path}.{i}") for i, o in enumerate(args)))
        case Conjunction(items=items):
            return Conjunction(tuple(_with_names(o, f"{path}.{i}") for i, o in enumerate(items)))
        case Disjunction(items=items):
            return Disjunction(tuple(_with_names(o, f"{path}.{i}") for i, o in enumerate(items)))
        case _:
            return node


# ── proofs ──


def check_proof(proof: Proof, state: State) -> None:
    """Check every step of a proof."""
    seen: set[int] = set()
    pending: list[Premise] = [proof]
    while pending:
        step = pending.pop()
        if id(step) in seen:
            continue
        seen.add(id(step))
        match step:
            case Given(fact=fact):
                assert state.is_base(fact), f"{fact} was not given"
            case Cut(fact=fact):
                assert fact.row in state.relations[fact.relation], f"{fact} does not hold"
            case Derived():
                check_step(step, state)
                pending += step.premises
            case Folded(over=over):
                pending += over
            case _:
                pass


def check_step(step: Derived, state: State) -> None:
    """Check one step: the premises are an instance of the rule, and the fact is its head."""
    assert step.fact.row in state.relations[step.fact.relation], f"{step.fact} does not hold"
    rule = state.program.rules[step.number - 1]
    assert rule == step.rule, f"rule {step.number} is another one"
    facts = [p for p in step.premises if isinstance(p, Given | Derived | Cut)]
    heights = [0 if isinstance(p, Given) else p.height for p in facts]
    if None not in heights:
        assert step.height == 1 + max(heights, default=0), f"{step.fact} is not {step.height} high"
    assert any(
        _is_instance(step, head, body, [p.fact for p in facts], state)
        for head in rule.heads
        if head.relation == step.fact.relation
        for body in alternatives(rule.body)
    ), f"{step!r} is no instance of rule {step.number}: {step.bindings} {step.premises}"


def _is_instance(
    step: Derived, head: Atom, body: tuple[Literal, ...], facts: list[Fact], state: State
) -> bool:
    world = world_of(state, head, body)
    env: Env | None = dict(step.bindings)
    atoms = [literal for literal in body if isinstance(literal, Atom)]
    if [atom.relation for atom in atoms] != [fact.relation for fact in facts]:
        return False
    try:
        for atom, fact in zip(atoms, facts, strict=True):
            assert env is not None
            env = world.match_all(atom.args, fact.row, env)
            if env is None:
                return False
        assert env is not None
        others = [literal for literal in body if not isinstance(literal, Atom)]
        for literal in others:
            if not any(True for _ in world.holds(literal, env)):
                return False
        for arg, value in zip(head.args, step.fact.row, strict=True):
            if not equal(world.value(arg, env), value):
                return False
        folds = [f for node in (head, *body) for f in aggregates(node)]
        told = [p for p in step.premises if isinstance(p, Folded)]
        if sorted(map(repr, (world.folded(f, env) for f in folds))) != sorted(
            repr((p.value, p.size)) for p in told
        ):
            return False
    except (Unknown, NoValue):
        return False
    negations = [literal for literal in others if isinstance(literal, Negation)]
    absent = [p for p in step.premises if isinstance(p, Absence)]
    if len(negations) != len(absent):
        return False
    for negation, absence in zip(negations, absent, strict=True):
        assert isinstance(negation.literal, Atom)
        if negation.literal.relation != absence.relation:
            return False
        pattern = _pattern(world, negation.literal, env)
        if not all(equal(a, b) for a, b in zip(pattern, absence.pattern, strict=True)):
            return False
    return True


def _pattern(world: World, atom: Atom, env: Env) -> list[Value]:
    known = []
    for arg in atom.args:
        try:
            known.append(world.value(arg, env))
        except Unknown:
            known.append(None)
    return known


def world_of(state: State, head: Atom, body: tuple[Literal, ...]) -> World:
    scope = {name for node in (head, *body) for name in names(node)}
    return World(state.relations, frozenset(scope))


# ── all instances ──


def instances(state: State) -> Iterator[tuple[int, Fact, tuple[Fact, ...]]]:
    """All instances of all rules: the rule's number, the head, the premises."""
    for number, rule in enumerate(state.program.rules, 1):
        for head, body in product(rule.heads, alternatives(rule.body)):
            if not body and _is_stated(rule):
                continue
            named = tuple(_with_names(literal, str(i)) for i, literal in enumerate(body))
            world = world_of(state, head, named)
            for env in world.solutions(named, {}):
                try:
                    row = tuple(world.value(arg, env) for arg in head.args)
                except NoValue:
                    continue
                premises = [
                    Fact(o.relation, tuple(world.value(arg, env) for arg in o.args))
                    for o in named
                    if isinstance(o, Atom)
                ]
                yield number, Fact(head.relation, row), tuple(premises)


def _is_stated(rule: Rule) -> bool:
    return not any(aggregates(arg) for head in rule.heads for arg in head.args)


def least_heights(state: State) -> dict[Fact, float]:
    """The least height of a derivation of each fact, by iterating until nothing gets lower."""
    known = [i for i in instances(state) if i[1].row in state.relations[i[1].relation]]
    heights: dict[Fact, float] = {fact: 0 for fact in state.facts() if state.is_base(fact)}
    changed = True
    while changed:
        changed = False
        for _, head, premises in known:
            height = 1 + max((heights.get(premise, inf) for premise in premises), default=0)
            if height < heights.get(head, inf):
                heights[head], changed = height, True
    return heights


def check_cone(cone: Cone, state: State, fact: Fact) -> None:
    """Check that a cone has just the instances that lie backwards from the fact."""
    by_head: dict[Fact, list[tuple[int, Fact, tuple[Fact, ...]]]] = {}
    for instance in instances(state):
        by_head.setdefault(instance[1], []).append(instance)
    reached, pending = {fact}, [fact]
    needed = []
    while pending:
        for instance in by_head.get(pending.pop(), ()):
            needed.append(instance)
            for premise in instance[2]:
                if premise not in reached:
                    reached.add(premise)
                    pending.append(premise)
    graph = cone.graph
    found = []
    for i in range(graph.instances):
        premises = graph.premises[graph.start[i] : graph.start[i + 1]]
        found.append(
            (
                int(graph.rules[i]),
                cone.facts[graph.heads[i]],
                tuple(cone.facts[p] for p in premises),
            )
        )
    assert cone.facts[0] == fact
    assert set(cone.facts) == reached
    assert len(cone.facts) == len(reached)
    assert sorted(map(repr, found)) == sorted(map(repr, needed))
    assert all(given == state.is_base(f) for f, given in zip(cone.facts, cone.base, strict=True))


# ── absences ──


def check_why_not(answer: WhyNot, state: State) -> None:
    """Check that what is said to hold holds, that what is missing is, and that no fewer could be."""
    assert answer.fact.row not in state.relations[answer.fact.relation]
    assert answer.failed or answer.reasons
    for failed in answer.failed:
        rule = state.program.rules[failed.number - 1]
        assert rule == failed.rule
        assert failed.missing
        assert any(
            _fails_so(failed, answer.fact, head, body, state)
            for head in rule.heads
            if head.relation == answer.fact.relation
            for body in alternatives(rule.body)
        ), f"{failed} is no instance of rule {failed.number} that fails in this way"
        for missing in failed.missing:
            if missing.why is not None:
                assert missing.why.fact.relation == missing.relation
                assert missing.why.fact.row == missing.pattern
                check_why_not(missing.why, state)


def _fails_so(
    failed: Failed, fact: Fact, head: Atom, body: tuple[Literal, ...], state: State
) -> bool:
    """Whether this alternative of a rule fails for this fact in the way that is told."""
    parts = _parts(head.args, fact.row)
    if parts is None:
        return False
    computed = [(arg, v) for arg, v in parts if not isinstance(arg, Variable | Constant | Nil)]
    literals = (*body, *(Constraint("=", arg, _as_term(value)) for arg, value in computed))
    world = world_of(state, head, literals)
    env: Env = dict(failed.bindings)
    for arg, value in parts:
        if isinstance(arg, Variable) and not equal(env.get(arg.name, value), value):
            return False
        if isinstance(arg, Constant | Nil) and not equal(world.value(arg, env), value):
            return False
    holds, missing, waiting = 0, [], 0
    for literal in literals:
        if isinstance(literal, Truth) and literal.value:
            continue
        try:
            found = world.holds(literal, env)
        except Unknown:
            waiting += 1
            continue
        if not found:
            missing.append(_missed(world, literal, env))
        elif literal in body:
            holds += 1
    told = [
        (m.kind, m.relation, m.pattern) if m.kind != "constraint" else (m.kind, None, ())
        for m in failed.missing
    ]
    return (
        holds == len(failed.holds)
        and sorted(map(repr, missing)) == sorted(map(repr, told))
        and waiting >= len(failed.open)
    )


def _parts(args: tuple[Term, ...], row: Row) -> list[tuple[Term, Value]] | None:
    """The arguments of a head with their values, those inside of records one by one."""
    found: list[tuple[Term, Value]] = []
    for arg, value in zip(args, row, strict=True):
        if not isinstance(arg, Record):
            found.append((arg, value))
            continue
        inner = _parts(arg.items, value) if isinstance(value, tuple) else None
        if inner is None:
            return None
        found += inner
    return found


def _missed(world: World, literal: Literal, env: Env) -> tuple[str, str | None, Row]:
    match literal:
        case Atom(relation=relation):
            return "fact", relation, tuple(_pattern(world, literal, env))
        case Negation(literal=Atom(relation=relation) as atom):
            return "negation", relation, tuple(_pattern(world, atom, env))
        case _:
            return "constraint", None, ()


def _as_term(value: Value) -> Term:
    match value:
        case None:
            return Nil()
        case tuple():
            return Record(tuple(map(_as_term, value)))
        case float():
            return Constant(value, Kind.FLOAT)
        case str():
            return Constant(value, Kind.SYMBOL)
        case _:
            return Constant(value, None)


def fewest_missing(state: State, number: int, fact: Fact, domain: Iterable[Value]) -> float:
    """The fewest literals of a rule that fail, over values of its variables in the domain.

    Values count that the head gives, or a literal that holds: of others nobody would think.
    """
    rule, values, best = state.program.rules[number - 1], list(domain), inf
    for head, body in product(rule.heads, alternatives(rule.body)):
        if head.relation != fact.relation:
            continue
        world = world_of(state, head, body)
        free = sorted(world.scope)
        for chosen in product(values, repeat=len(free)):
            env = dict(zip(free, chosen, strict=True))
            try:
                if all(
                    equal(world.value(arg, env), value)
                    for arg, value in zip(head.args, fact.row, strict=True)
                ):
                    holding = [literal for literal in body if world.holds(literal, env)]
                    if _bound(head, holding) >= world.scope:
                        best = min(best, len(body) - len(holding))
            except (Unknown, NoValue, KeyError, TypeError):
                continue  # a value of another type
    return best


def _bound(head: Atom, holding: list[Literal]) -> set[str]:
    """The variables that a plain head and literals give values to."""
    bound = {arg.name for arg in head.args if isinstance(arg, Variable)}
    for literal in holding:
        if isinstance(literal, Atom):
            bound |= {n for arg in literal.args if _is_pattern(arg) for n in names(arg)}
    grown = True
    while grown:
        grown = False
        for literal in holding:
            if isinstance(literal, Constraint) and literal.op == "=":
                for a, b in ((literal.left, literal.right), (literal.right, literal.left)):
                    if names(a) <= bound and _is_pattern(b) and not names(b) <= bound:
                        bound |= names(b)
                        grown = True
    return bound


def _is_pattern(term: Term) -> bool:
    return isinstance(term, Variable | Record)
