"""The passes, in the order they run, from a program with resolved types to one to be planned."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from whence.rewrite.factor_goal import factor_goal
from whence.rewrite.flatten_terms import flatten_terms
from whence.rewrite.inline import inline
from whence.rewrite.lift_aggregates import lift_aggregates
from whence.rewrite.linearise import linearise
from whence.rewrite.magic_sets import magic_sets
from whence.rewrite.normalise import normalise
from whence.rewrite.prune import outputs, prune
from whence.rewrite.reorder_body import reorder_body
from whence.rewrite.scope_aggregates import scope_aggregates
from whence.rewrite.simplify import simplify
from whence.rewrite.unfold import unfold
from whence.syntax.nodes import Atom, Program


@dataclass(frozen=True, slots=True)
class Context:
    """What passes may know beside the program."""

    roots: frozenset[str] | None = None
    """The relations whose facts are asked for; None when all are."""
    goal: Atom | None = None
    inputs: Collection[str] | None = None
    """The relations that may be given facts; None when any may."""
    cardinalities: Mapping[str, int] | None = None


Pass: TypeAlias = Callable[[Program, Context], Program]


def _inline(program: Program, context: Context) -> Program:
    return inline(program, keep=(context.goal.relation,) if context.goal else ())


def _prune(program: Program, context: Context) -> Program:
    return prune(program, context.roots, context.inputs) if context.roots else program


def _linearise(program: Program, context: Context) -> Program:
    return program if context.inputs is None else linearise(program, context.inputs)


def _unfold(program: Program, context: Context) -> Program:
    return unfold(program, context.roots, context.inputs or ()) if context.roots else program


def _factor_goal(program: Program, context: Context) -> Program:
    return factor_goal(program, context.goal, context.inputs or ())


def _magic_sets(program: Program, context: Context) -> Program:
    if context.roots is None:
        return program
    return magic_sets(program, context.goal, context.inputs or (), context.cardinalities)


PASSES: Final[tuple[tuple[str, Pass], ...]] = (
    ("inline", _inline),  # first: an inlined rule may not be safe by itself
    ("normalise", lambda program, _: normalise(program)),
    ("scope_aggregates", lambda program, _: scope_aggregates(program)),
    ("lift_aggregates", lambda program, _: lift_aggregates(program)),
    ("flatten_terms", lambda program, _: flatten_terms(program)),
    ("simplify", lambda program, _: simplify(program)),
    ("prune", _prune),  # before those that cost more per rule
    ("linearise", _linearise),
    ("unfold", _unfold),
    ("factor_goal", _factor_goal),
    ("magic_sets", _magic_sets),
    ("reorder_body", lambda program, context: reorder_body(program, context.cardinalities)),
)


def run_passes(
    program: Program,
    *,
    goal: Atom | None = None,
    keep_all: bool = False,
    inputs: Collection[str] | None = None,
    cardinalities: Mapping[str, int] | None = None,
) -> tuple[tuple[str, Program], ...]:
    """Return the program after each pass, under the name of the pass.

    Kept is what the goal needs, else what the outputs need; everything with `keep_all` or
    without any output.
    """
    roots = frozenset((goal.relation,) if goal is not None else outputs(program))
    context = Context(None if keep_all or not roots else roots, goal, inputs, cardinalities)
    steps = []
    for name, run in PASSES:
        program = run(program, context)
        steps.append((name, program))
    return tuple(steps)
