"""Text to program to plan to result: the whole way on one screen.

Each function does one stage and raises a `WhenceError` with all that is wrong there. Heavy
libraries load when an engine is first asked for, not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from whence.compiled import Compiled, check, compile
from whence.diagnostics import DataError, Diagnostic, LimitError, UsageError
from whence.engine.base import Engine, Evaluation, Limits, Observer
from whence.rewrite.read_in import AnySemiring
from whence.rewrite.stated import Default
from whence.syntax.dialects import dialect_of, parse_as
from whence.syntax.nodes import Program
from whence.syntax.souffle import parse
from whence.view.base import STRATEGIES, View

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.explain.explainer import Explainer
    from whence.functor.user import UserFunctors

__all__ = [
    "ENGINES",
    "Compiled",
    "check",
    "compile",
    "evaluate",
    "evaluate_as_written",
    "explain_maintenance",
    "explain_plan",
    "explainer",
    "maintain",
    "maintenance",
    "parse",
    "read_program",
    "read_text",
]

ENGINES = ("local", "spark")
"""The engines that `--engine` names."""


def read_program(path: Path | str) -> Program:
    """Return the program in a file; its name says in which dialect."""
    return parse_as(dialect_of(str(path)), read_text(path), str(path))


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


def evaluate(
    program: Program | Compiled,
    inputs: Mapping[str, pa.Table] | None = None,
    *,
    engine: str = "local",
    limits: Limits = Limits(),
    threads: int | None = None,
    observer: Observer | None = None,
    functors: UserFunctors | None = None,
    semiring: str | AnySemiring | None = None,
    annotations: Mapping[str, Default] | None = None,
) -> Evaluation:
    """Return the relations of the program over the inputs.

    `semiring` and `annotations` are those of `compile`, for a program that is not compiled yet.
    """
    compiled = _compiled(program, semiring, annotations)
    check_functors(compiled.plan.program, functors)
    inputs = inputs or {}
    facts = {name: compiled.taken(name, table) for name, table in inputs.items()}
    found: Evaluation
    if compiled.semiring is None or compiled.semiring.chain is not None:
        chosen = _engine(engine, functors)
        found = chosen.evaluate(
            compiled.plan, facts, limits=limits, threads=threads, observer=observer
        )
    else:
        found = _annotated(compiled, facts, engine, limits, threads, observer, functors)
    if compiled.semiring is None:
        return found
    from whence.view.annotated import ShownEvaluation

    return ShownEvaluation(found, compiled.shape)


def _annotated(
    compiled: Compiled,
    facts: Mapping[str, pa.Table],
    engine: str,
    limits: Limits,
    threads: int | None,
    observer: Observer | None,
    functors: UserFunctors | None,
) -> Evaluation:
    """Evaluate in a semiring that is no chain."""
    assert compiled.semiring is not None
    if engine == "spark":
        from whence.engine.spark.engine import SparkEngine

        return SparkEngine(functors=functors).evaluate_annotated(
            compiled.plan,
            facts,
            compiled.semiring,
            name=compiled.semiring_name,
            limits=limits,
            threads=threads,
            observer=observer,
        )
    _engine(engine, functors)
    from whence.engine.annotated import evaluate_annotated

    return evaluate_annotated(
        compiled.plan,
        facts,
        compiled.semiring,
        functors=functors,
        limits=limits,
        threads=threads,
        observer=observer,
    )


def _compiled(
    program: Program | Compiled,
    semiring: str | AnySemiring | None,
    annotations: Mapping[str, Default] | None,
) -> Compiled:
    if isinstance(program, Compiled):
        return program
    return compile(program, keep_all=True, semiring=semiring, annotations=annotations)


def _engine(name: str, functors: UserFunctors | None) -> Engine:
    if name == "local":
        from whence.engine.local.engine import LocalEngine

        return LocalEngine(functors=functors)
    if name == "spark":
        from whence.engine.spark.engine import SparkEngine

        return SparkEngine(functors=functors)
    raise UsageError(
        Diagnostic("W0801", f"there is no engine `{name}`", hint=f"one of {', '.join(ENGINES)}")
    )


def check_functors(program: Program, functors: UserFunctors | None) -> None:
    """Refuse a program that declares functors without Python functions."""
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
    semiring: str | AnySemiring | None = None,
    annotations: Mapping[str, Default] | None = None,
) -> View:
    """Return the relations of the program, kept current under batches of base facts.

    Facts in the program's text are base facts to begin with, as the inputs are. `semiring` and
    `annotations` are those of `compile`; only a chain's annotations are maintained step by step.
    """
    from whence.view.live import LiveView

    _check_strategy(strategy)
    compiled = _compiled(program, semiring, annotations)
    check_functors(compiled.plan.program, functors)
    inputs = inputs or {}
    if compiled.semiring is not None and compiled.semiring.chain is None:
        return _renewed(compiled, inputs, limits, threads, observer, functors)
    shape = None if compiled.semiring is None else compiled.shape
    inputs = {name: compiled.taken(name, table) for name, table in inputs.items()}
    live = LiveView(
        compiled.passes[-1][1],
        inputs,
        strategy=strategy,
        limits=limits,
        threads=threads,
        observer=observer,
        functors=functors,
    )
    if shape is None:
        return live
    from whence.view.annotated import ChainView

    return ChainView(live, shape)


def _renewed(
    compiled: Compiled,
    inputs: Mapping[str, pa.Table],
    limits: Limits,
    threads: int | None,
    observer: Observer | None,
    functors: UserFunctors | None,
) -> View:
    from whence.facts.stated import apart_from_facts, facts_and
    from whence.view.annotated import RenewedView

    rules, stated = apart_from_facts(compiled.source)

    def evaluated(base: Mapping[str, pa.Table]) -> Evaluation:
        # A semiring may hold what it has seen, such as decision diagrams: each time a new one.
        again = compile(
            rules, keep_all=True, semiring=compiled.asked, annotations=compiled.annotations
        )
        return evaluate(
            again, base, limits=limits, threads=threads, observer=observer, functors=functors
        )

    return RenewedView(compiled.shape, facts_and(stated, inputs), evaluated)


def explainer(
    program: Program,
    inputs: Mapping[str, pa.Table] | None = None,
    *,
    limits: Limits = Limits(),
    threads: int | None = None,
    observer: Observer | None = None,
    functors: UserFunctors | None = None,
) -> Explainer:
    """Evaluate the program plainly, and return who explains the facts that it gives.

    >>> text = ".decl e(x: number, y: number)  .decl p(x: number, y: number)  e(1, 2). e(2, 3)."
    >>> text += "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z)."
    >>> explainer(parse(text)).why("p(1, 3)")
    <Derived p(1, 3) by rule 4, height 2>
    """
    from whence.explain.explainer import explainer_of

    found, exact = evaluate_as_written(
        program, inputs, limits=limits, threads=threads, observer=observer, functors=functors
    )
    return explainer_of(program, found, inputs or {}, functors, exact=exact)


_PATIENCE = 1.0, 3.0
"""Seconds, and times the seconds of rewritten rules, that rules as written may take."""


def evaluate_as_written(
    program: Program,
    inputs: Mapping[str, pa.Table] | None = None,
    *,
    known: Evaluation | None = None,
    limits: Limits = Limits(),
    threads: int | None = None,
    observer: Observer | None = None,
    functors: UserFunctors | None = None,
) -> tuple[Evaluation, bool]:
    """Return a plain evaluation for explanations, and whether its rounds are those of the rules.

    Rewritten rules can be far quicker. Where the rules as written take much longer, the others
    have to do: every fact has a proof by their rounds, too, though perhaps not the lowest. `known`
    is an evaluation that may do.
    """
    from whence.engine.local.engine import LocalEvaluation

    def evaluated(compiled: Compiled, limits: Limits) -> Evaluation:
        return evaluate(
            compiled, inputs, limits=limits, threads=threads, observer=observer, functors=functors
        )

    written = compile(program, keep_all=True, semiring="plain", derivations=True)
    rules = written.plan.program.rules
    if isinstance(known, LocalEvaluation) and known.program.rules == rules:
        return known, True
    rewritten = compile(program, keep_all=True, semiring="plain", inputs=tuple(inputs or ()))
    if rewritten.plan.program.rules == rules:
        return evaluated(written, limits), True
    if not isinstance(known, LocalEvaluation):
        known = evaluated(rewritten, limits)
    allowed = _PATIENCE[0] + _PATIENCE[1] * known.stats.evaluate_seconds
    if limits.timeout is not None:
        allowed = min(allowed, limits.timeout)
    try:
        return evaluated(written, replace(limits, timeout=allowed)), True
    except LimitError:
        return known, False


def explain_maintenance(program: Program | Compiled, strategy: str = STRATEGIES[0]) -> str:
    """Return how a view of the program would be kept current, stratum by stratum."""
    from whence.view.show import show_maintenance

    compiled = _kept_current(program, strategy)
    if compiled.semiring is not None and compiled.semiring.chain is None:
        return f"all relations: recompute; {_renewing(compiled.semiring)}"
    return show_maintenance(compiled.passes[-1][1], strategy)


def maintenance(
    program: Program | Compiled, strategy: str = STRATEGIES[0]
) -> list[dict[str, object]]:
    """Return the same for programs to read."""
    from whence.view.show import maintenance_as_json

    compiled = _kept_current(program, strategy)
    if compiled.semiring is not None and compiled.semiring.chain is None:
        names = [decl.name for decl in compiled.plan.program.relations]
        why = _renewing(compiled.semiring)
        return [{"relations": names, "strategy": "recompute", "why": why}]
    return maintenance_as_json(compiled.passes[-1][1], strategy)


def _renewing(semiring: AnySemiring) -> str:
    return f"all is evaluated again after each batch: `{semiring.name}` is no chain of numbers"


def _kept_current(program: Program | Compiled, strategy: str) -> Compiled:
    """Return the program compiled as a view compiles it: with all its relations."""
    _check_strategy(strategy)
    if isinstance(program, Program):
        return compile(program, keep_all=True)
    semiring = program.semiring if program.semiring is not None else "plain"
    return compile(
        program.source, keep_all=True, semiring=semiring, annotations=program.annotations
    )


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
    if compiled.semiring is not None:
        from whence.analysis.convergence import recursions
        from whence.semiring.evaluator import evaluator_of

        found = evaluator_of(compiled.semiring)
        lines = [f"── semiring {compiled.semiring.name}", f"{found.name}: {found.reason}"]
        for recursion in recursions(compiled.plan.program, compiled.semiring):
            named = ", ".join(f"`{name}`" for name in recursion.relations)
            lines.append(f"recursion of {named}: {recursion.outlook.value} ({recursion.reason})")
        parts.append("\n".join(lines))
    before: Program | None = None
    for name, program in compiled.passes:
        if program == before:
            parts.append(f"── {name}: no change")
        else:
            parts.append(f"── {name}\n{program}")
        before = program
    parts.append(f"── plan\n{show_plan(compiled.plan)}")
    return "\n\n".join(parts)
