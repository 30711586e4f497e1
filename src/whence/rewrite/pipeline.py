"""The passes, in the order they run, from a program with resolved types to one to be planned."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from whence.rewrite.annotate import Annotation, annotate
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
    annotation: Annotation | None = None
    """The chain that annotates facts; None in a plain run."""
    derivations: bool = False
    """Whether every fact is to keep its derivations, not only the answers are to stay."""


Pass: TypeAlias = Callable[[Program, Context], Program]


def _inline(program: Program, context: Context) -> Program:
    return inline(program, keep=(context.goal.relation,) if context.goal else ())


def _annotate(program: Program, context: Context) -> Program:
    found = context.annotation
    if found is None:
        return program
    # However a chain of steps is bracketed, its product is the same, and the best one counts once.
    return annotate(_linearise(program, context), found.chain, found.given)


def _simplify(program: Program, context: Context) -> Program:
    return simplify(program, derivations=context.derivations)


def _prune(program: Program, context: Context) -> Program:
    # Where a negation holds for want of facts, a rule without it may be taken for a fact.
    inputs = None if context.derivations else context.inputs
    return prune(program, context.roots, inputs) if context.roots else program


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
    ("annotate", _annotate),  # of single alternatives, before aggregates have relations
    ("scope_aggregates", lambda program, _: scope_aggregates(program)),
    ("lift_aggregates", lambda program, _: lift_aggregates(program)),
    ("flatten_terms", lambda program, _: flatten_terms(program)),
    ("simplify", _simplify),
    ("prune", _prune),  # before those that cost more per rule
    ("linearise", _linearise),
    ("unfold", _unfold),
    ("factor_goal", _factor_goal),
    ("magic_sets", _magic_sets),
    ("reorder_body", lambda program, context: reorder_body(program, context.cardinalities)),
)

_REDERIVING: Final = frozenset(("linearise", "unfold", "factor_goal", "magic_sets"))
"""Passes that keep the answers by other derivations, which may have other annotations."""


def run_passes(
    program: Program,
    *,
    goal: Atom | None = None,
    keep_all: bool = False,
    inputs: Collection[str] | None = None,
    cardinalities: Mapping[str, int] | None = None,
    annotation: Annotation | None = None,
    derivations: bool = False,
) -> tuple[tuple[str, Program], ...]:
    """Return the program after each pass, under the name of the pass.

    Kept is what the goal needs, else what the outputs need; everything with `keep_all` or
    without any output. With `derivations` only those passes run under which every fact keeps
    its derivations, as annotations and explanations need them.
    """
    roots = frozenset((goal.relation,) if goal is not None else outputs(program))
    kept = None if keep_all or not roots else roots
    context = Context(kept, goal, inputs, cardinalities, annotation, derivations)
    left_out = frozenset(("annotate",)) if annotation is None else _REDERIVING
    if derivations:
        left_out |= _REDERIVING
    steps = []
    for name, run in PASSES:
        if name in left_out:
            continue
        program = run(program, context)
        steps.append((name, program))
    return tuple(steps)
