"""Facts that people ask about: from text or values to a fact of a relation, or what is wrong."""

from __future__ import annotations

from itertools import islice

from whence.analysis.hints import without_annotation
from whence.analysis.kinds import Kinds
from whence.diagnostics import Diagnostic, ProgramError, Span, UsageError, nearest
from whence.explain.base import Asked
from whence.explain.lookup import Tuples
from whence.explain.model import Fact, Value
from whence.facts.schema import NOUN
from whence.functor.values import MAX_NUMBER, MAX_UNSIGNED, MIN_NUMBER, canonical_float
from whence.syntax.nodes import (
    Atom,
    Constant,
    Kind,
    Nil,
    Program,
    Record,
    Term,
    Variable,
    Wildcard,
    walk,
)
from whence.syntax.printer import print_literal, print_term
from whence.syntax.souffle import parse_goal

_OFFERED = 3
"""Facts that are named to somebody who asks about many."""


def asked_fact(asked: Asked, program: Program, tuples: Tuples) -> Fact:
    """Return the fact that is asked about; a UsageError says why there is none."""
    if isinstance(asked, Fact):
        _check_relation(asked.relation, len(asked.row), program, Span())
        attributes = program.relation(asked.relation).attributes
        kinds = Kinds(program)
        pairs = zip(asked.row, attributes, strict=True)
        return Fact(asked.relation, tuple([_checked(v, a.type, a.name, kinds) for v, a in pairs]))
    atom = _parsed(asked) if isinstance(asked, str) else asked
    if not isinstance(atom, Atom):
        raise UsageError(
            Diagnostic(
                "W0956",
                f"a fact is not given as {type(asked).__name__}",
                hint='give its text, such as `"path(1, 2)"`, or a `Fact`',
            )
        )
    _check_relation(atom.relation, len(atom.args), program, atom.span)
    attributes = program.relation(atom.relation).attributes
    kinds = Kinds(program)
    known: dict[int, Value] = {}
    for column, (arg, attribute) in enumerate(zip(atom.args, attributes, strict=True)):
        if not any(isinstance(node, Variable | Wildcard) for node in walk(arg)):
            known[column] = _value(arg, attribute.type, attribute.name, kinds)
    if len(known) < len(atom.args):
        raise _open(atom, known, tuples)
    return Fact(atom.relation, tuple(known.values()))


def _parsed(text: str) -> Atom:
    try:
        return parse_goal(text, "<fact>")
    except ProgramError as error:  # it is the question that is wrong
        raise UsageError(*error.diagnostics) from None


def _check_relation(name: str, arity: int, program: Program, span: Span) -> None:
    declared = {decl.name: decl for decl in program.relations}
    if name not in declared:
        like = nearest(name, declared)
        hint = f"did you mean `{like}`?" if like else ""
        message = f"the program has no relation `{name}`"
        raise UsageError(Diagnostic("W0804", message, span, hint=hint))
    decl = declared[name]
    if decl.arity != arity:
        message = f"`{name}` has {decl.arity} columns, the fact gives {arity}"
        hint = without_annotation(decl, arity)
        raise UsageError(Diagnostic("W0805", message, span, hint=hint))


def _open(atom: Atom, known: dict[int, Value], tuples: Tuples) -> UsageError:
    """Return the error that says that a fact has no variables, with some facts that match."""
    found = islice(tuples.matching(atom.relation, known), _OFFERED)
    some = [f"`{Fact(atom.relation, row)}`" for row in found]
    hint = f"such as {', '.join(some)}" if some else "no fact of the relation matches"
    message = f"`{print_literal(atom)}` is not one fact: a fact is made of constants"
    return UsageError(Diagnostic("W0950", message, atom.span, hint=hint))


def _value(term: Term, type_: str, column: str, kinds: Kinds) -> Value:
    """Return the value of a constant of a type; records nest, but no deeper than text does."""
    kind = kinds.types[type_]
    match term, kind:
        case Nil(), Kind.RECORD:
            return None
        case Record(items=items), Kind.RECORD if len(items) == len(kinds.fields[type_]):
            fields = zip(items, kinds.fields[type_], strict=True)
            return tuple([_value(item, field, column, kinds) for item, field in fields])
        case Constant(value=str(value)), Kind.SYMBOL:
            return value
        case Constant(value=int(value)), Kind.NUMBER if MIN_NUMBER <= value <= MAX_NUMBER:
            return value
        case Constant(value=int(value)), Kind.UNSIGNED if 0 <= value <= MAX_UNSIGNED:
            return value
        case Constant(value=int(value) | float(value)), Kind.FLOAT:
            return canonical_float(float(value))
        case _:
            message = f"`{print_term(term)}` is no value of `{column}`, which is {NOUN[kind]}"
            hint = "a fact holds constants of the columns' types"
            raise UsageError(Diagnostic("W0806", message, term.span, hint=hint))


def _checked(value: Value, type_: str, column: str, kinds: Kinds) -> Value:
    """Return a value as facts hold it."""
    kind = kinds.types[type_]
    match value, kind:
        case None, Kind.RECORD:
            return None
        case tuple(), Kind.RECORD if len(value) == len(kinds.fields[type_]):
            fields = zip(value, kinds.fields[type_], strict=True)
            return tuple([_checked(item, field, column, kinds) for item, field in fields])
        case str(), Kind.SYMBOL:
            return value
        case int(), Kind.NUMBER if MIN_NUMBER <= value <= MAX_NUMBER:
            return value
        case int(), Kind.UNSIGNED if 0 <= value <= MAX_UNSIGNED:
            return value
        case int() | float(), Kind.FLOAT:
            return canonical_float(float(value))
        case _:
            message = f"{value!r} is no value of `{column}`, which is {NOUN[kind]}"
            raise UsageError(Diagnostic("W0806", message))
