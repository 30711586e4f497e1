"""From an ordered body to the steps of a rule plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

from whence.diagnostics import Diagnostic, ProgramError
from whence.plan.nodes import (
    Bind,
    Exists,
    Fold,
    Gather,
    Key,
    Operand,
    Probe,
    RulePlan,
    Scan,
    Step,
    Takes,
    Test,
    Unpack,
    Version,
)
from whence.rewrite.reorder_body import order_body
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constant,
    Constraint,
    Kind,
    Literal,
    Negation,
    Nil,
    Record,
    Rule,
    Term,
    Truth,
    Variable,
    Wildcard,
    variables,
)

NIL = Constant(0, Kind.RECORD)
"""The code of `nil`."""


def compile_rule(
    rule: Rule,
    head: Atom,
    body: Sequence[Literal],
    versions: Mapping[int, Version],
    delta: str | None = None,
) -> RulePlan:
    """Return the plan that evaluates the ordered body; `versions` is by position in that body."""
    builder = _Builder(rule, head, body)
    for position, literal in enumerate(body):
        builder.add(literal, versions.get(position, Version.ALL), position)
    return RulePlan(rule, head, tuple(builder.steps), delta)


class _Builder:
    """The steps so far and the variables that have a value."""

    def __init__(self, rule: Rule, head: Atom, body: Sequence[Literal]) -> None:
        self.rule = rule
        self.steps: list[Step] = []
        self.bound: set[str] = set()
        self._fresh = count()
        # A variable that nothing reads after its atom is as good as a wildcard.
        self.read_after: list[set[str]] = []
        later = set(variables(*head.args))
        for literal in reversed(body):
            self.read_after.append(set(later))
            later |= set(variables(literal))
        self.read_after.reverse()

    def add(
        self, literal: Literal, version: Version, position: int, *, inside: bool = False
    ) -> None:
        """Add the steps of one literal; `inside` an aggregate there are bindings already."""
        match literal:
            case Atom():
                self._atom(literal, version, self.read_after[position], inside)
            case Negation(literal=Atom() as atom):
                key, takes, _ = self._columns(atom, set())
                if takes:
                    self._unbound(literal)
                self.steps.append(Exists(atom.relation, version, key, negated=True))
            case Constraint():
                self._constraint(literal)
            case Truth(value=True):
                pass
            case _:
                self._test(Constraint("!=", Constant(0, Kind.NUMBER), Constant(0, Kind.NUMBER)))

    # ── atoms ──

    def _atom(self, atom: Atom, version: Version, read_after: set[str], inside: bool) -> None:
        key, takes, repeats = self._columns(atom, read_after)
        for _, name in takes:
            self.bound.add(name)
        first = not self.steps and not inside
        if first and (version is Version.DELTA or (takes and not key)):
            self.steps.append(Scan(atom.relation, version, takes, key))
        elif takes:
            self.steps.append(Probe(atom.relation, version, key, takes))
        else:
            self.steps.append(Exists(atom.relation, version, key, negated=False))
        for test in repeats:
            self._test(test)

    def _columns(self, atom: Atom, wanted: set[str]) -> tuple[Key, Takes, list[Constraint]]:
        key: list[tuple[int, Operand]] = []
        takes: dict[str, int] = {}
        repeats: list[Constraint] = []
        again: list[tuple[int, str]] = []
        occurrences = [a.name for a in atom.args if isinstance(a, Variable)]
        for column, arg in enumerate(atom.args):
            match arg:
                case Constant():
                    key.append((column, arg))
                case Nil():
                    key.append((column, NIL))
                case Variable(name=name) if name in self.bound:
                    key.append((column, arg))
                case Variable(name=name) if name in takes:
                    fresh = self._name()
                    again.append((column, fresh))
                    repeats.append(Constraint("=", Variable(name), Variable(fresh)))
                case Variable(name=name):
                    if name in wanted or occurrences.count(name) > 1:
                        takes[name] = column
                case Wildcard():
                    pass
                case _:
                    raise AssertionError(f"body atom with an argument {arg!r}")
        found = [(column, name) for name, column in takes.items()] + again
        return tuple(key), tuple(sorted(found)), repeats

    # ── constraints ──

    def _constraint(self, literal: Constraint) -> None:
        left, right = literal.left, literal.right
        if literal.op != "=":
            self._test(literal)
        elif isinstance(left, Record) and isinstance(right, Record):
            for a, b in zip(left.items, right.items, strict=True):
                if not isinstance(a, Wildcard) and not isinstance(b, Wildcard):
                    self._constraint(Constraint("=", a, b, span=literal.span))
        elif isinstance(left, Aggregate) or isinstance(right, Aggregate):
            self._aggregate(literal)
        elif self._is_new(left):
            self._assign(left, right, literal)
        elif self._is_new(right):
            self._assign(right, left, literal)
        elif isinstance(right, Record):
            self._match(left, right, literal)
        elif isinstance(left, Record):
            self._match(right, left, literal)
        else:
            self._test(literal)

    def _is_new(self, term: Term) -> bool:
        return isinstance(term, Variable) and term.name not in self.bound

    def _assign(self, target: Term, term: Term, literal: Constraint) -> None:
        assert isinstance(target, Variable)
        if self._ready(term):
            self.steps.append(Bind(target.name, term))
        else:
            self._unbound(literal)
        self.bound.add(target.name)

    def _aggregate(self, literal: Constraint) -> None:
        aggregate, other = literal.right, literal.left
        if not isinstance(aggregate, Aggregate):
            aggregate, other = other, aggregate
        assert isinstance(aggregate, Aggregate)
        if self._is_new(other) and isinstance(other, Variable):
            self._fold(other.name, aggregate)
            self.bound.add(other.name)
            return
        name = self._name()
        self._fold(name, aggregate)
        self.bound.add(name)
        self._constraint(Constraint("=", Variable(name), other, literal.kind, span=literal.span))

    def _fold(self, variable: str, aggregate: Aggregate) -> None:
        atom = aggregate.body[0]
        if len(aggregate.body) > 1 or not isinstance(atom, Atom) or not _is_lifted(aggregate):
            self._gather(variable, aggregate)
            return
        key: list[tuple[int, Operand]] = []
        target: int | None = None
        for column, arg in enumerate(atom.args):
            if isinstance(arg, Constant) or (isinstance(arg, Variable) and arg.name in self.bound):
                key.append((column, arg))
            if aggregate.target is not None and arg == aggregate.target:
                target = column
        kind = aggregate.kind or Kind.NUMBER
        self.steps.append(
            Fold(variable, aggregate.function, kind, atom.relation, tuple(key), target)
        )

    def _gather(self, variable: str, aggregate: Aggregate) -> None:
        """Plan the body from the bindings so far; every assignment of its variables counts."""
        target = aggregate.target
        assert target is None or isinstance(target, Variable)
        names = tuple(map(Variable, variables(*aggregate.body)))
        rule = Rule((Atom("@gather", names),), aggregate.body, span=aggregate.span)
        body = order_body(rule, bound=self.bound)
        inner = _Builder(rule, rule.head, body)
        inner.bound = set(self.bound)
        inner._fresh = self._fresh
        for position, literal in enumerate(body):
            inner.add(literal, Version.ALL, position, inside=True)
        name = None if target is None else target.name
        kind = aggregate.kind or Kind.NUMBER
        steps = tuple(inner.steps)
        self.steps.append(Gather(variable, aggregate.function, kind, steps, name))

    def _match(self, term: Term, record: Record, literal: Constraint) -> None:
        """Take a known record apart; parts that are known already are compared."""
        if self._ready(record) and self._ready(term):
            self._test(literal)
            return
        if isinstance(term, Variable):
            name = term.name
        else:
            name = self._name()
            self.steps.append(Bind(name, term))
            self.bound.add(name)
        takes: list[tuple[int, str]] = []
        rest: list[Constraint] = []
        for position, item in enumerate(record.items):
            if isinstance(item, Wildcard):
                continue
            if self._is_new(item) and isinstance(item, Variable):
                takes.append((position, item.name))
                self.bound.add(item.name)
                continue
            part = self._name()
            takes.append((position, part))
            self.bound.add(part)
            rest.append(Constraint("=", Variable(part), item, span=literal.span))
        self.steps.append(Unpack(name, len(record.items), tuple(takes)))
        for test in rest:
            self._constraint(test)

    def _test(self, literal: Constraint) -> None:
        if not self._ready(literal.left) or not self._ready(literal.right):
            self._unbound(literal)
        self.steps.append(Test(literal))

    def _ready(self, term: Term) -> bool:
        return all(name in self.bound for name in variables(term)) and not any(
            isinstance(t, Wildcard) for t in _subterms(term)
        )

    def _name(self) -> str:
        return f"@{next(self._fresh)}"

    def _unbound(self, literal: Literal) -> None:
        missing = ", ".join(f"`{n}`" for n in variables(literal) if n not in self.bound)
        raise ProgramError(
            Diagnostic(
                "W0503",
                f"no order of the body gives {missing or 'every variable'} a value in time",
                literal.span or self.rule.span,
                "needed here",
                hint="bind it by a positive atom or an equation whose other side is known",
            )
        )


def _is_lifted(aggregate: Aggregate) -> bool:
    """Say whether the aggregate ranges over one atom of variables, its target among them."""
    (atom,) = aggregate.body
    assert isinstance(atom, Atom)
    names = [arg.name for arg in atom.args if isinstance(arg, Variable)]
    plain = len(set(names)) == len(atom.args)
    return plain and (aggregate.target is None or aggregate.target in atom.args)


def _subterms(term: Term) -> Iterator[Term]:
    pending: list[Term] = [term]
    while pending:
        current = pending.pop()
        yield current
        match current:
            case Record(items=items):
                pending.extend(items)
            case Aggregate():
                pass
            case _:
                inner: Iterable[Term] = getattr(current, "args", ())
                pending.extend(inner)
