"""The Spark session that Whence runs in: the active one, or a quiet one that it starts."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from whence.diagnostics import Diagnostic, UsageError
from whence.engine.spark.installed import check_installed
from whence.engine.spark.jvm import find_jvm, java_home
from whence.engine.spark.launch import Launch, NotStarted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULTS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.python.worker.reuse": "true",
    # Facts that fit one blob of a task should reach it in one piece.
    "spark.rpc.message.maxSize": "256",
}
"""Settings of a session that Whence starts, where nobody gives others: not the user, not the files
of Spark's configuration, not who submitted the program."""

_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}

_ELSEWHERE = (
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONF_DIR",
    "SPARK_HOME",
    "MASTER",
)
"""Who sets one of these may have said where Spark is to run."""


_MASTER = re.compile(r"local(-cluster)?(\[[\d*, ]+\])?|(spark|k8s)://.+|yarn")


def session(master: str | None = None, **conf: str) -> SparkSession:
    """Return the active Spark session, or a new one.

    `master` is a URL such as `local[2]` or `spark://host:7077`; without it, what Spark's own
    configuration says, else all cores of this machine. `conf` are Spark's settings. Those of a
    session that is there already stay as they are.
    """
    asked = _checked(master, conf)
    active = _active()
    if active is not None:
        _check_master(active, asked)
        return active
    return _started(_settings(master, conf))


def own_session(launch: Launch, master: str | None = None, **conf: str) -> SparkSession:
    """Return a new Spark session in a JVM that is yet to be launched; there must be no other."""
    _checked(master, conf)
    return _started(_settings(master, conf), launch)


def can_be_own() -> bool:
    """Whether this process has no JVM of Spark's yet, and nobody else has started one for it."""
    return (
        os.name == "posix"
        and "PYSPARK_GATEWAY_PORT" not in os.environ
        and ("pyspark" not in sys.modules or not _jvm_runs())
    )


def is_logged(conf: Mapping[str, str]) -> bool:
    """Whether the user wants to see what Spark logs."""
    level = logging.getLogger(__name__).getEffectiveLevel()
    return level <= logging.INFO or _own_logging(conf)


def _checked(master: str | None, conf: Mapping[str, str]) -> str | None:
    """Return the master that is asked for, once it is known that it can be."""
    check_installed()
    asked = master or conf.get("spark.master")
    if (asked or "").startswith("sc://") or "SPARK_REMOTE" in os.environ:
        raise UsageError(
            Diagnostic(
                "W1062",
                "Spark Connect cannot run this: tasks and driver share more than a plan",
                hint="give a master such as `local[*]` or `spark://host:7077`",
            )
        )
    if asked is not None and not _MASTER.fullmatch(asked):
        raise UsageError(
            Diagnostic(
                "W1064",
                f"`{asked}` is no master of Spark",
                hint="such as `local[4]`, `spark://host:7077`, `yarn` or `k8s://https://host`",
            )
        )
    return asked


def is_local(spark: SparkSession) -> bool:
    """Whether the driver's own process runs the tasks, so that nothing need be brought to them."""
    master = str(spark.sparkContext.master)
    return master == "local" or master.startswith("local[")


def _active() -> SparkSession | None:
    from pyspark.sql import SparkSession

    found = SparkSession.getActiveSession()
    if found is None or found.sparkContext._jsc is None:  # stopped
        return None
    return found


def _check_master(spark: SparkSession, master: str | None) -> None:
    there = spark.sparkContext.master
    if master is not None and master != there:
        raise UsageError(
            Diagnostic(
                "W1063",
                f"a Spark session on `{there}` is active, so there cannot be one on `{master}`",
                hint="stop it first, `spark.stop()`, or leave the master out",
            )
        )


def _settings(master: str | None, conf: Mapping[str, str]) -> dict[str, str]:
    settings = dict(conf)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # a submission has these, and so would a shell
        settings = {"spark.app.name": "whence", "spark.ui.showConsoleProgress": "false", **settings}
    if master is not None:
        settings["spark.master"] = master
    elif not any(name in os.environ for name in _ELSEWHERE):
        settings.setdefault("spark.master", "local[*]")
    if settings.get("spark.master", "").startswith("local"):
        settings = {**_LOOPBACK, **settings}
    if not _own_logging(settings):
        before = settings.get("spark.driver.extraJavaOptions", "")
        settings["spark.driver.extraJavaOptions"] = f"{before} {_logging()}".strip()
    return settings


def _own_logging(settings: Mapping[str, str]) -> bool:
    """Whether the user has said what Spark is to log."""
    if "log4j" in settings.get("spark.driver.extraJavaOptions", "") + os.environ.get(
        "PYSPARK_SUBMIT_ARGS", ""
    ):
        return True
    folders = [os.environ.get("SPARK_CONF_DIR"), f"{os.environ.get('SPARK_HOME', '')}/conf"]
    return any(folder and Path(folder, "log4j2.properties").exists() for folder in folders)


def _logging() -> str:
    """Return the options that have Spark log as much as we do: nothing, or with `-v` more."""
    file = Path(__file__).with_name("log4j2.properties").resolve()
    options = [f"-Dlog4j2.configurationFile={file.as_uri()}"]
    level = logging.getLogger(__name__).getEffectiveLevel()
    if level <= logging.INFO:
        told = "info" if level <= logging.DEBUG else "warn"
        options += [f"-Dwhence.log={told}", "-Dwhence.log.failures=error"]
    return " ".join(options)


def _started(settings: Mapping[str, str], launch: Launch | None = None) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        if "spark.pyspark.python" not in settings:
            os.environ.setdefault(name, sys.executable)
    with _java():
        try:
            builder = SparkSession.builder
            for key, value in {**_missing(settings, launch), **settings}.items():
                builder = builder.config(key, value)
            return builder.getOrCreate()
        except NotStarted as error:
            raise _refused(settings, *error.lines) from None
        except PySparkException as error:
            raise _refused(settings, *str(error).strip().splitlines()[:1]) from None
        except Exception as error:  # py4j's, which has no common base that says more
            told = getattr(error, "java_exception", None)
            if told is None:
                raise
            raise _refused(settings, *str(told).strip().splitlines()[:1]) from None


def _missing(settings: Mapping[str, str], launch: Launch | None) -> dict[str, str]:
    """Start the JVM, which reads Spark's configuration, and return our settings that it lacks."""
    from pyspark import SparkConf, SparkContext

    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(key, value)
    gateway = None if launch is None else launch.gateway(conf.getAll())
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)
    known = {key for key, _ in SparkConf().getAll()}
    return {key: value for key, value in DEFAULTS.items() if key not in known}


def _refused(settings: Mapping[str, str], said: str = "it says nothing", *more: str) -> UsageError:
    master = settings.get("spark.master", "its configured master")
    return UsageError(
        Diagnostic(
            "W1064",
            f"Spark does not start on `{master}`: {said}",
            notes=tuple(line[:300] for line in more),
            hint="see what it logs: `whence -v run …`, or a log4j2.properties of your own",
        )
    )


@contextlib.contextmanager
def _java() -> Iterator[None]:
    """Let Spark start the right Java; what it starts later inherits that."""
    if "PYSPARK_GATEWAY_PORT" in os.environ or _jvm_runs():
        yield
        return
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = str(java_home(find_jvm()))
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("JAVA_HOME", None)
        else:
            os.environ["JAVA_HOME"] = before


def _jvm_runs() -> bool:
    from pyspark import SparkContext

    return SparkContext._gateway is not None
