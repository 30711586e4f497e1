"""A program that can be evaluated: checked, rewritten and planned, plainly or in a semiring."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from whence.analysis.check import check as check_stated
from whence.analysis.hints import without_annotation
from whence.analysis.ndlog.check import check_ndlog
from whence.diagnostics import (
    Diagnostic,
    ProgramError,
    UsageError,
    by_place,
    nearest,
    raise_errors,
)
from whence.plan.build import build_plan
from whence.plan.growth import growth_warnings
from whence.plan.nodes import Plan
from whence.rewrite.annotate import COLUMN, Annotation
from whence.rewrite.hard_state import not_here
from whence.rewrite.pipeline import run_passes
from whence.rewrite.prune import outputs
from whence.rewrite.read_in import AnySemiring, check_defaults, read_in, semiring_of
from whence.rewrite.resolve_types import resolve_types
from whence.rewrite.stated import Default, read_annotations, state_annotations
from whence.syntax.nodes import Atom, Program

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.facts.annotations import Shape


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program that can be evaluated, and how it came to be.

    Of the source, the relations that show annotations are marked with the semiring.
    """

    source: Program
    warnings: tuple[Diagnostic, ...]
    passes: tuple[tuple[str, Program], ...]
    plan: Plan
    goal: Atom | None = None
    semiring: AnySemiring | None = None
    """What facts are annotated in; None in a plain run."""
    annotations: Mapping[str, Default] = field(default_factory=dict)
    """What base facts are annotated with that come without, by relation."""
    asked: str | AnySemiring | None = None
    """The semiring as it was asked for: a name makes a new one each time."""

    @property
    def reading(self) -> Program:
        """The program as those see it who read its inputs: only those that are needed."""
        return replace(self.source, directives=self.plan.program.directives)

    @property
    def shape(self) -> Shape:
        """How tables of an annotated run look inside and outside."""
        from whence.facts.annotations import Shape

        assert self.semiring is not None
        carriers = None
        if self.semiring.chain is not None:
            known = self.plan.program.relations
            carriers = frozenset(
                d.name for d in known if d.attributes and d.attributes[-1].name == COLUMN
            )
        return Shape(self.source, self.semiring, carriers, self.annotations)

    @property
    def semiring_name(self) -> str | None:
        """A name by which the semiring can be made anew; None where there is none."""
        if isinstance(self.asked, str):
            return self.asked
        return None if self.asked is not None or self.semiring is None else self.semiring.name

    def taken(self, relation: str, table: pa.Table) -> pa.Table:
        """Return facts as engines take them: with annotations as the run wants them, or none."""
        if self.semiring is not None:
            return self.shape.taken(relation, table)
        for decl in self.source.relations:
            if decl.name == relation and decl.provenance is not None:
                cut = table.num_columns > decl.arity > 0
                return table.select(range(decl.arity)) if cut else table
        return table

    def as_json(self) -> dict[str, object]:
        """Return what `whence plan --format json` prints."""
        from whence.analysis.convergence import recursions
        from whence.plan.show import plan_as_json
        from whence.semiring.evaluator import evaluator_of

        annotated: dict[str, object] = {}
        if self.semiring is not None:
            found = evaluator_of(self.semiring)
            annotated["semiring"] = {
                "name": self.semiring.name,
                "evaluator": found.name,
                "reason": found.reason,
                "recursions": [
                    {
                        "relations": list(recursion.relations),
                        "outlook": recursion.outlook.name.lower(),
                        "reason": recursion.reason,
                    }
                    for recursion in recursions(self.plan.program, self.semiring)
                ],
            }
        return {
            **annotated,
            "passes": [{"pass": name, "program": str(program)} for name, program in self.passes],
            "strata": plan_as_json(self.plan),
        }


def check(program: Program) -> list[Diagnostic]:
    """Return everything that is wrong with a program, and the warnings."""
    if program.dialect == "ndlog":
        return check_ndlog(program)
    found = check_stated(state_annotations(program))
    try:
        read_in(program)
    except ProgramError as error:  # a run that asks for another semiring may do without
        found.extend(error.diagnostics)
    return found


def compile(
    program: Program,
    *,
    goal: Atom | None = None,
    keep_all: bool = False,
    inputs: Collection[str] | None = None,
    semiring: str | AnySemiring | None = None,
    annotations: Mapping[str, Default] | None = None,
    derivations: bool = False,
) -> Compiled:
    """Check, rewrite and plan a program.

    What no output needs is left out, unless `keep_all`; with a goal, what the goal does not need.
    `inputs` are the relations that will be given facts: without it, those with `.input` and those
    without rules. `semiring` is what facts are annotated in: by default what the program's `@prov`
    name, and "plain" for nothing. `annotations` are for base facts that come without one, by
    relation: a value, or a function of the row. With `derivations` every fact is derived as the
    program says, which explanations rest on.
    """
    if program.dialect == "ndlog":
        raise UsageError(not_here())
    program = state_annotations(program)
    found = check_stated(program)
    raise_errors(found)
    program = read_in(program, semiring)
    annotations = dict(annotations or {})
    check_defaults(program, annotations)
    if goal is not None:
        _check_goal(goal, program)
    chosen = semiring_of(program)
    resolved = resolve_types(program)
    annotation = None
    if chosen is not None:
        resolved = read_annotations(resolved, chosen, annotations)
        if chosen.chain is not None:
            given = {d.name for d in program.relations if d.provenance is not None}
            annotation = Annotation(chosen.chain, frozenset(given.union(annotations)))
    rewritten = run_passes(
        resolved,
        goal=goal,
        keep_all=keep_all,
        inputs=inputs,
        annotation=annotation,
        derivations=derivations or (chosen is not None and annotation is None),
    )
    passes = (("resolve_types", resolved), *rewritten)
    roots = {goal.relation} if goal is not None else outputs(program)
    every = keep_all or not roots or chosen is not None
    plan = build_plan(passes[-1][1], asked=None if every else roots, inputs=inputs)
    found.extend(growth_warnings(plan))
    warnings = tuple(by_place(found))
    return Compiled(program, warnings, passes, plan, goal, chosen, annotations, semiring)


def _check_goal(goal: Atom, program: Program) -> None:
    declared = {decl.name: decl for decl in program.relations}
    if goal.relation not in declared:
        like = nearest(goal.relation, declared)
        raise UsageError(
            Diagnostic(
                "W0804",
                f"the program has no relation `{goal.relation}`",
                goal.span,
                hint=f"did you mean `{like}`?" if like else "",
            )
        )
    decl, given = declared[goal.relation], len(goal.args)
    if decl.arity != given:
        message = f"`{goal.relation}` has {decl.arity} columns, the goal gives {given}"
        hint = without_annotation(decl, given)
        raise UsageError(Diagnostic("W0805", message, goal.span, hint=hint))
