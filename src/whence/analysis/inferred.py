"""The types of a whole program, rule by rule, kept for the next stage that asks for them."""

from __future__ import annotations

from dataclasses import dataclass

from whence.analysis.anonymous_records import infer_clause
from whence.analysis.clauses import Clause, expand, origins
from whence.analysis.inference import Inference, Typing
from whence.diagnostics import ProgramError
from whence.syntax.nodes import Program, Rule, Subsumption


@dataclass(frozen=True, slots=True)
class TypedOrigin:
    """A rule or subsumption, and its clauses with their types."""

    origin: Rule | Subsumption
    clauses: tuple[tuple[Clause, Typing], ...]
    bodies: int
    """How many alternatives its body has."""


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
    found: list[TypedOrigin] = []
    for origin in origins(program):
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
