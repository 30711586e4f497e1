"""Names: everything a program mentions is declared once, and used with the right arity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from whence.analysis.clauses import is_plain_fact, origins
from whence.analysis.hints import Hints, without_annotation
from whence.analysis.typesystem import PRIMITIVES
from whence.diagnostics import Diagnostic, Span
from whence.functor.table import overloads
from whence.syntax.nodes import (
    Atom,
    Attribute,
    Call,
    Cast,
    Directive,
    FunctorDecl,
    Literal,
    Program,
    RecordType,
    RelationDecl,
    Subsumption,
    Subtype,
    Term,
    TypeDecl,
    UnionType,
    UserCall,
    walk,
)

_ONCE = ("printsize", "limitsize")


@dataclass(frozen=True, slots=True)
class _Names:
    """What is declared, by name; the first declaration counts."""

    types: Mapping[str, TypeDecl]
    relations: Mapping[str, RelationDecl]
    functors: Mapping[str, FunctorDecl]
    hints: Hints = field(default_factory=Hints)


def check_names(program: Program) -> list[Diagnostic]:
    """Report names that are undeclared or declared twice, and wrong numbers of arguments."""
    names = _Names(
        {decl.name: decl for decl in reversed(program.types)},
        {decl.name: decl for decl in reversed(program.relations)},
        {decl.name: decl for decl in reversed(program.functors)},
    )
    found = [
        *_twice("type", program.types),
        *_twice("relation", program.relations),
        *_twice("functor", program.functors),
        *_clashes(program.relations, names.types),
        *_check_declarations(program, names),
        *_check_directives(program.directives, names),
    ]
    for rule in program.rules:
        if is_plain_fact(rule):
            found.extend(_check_atom(rule.head, names))
    for origin in origins(program):
        if isinstance(origin, Subsumption):
            nodes: tuple[Term | Literal, ...] = (origin.dominated, origin.dominating, *origin.body)
        else:
            nodes = (*origin.heads, *origin.body)
        for node in nodes:
            found.extend(_check_uses(node, names))
    return found


def _twice(
    what: str, declarations: Iterable[RelationDecl | FunctorDecl | TypeDecl]
) -> Iterator[Diagnostic]:
    first: dict[str, Span] = {}
    for decl in declarations:
        if what == "type" and decl.name in PRIMITIVES:
            yield Diagnostic("W0204", f"`{decl.name}` is a predefined type", decl.span)
        elif decl.name in first:
            yield _again(f"{what} `{decl.name}`", decl.span, first[decl.name])
        else:
            first[decl.name] = decl.span


def _again(what: str, span: Span, first: Span, verb: str = "declared") -> Diagnostic:
    notes = (f"first {verb} on line {first.line}",) if first else ()
    return Diagnostic("W0204", f"{what} is {verb} twice", span, f"{verb} again", notes=notes)


def _clashes(
    relations: Iterable[RelationDecl], types: Mapping[str, TypeDecl]
) -> Iterator[Diagnostic]:
    for decl in relations:
        if decl.name in types:
            yield _again(f"`{decl.name}`, a type and a relation,", decl.span, types[decl.name].span)


def _check_declarations(program: Program, names: _Names) -> Iterator[Diagnostic]:
    for relation in program.relations:
        yield from _check_attributes("attribute", relation.attributes, names)
    for functor in program.functors:
        for parameter in functor.parameters:
            yield from _check_type(parameter.type, parameter.span, names)
        yield from _check_type(functor.returns, functor.span, names)
    for decl in program.types:
        match decl:
            case Subtype(base=base, span=span):
                yield from _check_type(base, span, names)
            case UnionType(members=members, span=span):
                for member in members:
                    yield from _check_type(member, span, names)
            case RecordType(fields=fields):
                yield from _check_attributes("field", fields, names)


def _check_attributes(
    what: str, attributes: Iterable[Attribute], names: _Names
) -> Iterator[Diagnostic]:
    first: dict[str, Span] = {}
    for attribute in attributes:
        yield from _check_type(attribute.type, attribute.span, names)
        if attribute.name in first:
            yield _again(f"{what} `{attribute.name}`", attribute.span, first[attribute.name])
        first.setdefault(attribute.name, attribute.span)


def _check_type(name: str, span: Span, names: _Names) -> Iterator[Diagnostic]:
    if name not in names.types and name not in PRIMITIVES:
        hint = names.hints.did_you_mean(name, (*PRIMITIVES, *names.types))
        yield _undefined("W0301", "type", name, span, hint)


def _undefined(code: str, what: str, name: str, span: Span, hint: str) -> Diagnostic:
    return Diagnostic(code, f"{what} `{name}` is not declared", span, "unknown name", hint=hint)


def _check_directives(directives: Iterable[Directive], names: _Names) -> Iterator[Diagnostic]:
    first: dict[tuple[str, str], Span] = {}
    for directive in directives:
        name, action = directive.relation, directive.action
        if name not in names.relations:
            hint = names.hints.did_you_mean(name, names.relations)
            yield _undefined("W0201", "relation", name, directive.span, hint)
        if action in _ONCE and (action, name) in first:
            yield _again(f"`.{action}` of `{name}`", directive.span, first[action, name], "given")
        first.setdefault((action, name), directive.span)


def _check_atom(atom: Atom, names: _Names) -> tuple[Diagnostic, ...]:
    decl = names.relations.get(atom.relation)
    if decl is None:
        hint = names.hints.did_you_mean(atom.relation, names.relations)
        return (_undefined("W0201", "relation", atom.relation, atom.span, hint),)
    if len(decl.attributes) != len(atom.args):
        what = f"relation `{atom.relation}`"
        hint = without_annotation(decl, len(atom.args))
        return (_arity("W0202", what, decl.arity, len(atom.args), atom.span, hint),)
    return ()


def _check_uses(root: Term | Literal, names: _Names) -> Iterator[Diagnostic]:
    for node in walk(root):
        match node:
            case Atom():
                yield from _check_atom(node, names)
            case UserCall(name=name, args=args, span=span):
                functor = names.functors.get(name)
                if functor is None:
                    hint = names.hints.did_you_mean(
                        name, names.functors, f"declare it with `.functor {name}(…): …`"
                    )
                    yield _undefined("W0207", "functor", name, span, hint)
                elif len(functor.parameters) != len(args):
                    arity = len(functor.parameters)
                    yield _arity("W0208", f"functor `{name}`", arity, len(args), span)
            case Call(functor=name, args=args, span=span):
                forms = overloads(name)
                if forms and not any(form.accepts(len(args)) for form in forms):
                    arity = len(forms[0].params)
                    yield _arity("W0208", f"functor `{name}`", arity, len(args), span)
            case Cast(type=name, span=span):
                yield from _check_type(name, span, names)
            case _:
                pass


def _arity(code: str, what: str, expected: int, got: int, span: Span, hint: str = "") -> Diagnostic:
    plural = "" if expected == 1 else "s"
    message = f"{what} takes {expected} argument{plural}, not {got}"
    return Diagnostic(code, message, span, f"{got} given", hint=hint)
