"""An executor that is killed in the middle of a job costs time, and no answer."""

from __future__ import annotations

from typing import Any

import pytest

from spark.cluster.driver import NODES, Driver

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.timeout(900),
]

CLOSURE = [[x, y] for x in range(NODES + 1) for y in range(x + 1, NODES + 1)]
"""The ways along the chain of the scenarios."""


def check_kill(kill: dict[str, Any]) -> None:
    """The executor was killed while its task was running, and Spark noticed."""
    assert not kill["fault"], kill["fault"]
    assert kill["executor"] > 0
    assert any(tasks > 0 for tasks in kill["running"]), "no task was running"
    assert any(attempt > 0 or failed > 0 for attempt, failed in kill["attempts"]), kill


@pytest.mark.parametrize("strategy", ["decomposed", "gang"])
def test_an_executor_is_killed_in_the_middle_of_an_evaluation(
    on_local_cluster: Driver, strategy: str
) -> None:
    found = on_local_cluster.ask("killed", strategy=strategy)
    check_kill(found["kill"])
    assert strategy in found["strategies"]
    assert found["rows"] == CLOSURE


@pytest.mark.parametrize("strategy", ["decomposed", "gang"])
def test_fresh_executors_of_a_standalone_cluster_know_the_package(
    on_standalone: Driver, strategy: str
) -> None:
    """Also the one that comes in place of another that was killed."""
    found = on_standalone.ask("killed", strategy=strategy)
    check_kill(found["kill"])
    assert strategy in found["strategies"]
    assert found["rows"] == CLOSURE


@pytest.mark.parametrize("strategy", ["decomposed", "gang"])
def test_what_a_killed_executor_held_is_computed_again(
    on_local_cluster: Driver, strategy: str
) -> None:
    found = on_local_cluster.ask("killed afterwards", strategy=strategy)
    assert found["executors"] == 2
    assert found["gone"]
    assert found["before"] == len(CLOSURE)
    assert found["rows"] == CLOSURE


@pytest.mark.parametrize("program", ["linear", "nonlinear"])
def test_an_executor_is_killed_in_the_middle_of_a_streaming_batch(
    on_local_cluster: Driver, program: str
) -> None:
    """Tasks of the first never speak to each other, those of the second do."""
    found = on_local_cluster.ask("streamed", program=program, tasks=2)
    check_kill(found["kill"])
    after = [[x, y] for x, y in CLOSURE if x > 0]  # the last batch takes the first link away
    assert found["last"] == 2
    assert found["rows"] == after
    assert found["changes"] == after
    assert found["counts"] == [0, 1], "a change was told twice"
