"""`whence plan`: how a program will be evaluated."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from whence.app.cli import options, spark
from whence.app.cli.options import AnyProgramFile, Dialect, EngineName, Form, Format
from whence.app.cli.outcome import reported
from whence.app.cli.program import compile_program, open_program
from whence.diagnostics import raise_errors

if TYPE_CHECKING:
    from whence.engine.spark.model import SparkPlan
    from whence.session import Compiled
    from whence.syntax.nodes import Program


def plan(
    program: AnyProgramFile,
    goal: Annotated[
        str | None, typer.Option("--goal", metavar="GOAL", help="Plan for this goal only.")
    ] = None,
    maintain: Annotated[
        str | None,
        typer.Option(
            "--maintain", metavar="STRATEGY", help="Also how each stratum is kept current."
        ),
    ] = None,
    engine: options.Engine = EngineName.local,
    strategy: spark.Strategy = None,
    tasks: spark.Tasks = None,
    semiring: options.Semiring = None,
    annotate: options.Annotate = None,
    rewrite: Annotated[
        list[str] | None,
        typer.Option("--rewrite", metavar="WHAT", help="How an NDlog program is rewritten."),
    ] = None,
    dialect: Dialect = None,
    format: Format = Form.text,
) -> None:
    """Print the program after each rewrite, its strata, delta rules and indexes.

    With `--engine spark` also how it is cut into groups for Spark, and why. Of a program of a
    network (NDlog) also its strands.

    Example:  whence plan routes.dl --goal 'path(1, x)'
    """
    with reported():
        from whence import session

        on_spark = spark.spark_options(engine, None, strategy, tasks, None)
        opened = open_program(program, dialect)
        if opened.dialect == "ndlog":
            raise_errors(session.check(opened))
            _print_network(opened, goal, rewrite or [], format)
            return
        compiled = compile_program(opened, goal, quiet=True, semiring=semiring, annotate=annotate)
        if format is Form.json:
            found = compiled.as_json()
            if maintain is not None:
                found["maintenance"] = session.maintenance(compiled, maintain)
            if on_spark is not None:
                found["spark"] = _on_spark(compiled, on_spark).as_json()
            print(json.dumps(found, indent=2, ensure_ascii=False))
        else:
            print(session.explain_plan(compiled))
            if maintain is not None:
                text = session.explain_maintenance(compiled, maintain)
                print(f"\n── maintenance\n{text}")
            if on_spark is not None:
                print(f"\n── on Spark\n{_on_spark(compiled, on_spark).text()}")


def _print_network(program: Program, goal: str | None, words: list[str], form: Form) -> None:
    from whence.network.rewrite.options import parse_options
    from whence.network.rewrite.passes import NAMES, run_passes
    from whence.network.rewrite.show import show_steps, steps_as_json
    from whence.syntax.ndlog import parse_ndlog_goal
    from whence.syntax.nodes import Query

    if goal is not None:
        program = replace(program, queries=(Query(parse_ndlog_goal(goal)),))
    steps = run_passes(program, parse_options(words, NAMES))
    if form is Form.json:
        print(json.dumps(steps_as_json(program, steps), indent=2, ensure_ascii=False))
    else:
        print(show_steps(program, steps))


@dataclass(frozen=True, slots=True)
class _Cut:
    """How a program is cut for Spark, to be shown."""

    plan: SparkPlan | None
    """None where one task does it all."""

    def text(self) -> str:
        from whence.engine.spark.cut.show import show_spark_plan

        return _WHOLE if self.plan is None else show_spark_plan(self.plan)

    def as_json(self) -> object:
        from whence.engine.spark.cut.show import spark_plan_as_json

        if self.plan is None:
            return [{"strategy": "alone", "why": _WHOLE}]
        return spark_plan_as_json(self.plan)


_WHOLE = "one task: annotations in this semiring are solved together"


def _on_spark(compiled: Compiled, options: spark.SparkOptions) -> _Cut:
    from whence.engine.spark.cut.groups import cut
    from whence.spark.batch import asked_relations, strategy_named

    if compiled.semiring is not None and compiled.semiring.chain is None:
        return _Cut(None)
    goal = compiled.goal
    given = {d.relation for d in compiled.reading.directives if d.action == "input"}
    return _Cut(
        cut(
            compiled.plan,
            tasks=options.tasks or os.cpu_count() or 1,
            forced=strategy_named(options.strategy),
            inputs=given,
            asked=asked_relations(compiled) if goal is None else (goal.relation,),
        )
    )
