"""A driver in a process of its own, which is asked one scenario after the other, in JSON.

A session cannot change its master, and what a test kills or leaves behind must not reach others.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spark.cluster.killing import attempts, killing, pass_gate
from spark.cluster.places import Cluster
from spark.processes import Started, command_line, started, wait_for

SECONDS = 600.0
TESTS = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver that is running."""

    process: Started
    folder: Path
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def ask(self, scenario: str, **asked: Any) -> dict[str, Any]:
        """Have it play a scenario, and return what it found."""
        number = next(self._numbers)
        answer = self.folder / f"answer-{number}.json"
        question = {"scenario": scenario, "asked": asked}
        put(self.folder / f"question-{number}.json", question)
        wait_for(lambda: answer.exists() or self.process.process.poll() is not None, SECONDS)
        said = self.process.said()[-6000:]
        assert answer.exists(), f"`{scenario}` was not answered within {SECONDS} s:\n{said}"
        found = dict(json.loads(answer.read_text(encoding="utf-8")))
        assert "error" not in found, f"{found['error']}\n{said}"
        return found


@contextlib.contextmanager
def driver(cluster: Cluster, folder: Path, *, python: Path | None = None) -> Iterator[Driver]:
    """Start a driver on a cluster, whose executors run a given Python."""
    folder.mkdir()
    settings = folder / "settings.json"
    settings.touch(mode=0o600)  # it has the secret of the cluster
    settings.write_text(json.dumps({"master": cluster.master, "conf": cluster.conf}))
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    env |= {
        "PYTHONPATH": str(TESTS),
        "PYSPARK_PYTHON": str(python or sys.executable),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [sys.executable, "-m", "spark.cluster.driver", str(folder)]
    with started(command, folder / "driver.log", env) as process:
        found = Driver(process, folder)
        yield found
        put(folder / f"question-{next(found._numbers)}.json", {"scenario": "end"})
        wait_for(lambda: process.process.poll() is not None, 60)


def put(path: Path, value: object) -> None:
    """Write a file that appears whole."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value), encoding="utf-8")
    new.replace(path)


# ── in the driver ──

Scenario = Callable[..., dict[str, Any]]

CLOSURE = """
.decl edge(x: number, y: number)
.input edge
.functor gate(x: number, y: number): number
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
"""
LINEAR = CLOSURE + "path(x, z) :- path(x, y), edge(y, w), z = @gate(x, w).\n"
NONLINEAR = CLOSURE + "path(x, z) :- path(x, y), path(y, w), z = @gate(x, w).\n"
NODES = 200
GATE = 64
"""How far apart two nodes of the chain are where the executor is killed."""


def chain() -> list[tuple[int, int]]:
    return [(i, i + 1) for i in range(NODES)]


def gated(folder: str, far: int = GATE) -> Callable[[int, int], int]:
    """Return a functor that comes to a gate in the middle of an evaluation."""

    def gate(x: int, y: int) -> int:
        if y - x == far:
            pass_gate(folder)
        return y

    return gate


def killed(spark: Any, folder: Path, strategy: str) -> dict[str, Any]:
    """Kill an executor in the middle of an evaluation."""
    import whence.spark

    program = LINEAR if strategy == "decomposed" else NONLINEAR
    with killing(spark, folder) as kill:
        found = whence.spark.evaluate(
            spark,
            program,
            {"edge": spark.createDataFrame(chain(), "x long, y long")},
            strategy=strategy,
            functors={"gate": gated(str(folder))},
            tasks=2,
        )
        rows = sorted((row.x, row.y) for row in found["path"].collect())
    return {
        "rows": rows,
        "strategies": [group.strategy.value for group in found.plan.groups],
        "kill": told(spark, kill),
    }


def killed_afterwards(spark: Any, folder: Path, strategy: str) -> dict[str, Any]:
    """Kill an executor that has done its work; what it held is wanted once more."""
    import whence.spark

    program = LINEAR if strategy == "decomposed" else NONLINEAR
    (folder / "open").touch()
    with whence.spark.evaluate(
        spark,
        program,
        {"edge": chain()},
        strategy=strategy,
        functors={"gate": gated(str(folder))},
        tasks=2,
    ) as found:
        frame = found["path"]
        before = frame.count()
        executors = executors_of(spark)
        os.kill(executors[0], signal.SIGKILL)
        gone = wait_for(lambda: executors[0] not in executors_of(spark), 60)
        time.sleep(2.0)  # until the driver knows, too
        rows = sorted((row.x, row.y) for row in frame.collect())
    return {"before": before, "gone": gone, "executors": len(executors), "rows": rows}


def streamed(spark: Any, folder: Path, program: str, tasks: int) -> dict[str, Any]:
    """Kill an executor in the middle of a batch of a stream."""
    import whence.spark
    from whence.functor.user import UserFunctors

    feed, state = folder / "in", folder / "state"
    feed.mkdir()
    links = chain()
    for number, part in enumerate((links[:100], links[100:], links[:1])):
        sign = "-" if number == 2 else "+"
        lines = "".join(f"{sign}edge({x}, {y}).\n" for x, y in part)
        (folder / "new").write_text(lines)
        (folder / "new").rename(feed / f"{number}.txt")
        time.sleep(0.01)  # files are read in the order of their times
    # The first batch has no two nodes that are so far apart, so it is the second that is hit.
    functors = UserFunctors().add("gate", gated(str(folder), 150))
    with killing(spark, folder) as kill:
        query = whence.spark.maintain(
            NONLINEAR if program == "nonlinear" else LINEAR,
            whence.spark.updates(spark, feed, files_per_batch=1),
            checkpoint=state,
            tasks=tasks,
            functors=functors,
            trigger={"availableNow": True},
        )
        query.awaitTermination()
        query.stop()
    last = whence.spark.last_batch(state)
    rows = sorted((row.x, row.y) for row in whence.spark.view(spark, state, "path").collect())
    told_changes: dict[tuple[int, int], int] = {}
    for row in whence.spark.changes(spark, state, "path").collect():
        step = 1 if row.op == "+" else -1
        told_changes[row.x, row.y] = told_changes.get((row.x, row.y), 0) + step
    return {
        "rows": rows,
        "changes": sorted(pair for pair, count in told_changes.items() if count),
        "counts": sorted({*told_changes.values()}),
        "last": last,
        "kill": told(spark, kill),
    }


def executors_of(spark: Any) -> list[int]:
    """Return the processes of the executors of a session."""
    application = spark.sparkContext.applicationId
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            command = command_line(int(entry.name))
            if "CoarseGrainedExecutorBackend" in command and application in command:
                found.append(int(entry.name))
    return sorted(found)


def told(spark: Any, kill: Any) -> dict[str, Any]:
    return {
        "executor": kill.executor,
        "fault": kill.fault,
        "running": list(kill.stages.values()),
        "attempts": list(attempts(spark, kill.stages).values()),
    }


SCENARIOS: dict[str, Scenario] = {
    "killed": killed,
    "killed afterwards": killed_afterwards,
    "streamed": streamed,
}


def main(folder: Path) -> None:
    from pyspark import cloudpickle

    from spark.cluster import killing as module
    from whence.engine.spark.session import session

    cloudpickle.register_pickle_by_value(module)  # executors do not have the tests
    began = time.monotonic()
    settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    spark = session(settings["master"], **settings["conf"])
    say = lambda what: print(f"{time.monotonic() - began:.1f} s: {what}", flush=True)  # noqa: E731
    say("session")
    for number in itertools.count():
        path = folder / f"question-{number}.json"
        if not wait_for(path.exists, 1000):
            break
        question = json.loads(path.read_text(encoding="utf-8"))
        scenario = question["scenario"]
        if scenario == "end":
            break
        gate = folder / f"gate-{number}"
        gate.mkdir()
        say(scenario)
        try:
            answer = SCENARIOS[scenario](spark, gate, **question["asked"])
        except Exception:
            answer = {"error": traceback.format_exc()}
        say("done")
        put(folder / f"answer-{number}.json", answer)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
