"""The types of a rule's variables, for the columns of the relations that passes add."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whence.functor.table import FUNCTORS
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Attribute,
    Call,
    Cast,
    Constant,
    Constraint,
    FunctorDecl,
    Kind,
    Program,
    Record,
    RecordType,
    RelationDecl,
    Rule,
    Subtype,
    Term,
    UserCall,
    Variable,
    walk,
)

_KINDS = {kind.value: kind for kind in Kind}


class Schema:
    """Declarations by name, and the types of terms that follow from them."""

    def __init__(self, program: Program) -> None:
        self.relations: dict[str, RelationDecl] = {d.name: d for d in program.relations}
        self.functors: dict[str, FunctorDecl] = {f.name: f for f in program.functors}
        self.records: dict[str, RecordType] = {}
        self._aliases: dict[str, str] = {}
        for decl in program.types:
            if isinstance(decl, RecordType):
                self.records[decl.name] = decl
            elif isinstance(decl, Subtype):
                self._aliases[decl.name] = decl.base
            elif decl.members:
                # The members of a union are of one kind, so any of them tells.
                self._aliases[decl.name] = decl.members[0]

    def fields(self, type_name: str | None) -> tuple[Attribute, ...]:
        """Return the fields of a record type, looked up through aliases and subtypes."""
        seen = set()
        while type_name in self._aliases and type_name not in seen:
            seen.add(type_name)
            type_name = self._aliases[type_name]
        decl = self.records.get(type_name or "")
        return decl.fields if decl else ()

    def kind_of(self, type_name: str) -> Kind | None:
        """Return how the codes of a type are read."""
        seen = set()
        while type_name in self._aliases and type_name not in seen:
            seen.add(type_name)
            type_name = self._aliases[type_name]
        if type_name in self.records:
            return Kind.RECORD
        return _KINDS.get(type_name)

    def type_of(self, term: Term, known: Mapping[str, str]) -> str | None:
        """Return the type of a term's value, or None where it does not say."""
        match term:
            case Variable(name=name):
                return known.get(name)
            case Constant(kind=kind):
                return kind.value if kind else None
            case Record(type=type_name):
                return type_name
            case Cast(type=type_name):
                return type_name
            case UserCall(name=name):
                return self.functors[name].returns if name in self.functors else None
            case Call(functor=functor, kind=kind) if kind and (functor, kind) in FUNCTORS:
                return FUNCTORS[functor, kind].result.value
            case Aggregate(function="count"):
                return "number"
            case Aggregate(function="mean"):
                return "float"
            case Aggregate(target=target, kind=kind):
                if kind is not None or target is None:
                    return kind.value if kind else None
                return self.type_of(target, known)
            case _:
                return None

    def variable_types(self, *rules: Rule) -> dict[str, str]:
        """Return the types of the rules' variables as far as they can be told."""
        known: dict[str, str] = {}
        equations = []
        for rule in rules:
            for literal in (*rule.body, *rule.heads):
                for node in walk(literal):
                    if isinstance(node, Atom):
                        decl = self.relations.get(node.relation)
                        self._learn(node.args, decl.attributes if decl else (), known)
                    elif isinstance(node, Record):
                        self._learn(node.items, self.fields(node.type), known)
                    elif isinstance(node, Constraint) and node.op == "=":
                        equations.append((node.left, node.right))
                        equations.append((node.right, node.left))
        count = -1
        while count != len(known):
            count = len(known)
            for left, right in equations:
                if isinstance(left, Variable) and left.name not in known:
                    found = self.type_of(right, known)
                    if found is not None:
                        known[left.name] = found
        return known

    def _learn(
        self, terms: tuple[Term, ...], attributes: tuple[Attribute, ...], known: dict[str, str]
    ) -> None:
        for term, attribute in zip(terms, attributes, strict=False):
            if isinstance(term, Variable):
                known.setdefault(term.name, attribute.type)


def declare(name: str, columns: Mapping[str, str | None]) -> RelationDecl:
    """Return the declaration of a relation with these columns."""
    return RelationDecl(name, tuple(Attribute(c, t or "number") for c, t in columns.items()))


def relation_names(taken: Mapping[str, object], stem: str) -> Iterator[str]:
    """Yield `stem0`, `stem1`, … as far as they are not taken."""
    count = 0
    while True:
        if f"{stem}{count}" not in taken:
            yield f"{stem}{count}"
        count += 1
