"""Simple arguments in body atoms: expressions and records move into equations.

A head keeps its expressions, since nothing has to be matched against them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from whence.rewrite.column_types import Schema, declare, relation_names
from whence.rewrite.terms import (
    Names,
    as_rule,
    as_subsumption,
    level_names,
    level_nodes,
    rule_names,
    term_kind,
)
from whence.syntax.nodes import (
    Atom,
    Constant,
    Constraint,
    Literal,
    Negation,
    Nil,
    Program,
    Record,
    RelationDecl,
    Rule,
    Term,
    Truth,
    Variable,
    Wildcard,
)

_SIMPLE = (Variable, Wildcard, Constant, Nil)


def flatten_terms(program: Program) -> Program:
    """Leave only variables, wildcards and constants as arguments of body atoms.

    >>> from whence.syntax.souffle import parse
    >>> print(flatten_terms(parse("a(x) :- b(x + 1, [x, y]), !c(y * 2).")))
    a(x) :- b(_1, _2), _1 = x + 1, _2 = [x, y], _3 = y * 2, !c(_3).
    """
    flattening = _Flattening(program)
    rules = [flattening.rule(rule) for rule in program.rules]
    subsumptions = [
        as_subsumption(flattening.rule(as_rule(subsumption)))
        for subsumption in program.subsumptions
    ]
    return replace(
        program,
        relations=(*program.relations, *flattening.declared),
        rules=(*rules, *flattening.added),
        subsumptions=tuple(subsumptions),
    )


def _is_flat(literal: Literal) -> bool:
    match literal:
        case Atom(args=args) | Negation(literal=Atom(args=args)):
            return all(isinstance(arg, _SIMPLE) for arg in args)
        case Constraint(op="=", left=left, right=right):
            return _is_flat_side(left, right) and _is_flat_side(right, left)
        case _:
            return True


def _is_flat_side(side: Term, other: Term) -> bool:
    if not isinstance(side, Record):
        return True
    return isinstance(other, Variable) and all(isinstance(item, _SIMPLE) for item in side.items)


@dataclass
class _Flattening:
    """A program on its way; projections for negated patterns are added to it."""

    program: Program
    declared: list[RelationDecl] = field(default_factory=list)
    added: list[Rule] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.schema = Schema(self.program)
        self.names = relation_names(self.schema.relations, "@not")

    def rule(self, rule: Rule) -> Rule:
        if all(map(_is_flat, rule.body)):
            return rule
        supply = Names(rule_names(rule))
        body: list[Literal] = []
        after: list[Literal] = []
        for literal in rule.body:
            match literal:
                case Atom():
                    body.append(self._atom(literal, supply, after))
                    body.extend(after)
                case Negation(literal=Atom() as atom):
                    if any(isinstance(a, Record) and _has_wildcard(a) for a in atom.args):
                        atom = self._projected(atom, supply, after)
                    flat = self._atom(atom, supply, after)
                    body.extend((*after, replace(literal, literal=flat)))
                case Constraint(op="=") if not _is_flat(literal):
                    self._equation(literal, supply, after)
                    body.extend(after)
                case _:
                    body.append(literal)
            after.clear()
        # The two atoms that a subsumption compares stay the first two literals.
        if rule.heads[0].relation == "@subsumes":
            body.sort(key=lambda literal: not isinstance(literal, Atom))
        return replace(rule, body=tuple(body))

    def _atom(self, atom: Atom, supply: Names, equations: list[Literal]) -> Atom:
        args: list[Term] = []
        for arg in atom.args:
            if isinstance(arg, _SIMPLE):
                args.append(arg)
                continue
            variable = Variable(supply.fresh(), span=arg.span)
            args.append(variable)
            equation = Constraint("=", variable, arg, term_kind(arg), span=arg.span)
            self._equation(equation, supply, equations)
        return Atom(atom.relation, tuple(args), span=atom.span)

    def _equation(self, equation: Constraint, supply: Names, out: list[Literal]) -> None:
        """Add an equation whose records are one level deep and stand opposite a variable."""
        pending = [equation]
        while pending:
            current = pending.pop()
            left, right = current.left, current.right
            match left, right:
                case (Wildcard(), _) | (_, Wildcard()):
                    continue
                case Record(items=items), Record(items=others):
                    pending.extend(
                        Constraint("=", a, b, term_kind(a) or term_kind(b), span=current.span)
                        for a, b in reversed(list(zip(items, others, strict=True)))
                    )
                case (Record(), Nil()) | (Nil(), Record()):
                    out.append(Truth(False, span=current.span))
                case (Record() as record, Variable() as other) | (
                    Variable() as other,
                    Record() as record,
                ):
                    out.append(self._unnest(current, other, record, supply, pending))
                case (Record() as record, other) | (other, Record() as record):
                    variable = Variable(supply.fresh(), span=other.span)
                    out.append(replace(current, left=variable, right=other))
                    pending.append(replace(current, left=variable, right=record))
                case _:
                    out.append(current)

    def _unnest(
        self,
        equation: Constraint,
        other: Variable,
        record: Record,
        supply: Names,
        pending: list[Constraint],
    ) -> Constraint:
        items: list[Term] = []
        inner: list[Constraint] = []
        for item in record.items:
            if isinstance(item, _SIMPLE):
                items.append(item)
                continue
            variable = Variable(supply.fresh(), span=item.span)
            items.append(variable)
            inner.append(Constraint("=", variable, item, term_kind(item), span=item.span))
        pending.extend(reversed(inner))
        flat = replace(record, items=tuple(items))
        return replace(equation, left=other, right=flat)

    def _projected(self, atom: Atom, supply: Names, equations: list[Literal]) -> Atom:
        """Return an atom of variables that holds when the pattern matches some tuple.

        `!p([x, _])` says that no tuple matches, which a test of one value cannot.
        """

        def name_computed(term: Term) -> Term:
            if isinstance(term, _SIMPLE):
                return term
            if isinstance(term, Record):
                return replace(term, items=tuple([name_computed(item) for item in term.items]))
            variable = Variable(supply.fresh(), span=term.span)
            equations.append(Constraint("=", variable, term, term_kind(term), span=term.span))
            return variable

        atom = replace(atom, args=tuple(map(name_computed, atom.args)))
        names = level_names(*atom.args)
        columns: tuple[Term, ...] = tuple(map(Variable, names))
        rule = Rule((Atom("@not", columns),), (atom,), span=atom.span)
        types = self.schema.variable_types(rule)
        name = next(self.names)
        decl = declare(name, {column: types.get(column) for column in names})
        self.declared.append(decl)
        self.schema.relations[name] = decl
        head = Atom(name, columns, span=atom.span)
        self.added.append(self.rule(replace(rule, heads=(head,))))
        return head


def _has_wildcard(term: Term) -> bool:
    return any(isinstance(node, Wildcard) for node in level_nodes(term))
