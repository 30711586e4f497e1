"""Options of the engine on Spark, and the session that a command runs in."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from whence.app.cli.beside import beside
from whence.app.cli.options import EngineName
from whence.diagnostics import Diagnostic, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from whence.engine.spark.interrupt import Interrupt
    from whence.engine.spark.launch import Launch

    Sessions: TypeAlias = Callable[[], contextlib.AbstractContextManager[SparkSession]]

_PATIENCE = 10.0
"""Seconds that a run has, after an interrupt, to remove what it has half written."""


class StrategyName(StrEnum):
    """How tasks of Spark share the work."""

    decomposed = "decomposed"
    gang = "gang"
    rounds = "rounds"
    alone = "alone"


Master: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Where Spark runs, such as local[4] or spark://host:7077; all cores here otherwise.",
    ),
]
Strategy: TypeAlias = Annotated[
    StrategyName | None,
    typer.Option("--strategy", help="How tasks of Spark share the work; chosen if not given."),
]
Tasks: TypeAlias = Annotated[
    int | None,
    typer.Option("--tasks", min=1, metavar="N", help="Tasks of Spark; as many as cores otherwise."),
]
Conf: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark's; may be repeated."),
]


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """What a command line says about Spark."""

    master: str | None = None
    strategy: str | None = None
    tasks: int | None = None
    conf: tuple[tuple[str, str], ...] = ()

    def run(self, work: Callable[[Sessions, Interrupt], object]) -> None:
        """Do work that asks for a session, in a JVM of its own unless there is one already.

        That JVM is started for this command, says nothing on the terminal, and ends with it.
        """
        from whence.engine.spark.interrupt import Interrupt
        from whence.engine.spark.launch import Launch
        from whence.engine.spark.session import can_be_own, is_logged

        interrupt = Interrupt()
        if not can_be_own() or threading.current_thread() is not threading.main_thread():
            work(self._session_there, interrupt)
            return
        launch = Launch(interrupt, shown=is_logged(dict(self.conf)))
        with _without_tracebacks(), contextlib.closing(launch):
            beside(
                lambda: work(lambda: self._session_of(launch, interrupt), interrupt),
                interrupt,
                launch.end,
            )

    @contextlib.contextmanager
    def _session_there(self) -> Iterator[SparkSession]:
        """Give a session, and stop it at the end if there was none before."""
        from pyspark.sql import SparkSession

        from whence.engine.spark.session import session

        before = SparkSession.getActiveSession()
        spark = session(self.master, **dict(self.conf))
        try:
            yield spark
        finally:
            if spark is not before:
                spark.stop()

    @contextlib.contextmanager
    def _session_of(self, launch: Launch, interrupt: Interrupt) -> Iterator[SparkSession]:
        """Give the session of a JVM of ours; after an interrupt the JVM need not be asked."""
        from whence.engine.spark.session import own_session

        spark = own_session(launch, self.master, **dict(self.conf))
        interrupt.patience = _PATIENCE
        try:
            interrupt.check()
            yield spark
        finally:
            if interrupt.noted:
                launch.end()
            else:
                spark.stop()


@contextlib.contextmanager
def _without_tracebacks() -> Iterator[None]:
    """Keep from the terminal what py4j logs of calls that fail; the error itself is told."""
    root = logging.getLogger()
    if root.handlers:  # `whence -v`
        yield
        return

    def wanted(record: logging.LogRecord) -> bool:
        return "py4j" not in Path(record.pathname).parts

    root.addFilter(wanted)
    try:
        yield
    finally:
        root.removeFilter(wanted)


def spark_options(
    engine: EngineName,
    master: str | None,
    strategy: StrategyName | None,
    tasks: int | None,
    conf: list[str] | None,
) -> SparkOptions | None:
    """Return what is said about Spark; None when another engine evaluates.

    >>> spark_options(EngineName.spark, "local[2]", None, None, ["spark.task.cpus=2"]).conf
    (('spark.task.cpus', '2'),)
    """
    if engine is EngineName.spark:
        chosen = None if strategy is None else strategy.value
        return SparkOptions(master, chosen, tasks, tuple(map(_setting, conf or ())))
    given = {"--master": master, "--strategy": strategy, "--tasks": tasks, "--conf": conf}
    for name, value in given.items():
        if value:
            message = f"`{name}` says something about Spark, but `{engine.value}` evaluates"
            raise UsageError(Diagnostic("W1069", message, hint="add `--engine spark`"))
    return None


def here(folder: str, option: str) -> Path:
    """Return a folder of this machine; one with a scheme is for Spark."""
    from whence.facts.places import has_scheme

    if has_scheme(folder):
        message = f"`{option} {folder}` can be read and written by Spark only"
        raise UsageError(Diagnostic("W1069", message, hint="add `--engine spark`"))
    return Path(folder)


def _setting(text: str) -> tuple[str, str]:
    key, mark, value = text.partition("=")
    if not (key.startswith("spark.") and mark):
        message = f"`--conf {text}` is not of the form spark.KEY=VALUE"
        raise UsageError(
            Diagnostic("W1069", message, hint="such as `--conf spark.driver.memory=4g`")
        )
    return key, value
