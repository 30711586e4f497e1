"""The types of a whole program, rule by rule, kept for the next stage that asks for them."""

from __future__ import annotations

from dataclasses import dataclass

from whence.analysis.anonymous_records import infer_clause
from whence.analysis.clauses import Clause, every_origin, expand, is_plain_fact
from whence.analysis.inference import Inference, Typing
from whence.diagnostics import ProgramError
from whence.functor.values import MAX_NUMBER, MAX_UNSIGNED, MIN_NUMBER
from whence.syntax.nodes import Constant, Kind, Program, Rule, Subsumption, Term


@dataclass(frozen=True, slots=True)
class TypedOrigin:
    """A rule or subsumption, and its clauses with their types."""

    origin: Rule | Subsumption
    clauses: tuple[tuple[Clause, Typing], ...]
    bodies: int = 1
    """How many alternatives its body has."""
    constants: tuple[Kind, ...] | None = None
    """The kinds of the constants of a plain fact, which needs no inference."""


@dataclass(frozen=True, slots=True)
class Inferred:
    """A program's types; rules with too many alternatives are left out."""

    program: Program
    inference: Inference
    origins: tuple[TypedOrigin, ...]


# Checking and resolving types both need them; the program is compared by identity, because
# comparing its nodes would take longer than inferring again.
_latest: list[Inferred] = []


def infer_program(program: Program) -> Inferred:
    """Return the types of all clauses of the program."""
    for known in _latest:
        if known.program is program:
            return known
    inference = Inference(program)
    columns = {
        name: tuple([inference.system.kinds[type_] for type_ in types])
        for name, types in inference.relations.items()
        if min(types, default=0) >= 0
    }
    found: list[TypedOrigin] = []
    for origin in every_origin(program):
        if is_plain_fact(origin) and isinstance(origin, Rule):
            kinds = columns.get(origin.head.relation)
            if kinds is not None and _are_of(origin.head.args, kinds):
                found.append(TypedOrigin(origin, (), constants=kinds))
                continue
        try:
            clauses = expand(origin)
        except ProgramError:
            continue
        heads = len(origin.heads) if isinstance(origin, Rule) else 1
        typed = tuple([pair for clause in clauses for pair in infer_clause(inference, clause)])
        found.append(TypedOrigin(origin, typed, len(clauses) // max(heads, 1)))
    inferred = Inferred(program, inference, tuple(found))
    _latest[:] = [inferred]
    return inferred


def _are_of(args: tuple[Term, ...], kinds: tuple[Kind, ...]) -> bool:
    """Whether the constants are of the kinds, or can be read as such."""
    if len(args) != len(kinds):
        return False
    for arg, kind in zip(args, kinds, strict=True):
        if type(arg) is not Constant or (arg.kind is not None and arg.kind is not kind):
            return False
        if not fits(arg.value, kind):
            return False
    return True


def fits(value: int | float | str, kind: Kind) -> bool:
    """Whether a literal can be read as a value of the kind."""
    match kind:
        case Kind.NUMBER:
            return isinstance(value, int) and MIN_NUMBER <= value <= MAX_NUMBER
        case Kind.UNSIGNED:
            return isinstance(value, int) and 0 <= value <= MAX_UNSIGNED
        case Kind.FLOAT:
            return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**1023)
        case Kind.SYMBOL:
            return isinstance(value, str)
        case Kind.RECORD:
            return False
