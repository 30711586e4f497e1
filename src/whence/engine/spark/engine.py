"""The engine on Spark: a plan and its inputs in, relations as frames and tables out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from whence.diagnostics import Diagnostic, UsageError
from whence.engine.base import Limits, Observer
from whence.engine.spark.decomposed import packed_functors
from whence.engine.spark.evaluation import SparkEvaluation
from whence.engine.spark.groupwise import Run, Settings
from whence.engine.spark.model import Strategy
from whence.engine.spark.ship import equip
from whence.engine.spark.sources import FrameInput
from whence.functor.user import UserFunctors
from whence.plan.nodes import Plan
from whence.rewrite.read_in import AnySemiring

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check_session(spark: object) -> None:
    """Refuse what is no session that can run jobs."""
    from pyspark.sql import SparkSession

    what = ""
    if not isinstance(spark, SparkSession):
        connect = type(spark).__module__.startswith("pyspark.sql.connect")
        what = "one of Spark Connect" if connect else f"a {type(spark).__name__}"
    if what:
        raise UsageError(
            Diagnostic(
                "W1029",
                f"a Spark session is needed that runs jobs here, not {what}",
                hint="`whence.spark.session()` finds or starts one",
            )
        )


class SparkEngine:
    """Evaluates on the executors of a Spark session: the active one, or a new one on this machine.

    `strategy` is how every group is to run; `tasks` into how many parts relations are cut, as many
    as there are cores to work on them where nothing is said.
    """

    name = "spark"

    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        strategy: Strategy | None = None,
        tasks: int | None = None,
        functors: UserFunctors | None = None,
    ) -> None:
        if tasks is not None and tasks < 1:
            raise UsageError(
                Diagnostic("W1020", f"{tasks} tasks cannot do anything", hint="give 1 or more")
            )
        if spark is not None:
            check_session(spark)
        self._spark = spark
        self._strategy = strategy
        self._tasks = tasks
        self._functors = functors

    def evaluate(
        self,
        plan: Plan,
        inputs: Mapping[str, pa.Table | FrameInput],
        *,
        limits: Limits = Limits(),
        threads: int | None = None,
        observer: Observer | None = None,
        asked: Collection[str] | None = None,
    ) -> SparkEvaluation:
        """Return the relations of the plan over the inputs; `asked` are those that are wanted.

        A task has as many `threads` as Spark gives it cores, unless others are asked for.
        """
        run = self._run(limits, threads, observer, asked)
        return run.evaluate(plan, inputs, self._strategy)

    def evaluate_annotated(
        self,
        plan: Plan,
        inputs: Mapping[str, pa.Table],
        semiring: AnySemiring,
        *,
        name: str | None = None,
        limits: Limits = Limits(),
        threads: int | None = None,
        observer: Observer | None = None,
        asked: Collection[str] | None = None,
    ) -> SparkEvaluation:
        """Return the relations of a plan in a semiring that is no chain, from one task.

        It is what `engine.annotated` gives. `name` makes the semiring anew where that is possible.
        """
        run = self._run(limits, threads, observer, asked)
        return run.evaluate_annotated(plan, inputs, semiring, name)

    def _run(
        self,
        limits: Limits,
        threads: int | None,
        observer: Observer | None,
        asked: Collection[str] | None,
    ) -> Run:
        functors = packed_functors(self._functors)
        if self._spark is None:
            from whence.engine.spark.session import session

            self._spark = session()
        spark = self._spark
        equip(spark)
        return Run(
            spark,
            Settings(
                tasks=self._tasks or max(1, spark.sparkContext.defaultParallelism),
                threads=threads or int(spark.conf.get("spark.task.cpus", "1") or 1),
                limits=limits,
                functors=functors,
                user_functors=self._functors or UserFunctors(),
                observer=observer,
                asked=None if asked is None else frozenset(asked),
            ),
        )
