"""Aggregates over one atom each: what they range over becomes a relation of its own.

The relation `@agg0` has the variables the aggregate shares with its rule as leading columns,
then all its other variables, because every distinct assignment counts once. Where the body
needs shared variables that it does not bind itself, `@ctx0` supplies them from the rule; where
only the recursion that the rule is part of knows them, the aggregate stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field, replace

from whence.diagnostics import Diagnostic, raise_errors
from whence.rewrite.column_types import Schema, declare, relation_names
from whence.rewrite.dependencies import recursion
from whence.rewrite.normalise import Flat, aggregate_bodies
from whence.rewrite.scope_aggregates import scope_rule
from whence.rewrite.terms import (
    Names,
    as_rule,
    as_subsumption,
    bound_by,
    level_aggregates,
    level_names,
    names,
    newly_bound,
    rule_names,
    substitute,
)
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Constant,
    Constraint,
    Kind,
    Literal,
    Negation,
    Nil,
    Program,
    RelationDecl,
    Rule,
    Term,
    Variable,
    Wildcard,
)

_DEFAULTS: dict[str, Term] = {
    "number": Constant(0, Kind.NUMBER),
    "unsigned": Constant(0, Kind.UNSIGNED),
    "float": Constant(0.0, Kind.FLOAT),
    "symbol": Constant("", Kind.SYMBOL),
}


def lift_aggregates(program: Program) -> Program:
    """Make each aggregate range over one atom of distinct variables.

    >>> from whence.syntax.souffle import parse
    >>> print(lift_aggregates(parse("a(x, n) :- b(x), n = count : { c(x, y), d(y) }.")))
    .decl @agg0(x: number, y: number)
    a(x, n) :- b(x), n = count : { @agg0(x, y) }.
    @agg0(x, y) :- c(x, y), d(y).
    """
    if not any(_has_aggregate(rule.body) for rule in program.rules) and not any(
        _has_aggregate(s.body) for s in program.subsumptions
    ):
        return program
    lifting = _Lifting(program)
    rules = [lifting.lift(rule) for rule in program.rules]
    subsumptions = [
        as_subsumption(lifting.lift(as_rule(s))) if _has_aggregate(s.body) else s
        for s in program.subsumptions
    ]
    while lifting.added:
        # What stands inside an aggregate may itself hold aggregates, now one level further out.
        rules.append(lifting.lift(scope_rule(lifting.added.pop(0))))
    raise_errors(lifting.errors)
    return replace(
        program,
        relations=(*program.relations, *lifting.declared),
        rules=tuple(rules),
        subsumptions=tuple(subsumptions),
    )


def _has_aggregate(body: Iterable[Literal]) -> bool:
    return any(
        isinstance(literal, Constraint) and isinstance(literal.right, Aggregate) for literal in body
    )


@dataclass
class _Lifting:
    """The program being lifted, and the relations and rules added so far."""

    program: Program
    declared: list[RelationDecl] = field(default_factory=list)
    added: list[Rule] = field(default_factory=list)
    errors: list[Diagnostic] = field(default_factory=list)
    recursion: dict[str, int] | None = None

    def __post_init__(self) -> None:
        self.schema = Schema(self.program)
        self.inlined = {d.name for d in self.program.relations if "inline" in d.qualifiers}
        self.agg_names = relation_names(self.schema.relations, "@agg")
        self.ctx_names = relation_names(self.schema.relations, "@ctx")
        self.known: dict[tuple[object, ...], Atom] = {}

    def lift(self, rule: Rule) -> Rule:
        if not _has_aggregate(rule.body):
            return rule
        supply = Names(rule_names(rule))
        level = level_names(*rule.heads, *rule.body).keys()
        body: list[Literal] = []
        for literal in rule.body:
            match literal:
                case Constraint(op="=", left=Variable() as left, right=Aggregate() as right):
                    others = tuple(o for o in rule.body if o is not literal)
                    aggregate = self._over_one_atom(right, rule, others, level, supply)
                    if left.name in bound_by(others, level):
                        fresh = Variable(supply.fresh(), span=left.span)
                        body.append(replace(literal, left=fresh, right=aggregate))
                        body.append(replace(literal, right=fresh))
                    else:
                        body.append(replace(literal, right=aggregate))
                case _:
                    body.append(literal)
        return replace(rule, body=tuple(body))

    def _over_one_atom(
        self, aggregate: Aggregate, rule: Rule, others: Flat, level: Set[str], supply: Names
    ) -> Aggregate:
        shared = [name for name in names(aggregate) if name in level]
        bodies = aggregate_bodies(aggregate)
        if self._ranges_over_an_atom(aggregate, bodies, shared):
            return aggregate
        target = aggregate.target
        if target is not None and not isinstance(target, Variable):
            target = Variable(supply.fresh(), span=aggregate.span)
            equation = Constraint(
                "=", target, _given(aggregate.target), aggregate.kind, span=aggregate.span
            )
            bodies = [(*body, equation) for body in bodies]
        inner_level = [level_names(*body) | dict.fromkeys(shared) for body in bodies]
        missing: dict[str, None] = {}
        for body, inside in zip(bodies, inner_level, strict=True):
            bound = bound_by(body, inside.keys())
            missing |= {name: None for name in shared if name not in bound}
        if missing and self._is_correlated(list(missing), rule, others, level, bodies):
            return replace(
                aggregate, target=target, body=tuple(_with_simple_atoms(bodies[0], supply))
            )
        context = self._context(list(missing), rule, others, level, aggregate)
        columns = _columns(aggregate, target, shared, inner_level)
        atom = self._relation(columns, shared, bodies, context, aggregate)
        return replace(aggregate, target=target, body=(atom,))

    def _is_correlated(
        self, missing: list[str], rule: Rule, others: Flat, level: Set[str], bodies: list[Flat]
    ) -> bool:
        """Say whether the aggregate has to be computed binding by binding.

        It has when only the recursion that it stands in knows the variables it misses. The
        engine can do that for one flat body without aggregates.
        """
        recursive = self._recursive_with(rule.heads[0].relation)
        if _binding_literals(missing, others, level, recursive) is not None or len(bodies) != 1:
            return False
        return not any(level_aggregates(literal) for literal in bodies[0])

    def _ranges_over_an_atom(
        self, aggregate: Aggregate, bodies: list[Flat], shared: list[str]
    ) -> bool:
        match bodies:
            case [(Atom(relation=relation, args=args),)] if relation not in self.inlined:
                own = [arg.name for arg in args if isinstance(arg, Variable)]
                target = aggregate.target
                return (
                    len(set(own)) == len(args)
                    and set(shared) <= set(own)
                    and (target is None or (isinstance(target, Variable) and target.name in own))
                )
            case _:
                return False

    def _relation(
        self,
        columns: dict[str, None],
        shared: list[str],
        bodies: list[Flat],
        context: Flat,
        aggregate: Aggregate,
    ) -> Atom:
        """Return an atom over the relation of the assignments, adding it when it is new."""
        key = _shape(columns, context, bodies)
        if key in self.known:
            known = self.known[key]
            extra = known.args[len(columns) :]
            return replace(known, args=(*map(Variable, columns), *extra), span=aggregate.span)
        rules = [
            Rule((Atom("@agg", ()),), (*context, *body), span=aggregate.span) for body in bodies
        ]
        types = self.schema.variable_types(*rules)
        own = [level_names(*body).keys() | set(shared) for body in bodies]
        heads = [
            tuple(Variable(c) if c in inside else self._default(types.get(c)) for c in columns)
            for inside in own
        ]
        typed = {column: types.get(column) for column in columns}
        variables: tuple[Term, ...] = tuple(map(Variable, columns))
        if len({frozenset(inside & columns.keys()) for inside in own}) > 1:
            # Alternatives that bind different variables never give the same assignment.
            tag = next(name for name in _tags() if name not in columns)
            typed[tag] = "number"
            variables += (Variable(tag),)
            heads = [(*h, Constant(i, Kind.NUMBER)) for i, h in enumerate(heads)]
        name = next(self.agg_names)
        self._declare(name, typed)
        self.added.extend(
            replace(rule, heads=(Atom(name, args, span=aggregate.span),))
            for rule, args in zip(rules, heads, strict=True)
        )
        atom = self.known[key] = Atom(name, variables, span=aggregate.span)
        return atom

    def _default(self, type_name: str | None) -> Term:
        return _DEFAULTS.get(type_name or "", Nil())

    def _declare(self, name: str, columns: dict[str, str | None]) -> None:
        decl = declare(name, columns)
        self.declared.append(decl)
        self.schema.relations[name] = decl

    def _recursive_with(self, relation: str) -> set[str]:
        if self.recursion is None:
            self.recursion = recursion(self.program)
        stratum = self.recursion.get(relation)
        return {name for name, s in self.recursion.items() if s == stratum}

    def _context(
        self, missing: list[str], rule: Rule, others: Flat, level: Set[str], aggregate: Aggregate
    ) -> Flat:
        """Return an atom that binds the missing variables to what the rule may give them."""
        if not missing:
            return ()
        recursive = self._recursive_with(rule.heads[0].relation)
        body = _binding_literals(missing, others, level, recursive)
        if body is None:
            self.errors.append(
                Diagnostic(
                    "W0502",
                    f"the aggregate depends on {_quoted(missing)} of the recursion it stands in",
                    aggregate.span,
                    "has to be known before the recursion starts",
                    hint="bind the variable by an atom inside the aggregate, "
                    "or by a relation that does not depend on the head",
                )
            )
            return ()
        types = self.schema.variable_types(Rule(rule.heads, (*body, *others)))
        args = tuple(map(Variable, missing))
        key = _shape(dict.fromkeys(missing), (), [body])
        if key in self.known:
            return (replace(self.known[key], args=args, span=aggregate.span),)
        name = next(self.ctx_names)
        self._declare(name, {column: types.get(column) for column in missing})
        head = self.known[key] = Atom(name, args, span=aggregate.span)
        self.added.append(Rule((head,), body, span=aggregate.span))
        return (head,)


def _with_simple_atoms(body: Flat, supply: Names) -> Iterator[Literal]:
    """Yield the body with equations for the arguments of atoms that are not plain."""
    for literal in body:
        atom = literal.literal if isinstance(literal, Negation) else literal
        if not isinstance(atom, Atom):
            yield literal
            continue
        args: list[Term] = []
        for arg in atom.args:
            if not isinstance(arg, Variable | Wildcard | Constant | Nil):
                fresh = Variable(supply.fresh(), span=arg.span)
                yield Constraint("=", fresh, arg, span=arg.span)
                arg = fresh
            args.append(arg)
        plain = replace(atom, args=tuple(args))
        yield replace(literal, literal=plain) if isinstance(literal, Negation) else plain


def _shape(columns: dict[str, None], context: Flat, bodies: list[Flat]) -> tuple[object, ...]:
    """Return what two relations have in common when they differ only in names."""
    known = columns | names(*context, *(literal for body in bodies for literal in body))
    by: dict[str, Term] = {name: Variable(f"@{i}") for i, name in enumerate(known)}
    literals = [tuple(substitute(o, by) for o in body) for body in (context, *bodies)]
    return (len(columns), *literals)


def _given(term: Term | None) -> Term:
    assert term is not None
    return term


def _quoted(found: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in found)


def _tags() -> Iterator[str]:
    yield from (f"_alternative{'_' * i}" for i in range(1, 1000))


def _columns(
    aggregate: Aggregate, target: Term | None, shared: list[str], levels: list[dict[str, None]]
) -> dict[str, None]:
    """Return the columns of the assignments, the shared variables first."""
    columns = dict.fromkeys(shared)
    if aggregate.function in ("min", "max") and isinstance(target, Variable):
        # How often a value occurs does not change the least or greatest.
        return columns | {target.name: None}
    for inside in levels:
        columns |= inside
    return columns


def _binding_literals(
    missing: list[str], others: Flat, level: Set[str], recursive: Set[str]
) -> Flat | None:
    """Return literals of the rule that bind the missing variables, from below its stratum."""
    usable = [o for o in others if not (isinstance(o, Atom) and o.relation in recursive)]
    chosen: list[int] = []
    bound: set[str] = set()
    wanted = set(missing)
    if not wanted <= bound_by(usable, level):
        return None
    while not wanted <= bound:
        ready = [
            (i, set(new) - bound)
            for i, literal in enumerate(usable)
            if i not in chosen and (new := newly_bound(literal, bound, level)) is not None
        ]
        # The literal that binds most of what is wanted; any that binds something, if none does.
        best = max(ready, key=lambda item: (len(item[1] & wanted), len(item[1]) > 0, -item[0]))
        chosen.append(best[0])
        bound |= best[1]
    kept = sorted(chosen)
    # Tests come along, so that nothing is computed for values that the rule would drop.
    kept += [
        i
        for i, literal in enumerate(usable)
        if i not in chosen
        and not isinstance(literal, Atom)
        and not level_aggregates(literal)
        and names(literal).keys() <= bound
    ]
    return tuple(usable[i] for i in kept)
