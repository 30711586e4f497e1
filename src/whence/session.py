"""Text to program to plan to result: the whole way on one screen.

Each function does one stage and raises a `WhenceError` with all that is wrong there. Heavy
libraries load when an engine is first asked for, not before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whence.analysis.check import check
from whence.diagnostics import (
    DataError,
    Diagnostic,
    UsageError,
    by_place,
    nearest,
    raise_errors,
)
from whence.engine.base import Engine, Evaluation, Limits, Observer
from whence.plan.build import build_plan
from whence.plan.growth import growth_warnings
from whence.plan.nodes import Plan
from whence.rewrite.pipeline import run_passes
from whence.rewrite.prune import outputs
from whence.rewrite.resolve_types import resolve_types
from whence.syntax.nodes import Atom, Program
from whence.syntax.souffle import parse
from whence.view.base import STRATEGIES, View

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.functor.user import UserFunctors

__all__ = [
    "ENGINES",
    "Compiled",
    "check",
    "compile",
    "evaluate",
    "explain_maintenance",
    "explain_plan",
    "maintain",
    "maintenance",
    "parse",
    "read_program",
    "read_text",
]

ENGINES = ("local",)
"""The engines that `--engine` names."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program that can be evaluated, and how it came to be."""

    source: Program
    warnings: tuple[Diagnostic, ...]
    passes: tuple[tuple[str, Program], ...]
    plan: Plan
    goal: Atom | None = None

    def as_json(self) -> dict[str, object]:
        """Return what `whence plan --format json` prints."""
        from whence.plan.show import plan_as_json

        return {
            "passes": [{"pass": name, "program": str(program)} for name, program in self.passes],
            "strata": plan_as_json(self.plan),
        }


def read_program(path: Path | str) -> Program:
    """Return the program in a file."""
    return parse(read_text(path), name=str(path))


def read_text(path: Path | str) -> str:
    """Return the text of a program file."""
    path = Path(path)
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            Diagnostic(
                "W0803",
                f"`{path}` is not UTF-8 text: byte {error.start} is {error.object[error.start]:#x}",
            )
        ) from None
    except OSError as error:
        raise UsageError(
            Diagnostic("W0802", f"cannot read `{path}`: {(error.strerror or str(error)).lower()}")
        ) from None


def compile(
    program: Program,
    *,
    goal: Atom | None = None,
    keep_all: bool = False,
    inputs: Collection[str] | None = None,
) -> Compiled:
    """Check, rewrite and plan a program.

    What no output needs is left out, unless `keep_all`; with a goal, what the goal does not need.
    `inputs` are the relations that will be given facts: without it, those with `.input` and those
    without rules.
    """
    found = check(program)
    raise_errors(found)
    if goal is not None:
        _check_goal(goal, program)
    resolved = resolve_types(program)
    rewritten = run_passes(resolved, goal=goal, keep_all=keep_all, inputs=inputs)
    passes = (("resolve_types", resolved), *rewritten)
    roots = {goal.relation} if goal is not None else outputs(program)
    plan = build_plan(passes[-1][1], asked=None if keep_all or not roots else roots, inputs=inputs)
    found.extend(growth_warnings(plan))
    return Compiled(program, tuple(by_place(found)), passes, plan, goal)


def _check_goal(goal: Atom, program: Program) -> None:
    arities = {decl.name: decl.arity for decl in program.relations}
    if goal.relation not in arities:
        like = nearest(goal.relation, arities)
        raise UsageError(
            Diagnostic(
                "W0804",
                f"the program has no relation `{goal.relation}`",
                goal.span,
                hint=f"did you mean `{like}`?" if like else "",
            )
        )
    if arities[goal.relation] != len(goal.args):
        raise UsageError(
            Diagnostic(
                "W0805",
                f"`{goal.relation}` has {arities[goal.relation]} columns, "
                f"the goal gives {len(goal.args)}",
                goal.span,
            )
        )


def evaluate(
    program: Program | Compiled,
    inputs: Mapping[str, pa.Table] | None = None,
    *,
    engine: str = "local",
    limits: Limits = Limits(),
    threads: int | None = None,
    observer: Observer | None = None,
    functors: UserFunctors | None = None,
) -> Evaluation:
    """Return the relations of the program over the inputs."""
    compiled = program if isinstance(program, Compiled) else compile(program, keep_all=True)
    _check_functors(compiled.plan.program, functors)
    chosen = _engine(engine, functors)
    return chosen.evaluate(
        compiled.plan, inputs or {}, limits=limits, threads=threads, observer=observer
    )


def _engine(name: str, functors: UserFunctors | None) -> Engine:
    if name == "local":
        from whence.engine.local.engine import LocalEngine

        return LocalEngine(functors=functors)
    raise UsageError(
        Diagnostic("W0801", f"there is no engine `{name}`", hint=f"one of {', '.join(ENGINES)}")
    )


def _check_functors(program: Program, functors: UserFunctors | None) -> None:
    missing = [f for f in program.functors if functors is None or f.name not in functors]
    if missing:
        raise DataError(
            *(
                Diagnostic(
                    "W0706",
                    f"functor `{f.name}` has no Python function",
                    f.span,
                    "declared here",
                    hint=f'register one: `db.functor("{f.name}", function)`',
                )
                for f in missing
            )
        )


def maintain(
    program: Program | Compiled,
    inputs: Mapping[str, pa.Table] | None = None,
    *,
    strategy: str = STRATEGIES[0],
    limits: Limits = Limits(),
    threads: int | None = None,
    observer: Observer | None = None,
    functors: UserFunctors | None = None,
) -> View:
    """Return the relations of the program, kept current under batches of base facts.

    Facts in the program's text are base facts to begin with, as the inputs are.
    """
    from whence.view.live import LiveView

    _check_strategy(strategy)
    compiled = program if isinstance(program, Compiled) else compile(program, keep_all=True)
    _check_functors(compiled.plan.program, functors)
    return LiveView(
        compiled.passes[-1][1],
        inputs or {},
        strategy=strategy,
        limits=limits,
        threads=threads,
        observer=observer,
        functors=functors,
    )


def explain_maintenance(program: Program, strategy: str = STRATEGIES[0]) -> str:
    """Return how a view of the program would be kept current, stratum by stratum."""
    from whence.view.show import show_maintenance

    _check_strategy(strategy)
    return show_maintenance(compile(program, keep_all=True).passes[-1][1], strategy)


def maintenance(program: Program, strategy: str = STRATEGIES[0]) -> list[dict[str, object]]:
    """Return the same for programs to read."""
    from whence.view.show import maintenance_as_json

    _check_strategy(strategy)
    return maintenance_as_json(compile(program, keep_all=True).passes[-1][1], strategy)


def _check_strategy(strategy: str) -> None:
    if strategy not in STRATEGIES:
        raise UsageError(
            Diagnostic(
                "W0809",
                f"there is no way to maintain a view called `{strategy}`",
                hint=f"one of {', '.join(STRATEGIES)}",
            )
        )


def explain_plan(compiled: Compiled) -> str:
    """Return the program after each pass that changed it, then the strata with their steps."""
    from whence.plan.show import show_plan

    parts: list[str] = []
    before: Program | None = None
    for name, program in compiled.passes:
        if program == before:
            parts.append(f"── {name}: no change")
        else:
            parts.append(f"── {name}\n{program}")
        before = program
    parts.append(f"── plan\n{show_plan(compiled.plan)}")
    return "\n\n".join(parts)
