"""The kinds of columns, types and variables of a program whose types are resolved."""

from __future__ import annotations

from collections.abc import Mapping

from whence.analysis.typesystem import TypeSystem
from whence.functor.aggregate import AGGREGATES
from whence.functor.table import FUNCTORS
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Call,
    Cast,
    Constant,
    Constraint,
    Counter,
    Kind,
    Literal,
    Nil,
    Program,
    Record,
    Rule,
    Subsumption,
    Term,
    UserCall,
    Variable,
    children,
)


class Kinds:
    """The kinds of a program's types, relations and functors, looked up once."""

    def __init__(self, program: Program) -> None:
        system = TypeSystem(program)
        self.types: Mapping[str, Kind] = {
            name: system.kinds[number] for name, number in system.ids.items()
        }
        self.fields: Mapping[str, tuple[str, ...]] = {
            name: fields
            for name, number in system.ids.items()
            if (fields := system.fields[number]) is not None
        }
        self.relations: Mapping[str, tuple[Kind, ...]] = {
            decl.name: tuple([self.types[a.type] for a in decl.attributes])
            for decl in program.relations
        }
        self.parameters: Mapping[str, tuple[Kind, ...]] = {
            decl.name: tuple([self.types[p.type] for p in decl.parameters])
            for decl in program.functors
        }
        self.returns: Mapping[str, Kind] = {
            decl.name: self.types[decl.returns] for decl in program.functors
        }

    def variables(self, rule: Rule | Subsumption) -> dict[str, Kind]:
        """Return the kind of each variable of a rule, once its aggregates have names apart."""
        heads = rule.heads if isinstance(rule, Rule) else (rule.dominated, rule.dominating)
        found: dict[str, Kind] = {}
        pending: list[tuple[Term | Literal, Kind | None]] = [
            (node, None) for node in (*heads, *rule.body)
        ]
        while pending:
            node, kind = pending.pop()
            match node:
                case Variable(name=name):
                    if kind is not None:
                        found[name] = kind
                case Atom(relation=relation, args=args):
                    kinds = self.relations.get(relation)
                    pending.extend(zip(args, kinds or [None] * len(args), strict=True))
                case Constraint(left=left, right=right, kind=compared):
                    pending += [(left, compared), (right, compared)]
                case Record(items=items, type=type_):
                    kinds = self.items(type_)
                    pending.extend(zip(items, kinds or [None] * len(items), strict=True))
                case Call(functor=name, args=args, kind=Kind() as overload):
                    functor = FUNCTORS[name, overload]
                    params = functor.params * len(args) if functor.variadic else functor.params
                    pending.extend(zip(args, params, strict=True))
                case UserCall(name=name, args=args):
                    pending.extend(zip(args, self.parameters[name], strict=True))
                case Aggregate(target=target, body=body, kind=aggregated):
                    pending.extend([(literal, None) for literal in body])
                    if target is not None:
                        pending.append((target, aggregated))
                case _:
                    pending.extend([(child, None) for child in children(node)])
        return found

    def items(self, record_type: str | None) -> tuple[Kind, ...]:
        """Return the kinds of the fields of a record type."""
        return tuple([self.types[name] for name in self.fields.get(record_type or "", ())])

    def of(self, term: Term, variables: Mapping[str, Kind]) -> Kind:
        """Return the kind of a term's value; KeyError for a variable that has none."""
        match term:
            case Variable(name=name):
                return variables[name]
            case Constant(kind=Kind() as kind):
                return kind
            case Call(functor=functor, kind=Kind() as kind):
                return FUNCTORS[functor, kind].result
            case Aggregate(function=function, kind=Kind() as kind):
                return AGGREGATES[function, kind].result
            case UserCall(name=name):
                return self.returns[name]
            case Cast(type=type_):
                return self.types[type_]
            case Record() | Nil():
                return Kind.RECORD
            case Counter():
                return Kind.NUMBER
            case _:
                raise KeyError(f"{type(term).__name__} has no kind before types are resolved")


_latest: list[tuple[Program, Kinds]] = []


def kinds_of(program: Program) -> Kinds:
    """Return the kinds of a program, computed once for a program asked for again and again."""
    for known, kinds in _latest:
        if known is program:
            return kinds
    kinds = Kinds(program)
    _latest[:] = [(program, kinds)]
    return kinds


def relation_kinds(program: Program) -> dict[str, tuple[Kind, ...]]:
    """Return the kinds of the columns of each relation."""
    return dict(kinds_of(program).relations)


def type_kinds(program: Program) -> dict[str, Kind]:
    """Return the kind of each type, the primitive ones included."""
    return dict(kinds_of(program).types)


def record_fields(program: Program) -> dict[str, tuple[str, ...]]:
    """Return the types of the fields of each record type, under its aliases too."""
    return dict(kinds_of(program).fields)


def variable_kinds(program: Program, rule: Rule | Subsumption) -> dict[str, Kind]:
    """Return the kind of each variable of a rule whose types are resolved."""
    return kinds_of(program).variables(rule)
