"""From a localized rule to its strands: one for each literal whose change matters.

The literal that changed comes first; whatever can be computed or tested is, as soon as it can;
then the atom with most columns known is joined. Loo 2006, algorithms 5.1, 5.4 and 5.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from whence.diagnostics import Diagnostic, ProgramError
from whence.network.model import Value
from whence.network.strands.functions import DRAWN, pure
from whence.network.strands.plan import (
    FIRST,
    Absent,
    Apply,
    Assign,
    Either,
    Every,
    Expression,
    Fold,
    Head,
    Join,
    Mode,
    Slot,
    Step,
    StrandPlan,
    Test,
)
from whence.syntax.nodes import (
    Atom,
    Call,
    Conjunction,
    Constant,
    Constraint,
    Disjunction,
    HeadAggregate,
    InInterval,
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
    walk,
)


def plan_strand(rule: Rule, mode: Mode, start: int, *, event: bool) -> StrandPlan:
    """Return the strand of a rule with one head that starts where literal `start` changes."""
    return _Planner(rule, start).plan(mode, event)


def constant(term: Term) -> Value:
    """Return the value of a term without variables in a fact; raise where it is none."""
    match term:
        case Constant(value=value):
            return value
        case Nil():
            return ()
        case Record(items=items):
            return tuple(constant(item) for item in items)
        case Call(functor="neg", args=(Constant(value=int() | float() as value),)):
            return -value
        case _:
            raise ProgramError(
                Diagnostic("W1351", "a fact of a network is made of constants", term.span)
            )


def _draws(literal: Literal) -> bool:
    """Say whether a literal throws dice, which is done for each instance of a body by itself."""
    return any(isinstance(node, Call) and node.functor in DRAWN for node in walk(literal))


class _Planner:
    """The slots of one strand as they are given out, and the steps so far."""

    def __init__(self, rule: Rule, start: int) -> None:
        self.rule = rule
        self.body = rule.body
        self.start = start
        self.slots: dict[str, int] = {}
        self.constants: dict[tuple[type, Value], int] = {}
        self.next = FIRST
        self.steps: list[Step] = []

    def plan(self, mode: Mode, event: bool) -> StrandPlan:
        literal = self.body[self.start]
        delta = literal.literal if isinstance(literal, Negation) else literal
        assert isinstance(delta, Atom)
        width = len(delta.args)
        first = self.take(width)
        self.bind_columns(delta, first, range(width))
        known_by_event = set(self.slots)
        rest = [(n, item) for n, item in enumerate(self.body) if n != self.start]
        self.order(rest, delta.relation)
        head = self.head(self.rule.heads[0], self.rule.delete)
        groups = [arg for arg in self.rule.heads[0].args if not isinstance(arg, HeadAggregate)]
        return StrandPlan(
            rule=self.rule.name,
            identity=repr(replace(self.rule, name="")),
            mode=mode,
            position=self.start,
            relation=delta.relation,
            width=width,
            negated=isinstance(literal, Negation),
            delta_columns=tuple(
                c for c, arg in enumerate(delta.args) if not isinstance(arg, Wildcard)
            ),
            event=event,
            constants=tuple((slot, value) for (_, value), slot in self.constants.items()),
            steps=tuple(self.steps),
            head=head,
            size=self.next,
            zero=event
            and bool(head.folds)
            and all(fold.function == "count" for fold in head.folds)
            and all(variables(arg).keys() <= known_by_event for arg in groups),
        )

    def take(self, count: int = 1) -> int:
        """Return the first of some new slots."""
        first = self.next
        self.next += count
        return first

    # ── the order of a body ──────────────────────────────────────────────────────────

    def order(self, waiting: list[tuple[int, Literal]], changed: str) -> None:
        while waiting:
            atoms = [entry for entry in waiting if isinstance(entry[1], Atom)]
            ready = next(
                (e for e in waiting if self.ready(e[1]) and not (atoms and _draws(e[1]))), None
            )
            if ready is not None:
                waiting.remove(ready)
                self.condition(*ready, changed)
                continue
            if not atoms:
                unbound = waiting[0][1]
                raise ProgramError(
                    Diagnostic(
                        "W1350",
                        "this can be computed by no order of the body",
                        unbound.span,
                        hint="bind its variables in an atom of the body",
                    )
                )
            best = max(atoms, key=lambda entry: (self.known(entry[1]), -entry[0]))
            waiting.remove(best)
            assert isinstance(best[1], Atom)
            self.join(*best, changed)  # type: ignore[arg-type]

    def bound(self, term: Term | Literal) -> bool:
        return variables(term).keys() <= self.slots.keys()

    def known(self, atom: Literal) -> int:
        assert isinstance(atom, Atom)
        return sum(not isinstance(arg, Wildcard) and self.bound(arg) for arg in atom.args)

    def ready(self, literal: Literal) -> bool:
        match literal:
            case Atom():
                return False
            case Constraint(op="=" | "==", left=left, right=right):
                return (
                    (self.bound(left) or isinstance(left, Variable))
                    and (self.bound(right) or isinstance(right, Variable))
                    and (self.bound(left) or self.bound(right))
                )
            case _:
                return self.bound(literal)

    def condition(self, position: int, literal: Literal, changed: str) -> None:
        match literal:
            case Constraint(op="=" | "==", left=Variable(name=name), right=right) if (
                name not in self.slots
            ):
                self.define(name, right)
            case Constraint(op="=" | "==", left=left, right=Variable(name=name)) if (
                name not in self.slots
            ):
                self.define(name, left)
            case Negation(literal=Atom() as atom):
                columns = tuple(
                    c for c, arg in enumerate(atom.args) if not isinstance(arg, Wildcard)
                )
                key = tuple(self.slot(atom.args[c]) for c in columns)
                earlier = position < self.start and atom.relation == changed
                self.steps.append(Absent(atom.relation, columns, key, position, earlier))
            case _:
                self.steps.append(Test(self.test(literal)))

    def define(self, name: str, term: Term) -> None:
        value = self.expression(term)
        if isinstance(value, Slot):
            self.slots[name] = value.index
        else:
            slot = self.take()
            self.steps.append(Assign(slot, value))
            self.slots[name] = slot

    def join(self, position: int, atom: Atom, changed: str) -> None:
        columns = tuple(
            c
            for c, arg in enumerate(atom.args)
            if not isinstance(arg, Wildcard) and self.bound(arg)
        )
        key = tuple(self.slot(atom.args[c]) for c in columns)
        start, row = self.take(len(atom.args)), self.take()
        self.steps.append(
            Join(
                atom.relation,
                columns,
                key,
                start,
                len(atom.args),
                row,
                position,
                position < self.start and atom.relation == changed,
            )
        )
        self.bind_columns(atom, start, [c for c in range(len(atom.args)) if c not in columns])

    def bind_columns(self, atom: Atom, start: int, columns: Sequence[int]) -> None:
        """Give variables the slots of their columns; test what else stands in columns."""
        rest: list[tuple[int, Term]] = []
        for column in columns:
            arg = atom.args[column]
            if isinstance(arg, Wildcard):
                continue
            if isinstance(arg, Variable) and arg.name not in self.slots:
                self.slots[arg.name] = start + column
            else:
                rest.append((start + column, arg))
        for slot, arg in rest:
            self.steps.append(Test(Apply("=", (Slot(slot), self.expression(arg)))))

    # ── terms ────────────────────────────────────────────────────────────────────────

    def slot(self, term: Term) -> int:
        """Return the slot that will hold a term whose variables are known."""
        value = self.expression(term)
        if isinstance(value, Slot):
            return value.index
        slot = self.take()
        self.steps.append(Assign(slot, value))
        return slot

    def expression(self, term: Term) -> Expression:
        match term:
            case Variable(name=name):
                return Slot(self.slots[name])
            case Constant(value=value):
                return self.fixed(value)
            case Nil():
                return self.fixed(())
            case Record(items=()):
                return self.fixed(())
            case Record(items=items):
                return Apply("list", tuple(self.expression(item) for item in items))
            case Call(functor=functor, args=args):
                return self.call(functor, tuple(self.expression(arg) for arg in args))
            case _:
                raise ProgramError(Diagnostic("W1352", "a network has no such term", term.span))

    def call(self, functor: str, args: tuple[Expression, ...]) -> Expression:
        """Return a call, or its value where it is the same for ever, such as `1 << 160`."""
        values = {slot: value for (_, value), slot in self.constants.items()}
        if all(isinstance(arg, Slot) and arg.index in values for arg in args) and args:
            function = pure(functor)
            if function is not None:
                with suppress(ArithmeticError, TypeError, ValueError):
                    return self.fixed(
                        function(*[values[arg.index] for arg in args if isinstance(arg, Slot)])
                    )
        return Apply(functor, args)

    def fixed(self, value: Value) -> Slot:
        key = (type(value), value)  # 1, 1.0 and true are equal but not the same
        if key not in self.constants:
            self.constants[key] = self.take()
        return Slot(self.constants[key])

    def test(self, literal: Literal) -> Expression:
        match literal:
            case Constraint(op=op, left=left, right=right):
                name = "=" if op == "==" else op
                return Apply(name, (self.expression(left), self.expression(right)))
            case InInterval(item=item, low=low, high=high):
                ends = ("[" if literal.closed_low else "(") + ("]" if literal.closed_high else ")")
                args = tuple(self.expression(side) for side in (item, low, high))
                return Apply(f"in {ends}", args)
            case Disjunction(items=items):
                return Either(tuple(self.test(item) for item in items))
            case Conjunction(items=items):
                return Every(tuple(self.test(item) for item in items))
            case Negation(literal=inner):
                return Apply("not", (self.test(inner),))
            case Truth(value=value):
                return self.fixed(value)
            case _:
                raise ProgramError(
                    Diagnostic(
                        "W1353",
                        "an atom cannot stand in a condition",
                        literal.span,
                        hint="write one rule for each side of the `||`",
                    )
                )

    def head(self, head: Atom, delete: bool) -> Head:
        slots: list[int] = []
        folds: list[Fold] = []
        for column, arg in enumerate(head.args):
            if isinstance(arg, HeadAggregate):
                target = None if arg.target is None else self.slot(arg.target)
                folds.append(Fold(column, arg.function, target))
                slots.append(0)
            else:
                slots.append(self.slot(arg))
        return Head(head.relation, tuple(slots), head.location, tuple(folds), delete)


def single_headed(rule: Rule) -> list[Rule]:
    """Return the rule as rules with one head each, and atoms first in a body without conjunctions.

    With an atom first, the strand that starts there has nothing before it that must not see the
    change: run over all rows it derives everything, once.
    """
    flat = _flat(rule.body)
    body = (
        *(item for item in flat if isinstance(item, Atom)),
        *(item for item in flat if not isinstance(item, Atom)),
    )
    return [replace(rule, heads=(head,), body=body) for head in rule.heads]


def _flat(body: Sequence[Literal]) -> list[Literal]:
    """Return the literals of a body, those of conjunctions among them."""
    flat: list[Literal] = []
    for item in body:
        if isinstance(item, Conjunction):
            flat.extend(_flat(item.items))
        else:
            flat.append(item)
    return flat
