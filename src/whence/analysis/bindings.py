"""Safety: every variable gets a value from the body, every `_` stands where no value is needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from whence.analysis.bound import bound_names, outer_names
from whence.analysis.clauses import Clause, clauses_of
from whence.analysis.hints import Hints
from whence.analysis.inlining import Expansion
from whence.analysis.scopes import Scoped, display, scope
from whence.analysis.traverse import inside, level, level_names
from whence.diagnostics import Diagnostic
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constraint,
    Literal,
    Negation,
    Program,
    Record,
    Rule,
    Term,
    Variable,
    Wildcard,
)

_WITNESSED = ("min", "max")


def check_bindings(program: Program) -> list[Diagnostic]:
    """Report the variables without a value, the `_` that stand for one, and facts with either."""
    inlined = Expansion(program)
    hints = Hints()
    found: list[Diagnostic] = []
    for clause in clauses_of(program):
        if clause.is_fact:
            found.extend(_check_fact(clause.head))
        else:
            found.extend(_check_clause(clause, inlined, hints))
    return found


def _check_fact(head: Atom) -> Iterator[Diagnostic]:
    for node in level(*head.args):
        if type(node) is Variable:
            yield Diagnostic(
                "W0206",
                f"variable `{node.name}` in a fact",
                node.span,
                "a fact has only constants",
                hint=f'write "{node.name}" if a symbol is meant, or give the rule a body',
            )
        elif type(node) is Wildcard:
            yield Diagnostic("W0206", "`_` in a fact", node.span, "a fact has only constants")


def _check_clause(clause: Clause, inlined: Expansion, hints: Hints) -> Iterator[Diagnostic]:
    if isinstance(clause.origin, Rule):
        yield from _check_head_wildcards(clause.head)
    yield from _check_wildcards(clause.body)
    # A clause of an inlined relation stands in for its atoms, which bind what its head names.
    given = level_names(clause.head) if clause.head.relation in inlined.relations else {}
    bound = bound_names(clause.body, given=given)
    if inlined.touches(clause.body):
        for body in inlined.bodies(clause.body):
            bound &= bound_names(body, given=given)
    names = level_names(clause.head, *clause.body)
    scoped = scope(clause)
    if scoped.clause is clause:  # no aggregates
        if not names.keys() <= bound:
            yield from _check_level(clause, bound, hints)
        return
    for name, aggregate in scoped.witnesses.items():
        if aggregate.function in _WITNESSED:
            bound.add(name)
        else:
            yield _witness(name, aggregate)
    names = level_names(scoped.clause.head, *scoped.clause.body)
    reported = scoped.witnesses.keys() - bound
    if not names.keys() <= bound | reported:
        yield from _check_level(scoped.clause, bound | reported, hints)
    yield from _check_aggregates(scoped, bound | reported, hints)
    yield from _check_mutual(scoped, bound | reported)


def _check_level(clause: Clause, bound: Set[str], hints: Hints) -> Iterator[Diagnostic]:
    """Report the unbound variables outside of aggregates, each where it hurts first."""
    seen: set[str] = set()
    places: list[tuple[str, Iterable[Term | Literal]]] = [("in the head ", clause.head.args)]
    for literal in clause.body:
        match literal:
            case Negation():
                places.append(("under negation ", (literal,)))
            case Constraint():
                places.append(("in a comparison ", (literal,)))
            case Atom():
                places.append(("in an expression ", literal.args))
            case _:
                pass
    for where, nodes in places:
        for name, variable in level_names(*nodes).items():
            if name not in bound and name not in seen:
                seen.add(name)
                yield _unbound(variable, where, bound, hints)


def _check_aggregates(scoped: Scoped, bound: Set[str], hints: Hints) -> Iterator[Diagnostic]:
    pending = [
        (node, bound)
        for node in level(scoped.clause.head, *scoped.clause.body)
        if isinstance(node, Aggregate)
    ]
    while pending:
        aggregate, around = pending.pop()
        own = bound_names(aggregate.body, given=around)
        target = frozenset() if aggregate.target is None else level_names(aggregate.target).keys()
        for name, variable in level_names(*inside(aggregate)).items():
            if name not in own:
                place = "in the target of an aggregate " if name in target else "in an aggregate "
                yield _unbound(variable, place, own, hints)
        yield from _check_wildcards(aggregate.body)
        if aggregate.target is not None:
            yield from _forbidden(aggregate.target, "of an aggregate")
        pending.extend(
            (node, own) for node in level(*inside(aggregate)) if isinstance(node, Aggregate)
        )


def _check_mutual(scoped: Scoped, bound: Set[str]) -> Iterator[Diagnostic]:
    clause = scoped.clause
    computable = bound_names(clause.body, given=scoped.witnesses, shared=True)
    for node in level(*clause.body):
        if isinstance(node, Aggregate) and not (outer_names(node) & bound) <= computable:
            yield Diagnostic(
                "W0210",
                "this aggregate needs the value of another that needs its own",
                node.span,
                "cannot be computed first",
                hint="compute one of the aggregates in a rule of its own",
            )


def _unbound(variable: Variable, where: str, bound: Iterable[str], hints: Hints) -> Diagnostic:
    name = display(variable.name)
    near = hints.near(name, sorted({display(other) for other in bound} - {name}))
    if where.startswith("in the head"):
        rule = "a head variable must appear in a positive atom of the body"
    elif where.startswith("in the target"):
        rule = "a variable of the target must be bound inside the aggregate"
    else:
        rule = "a variable gets its value from a positive atom or an equation of the body"
    return Diagnostic(
        "W0203",
        f"variable `{name}` {where}is not bound by the body",
        variable.span,
        "never given a value",
        hint=f"did you mean `{near}`? {rule}" if near else rule,
    )


def _witness(name: str, aggregate: Aggregate) -> Diagnostic:
    variable = level_names(*inside(aggregate))[name]
    return Diagnostic(
        "W0209",
        f"variable `{display(name)}` is bound only inside a {aggregate.function} aggregate",
        variable.span,
        "its value is not known outside",
        hint="only a min or max aggregate can say where its value came from",
    )


# ── wildcards ────────────────────────────────────────────────────────────────────────


def _check_head_wildcards(head: Atom) -> Iterator[Diagnostic]:
    for node in level(*head.args):
        if type(node) is Wildcard:
            yield Diagnostic(
                "W0205", "`_` in the head of a rule", node.span, "the head needs a value here"
            )


def _check_wildcards(body: Iterable[Literal]) -> Iterator[Diagnostic]:
    """Report each `_` that is not an argument of an atom or an item of a record that one binds."""
    for literal in body:
        match literal:
            case Atom(args=args):
                for arg in args:
                    yield from _forbidden(arg, "of an expression", plain=True, record=True)
            case Negation(literal=Atom(args=args)):
                for arg in args:
                    yield from _forbidden(arg, "of an expression", plain=True)
            case Constraint(op=op, left=left, right=right):
                # `_ = count : { … }` asks for a value, whichever.
                aggregate = isinstance(left, Aggregate) or isinstance(right, Aggregate)
                for side in (left, right):
                    yield from _forbidden(
                        side, "of a comparison", plain=aggregate and op == "=", record=op == "="
                    )
            case _:
                pass


def _forbidden(
    term: Term, what: str, *, plain: bool = False, record: bool = False
) -> Iterator[Diagnostic]:
    """Report `_` inside; `plain` allows the term itself, `record` items of records at its top."""
    allowed: set[int] = {id(term)} if plain else set()
    if record:
        pending = [term]
        while pending:
            node = pending.pop()
            if type(node) is Record:
                allowed.update(map(id, node.items))
                pending.extend(node.items)
    for inner in level(term):
        if type(inner) is Wildcard and id(inner) not in allowed:
            yield Diagnostic(
                "W0205",
                f"`_` as an operand {what}",
                inner.span,
                "a value is needed here",
                hint="name the variable, and bind it",
            )
