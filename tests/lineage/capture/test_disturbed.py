"""Executors that are killed and tasks that run twice at a time change no edge."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage.capture.disturbed import GROUPS, ROWS, WAYS
from spark.cluster.places import (
    Cluster,
    _environment,
    _said,
    local_cluster,
    spark_home,
    standalone,
)
from spark.processes import started

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.timeout(900),
]

SCRIPT = Path(__file__).with_name("disturbed.py")
TESTS = SCRIPT.parents[2]
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "500ms",
    "spark.speculation.efficiency.enabled": "false",
}


@contextlib.contextmanager
def two_hosts(folder: Path) -> Iterator[Cluster]:
    """A cluster on two addresses: Spark runs no task twice at a time on one."""
    place = folder / "cluster"
    place.mkdir()
    kind = "org.apache.spark.deploy.worker.Worker"
    with standalone(place, workers=1) as cluster:
        command = [str(spark_home() / "bin" / "spark-class"), kind, "--host", "127.0.0.2"]
        command += ["--port", "0", "--webui-port", "0", "-c", "1", "-m", "640m"]
        command += ["-d", str(place / "work"), "--properties-file", str(place / "spark.conf")]
        env = {**_environment(place), "SPARK_LOCAL_IP": "127.0.0.2"}
        with started([*command, cluster.master], folder / "second.log", env) as worker:
            _said(worker, "Successfully registered with master")
            yield cluster


@pytest.fixture(scope="module", params=["killed", "speculated"])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp(request.param)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    env |= {"PYTHONPATH": str(TESTS), "PYSPARK_PYTHON": sys.executable}
    speculated = request.param == "speculated"
    with two_hosts(folder) if speculated else local_cluster(2) as cluster:
        conf = {**cluster.conf, **(SPECULATION if speculated else {})}
        command = [sys.executable, str(SCRIPT), str(folder), cluster.master, json.dumps(conf)]
        with started([*command, request.param], folder / "said.txt", env) as driver:
            driver.process.wait(850)
            said = driver.said()
    assert driver.process.returncode == 0, said[-6000:]
    return json.loads(said.splitlines()[-1])


@pytest.mark.parametrize("stage", ["map", "reduce"])
@pytest.mark.parametrize("way", WAYS)
def test_edges_are_those_of_an_undisturbed_run(ran: Any, stage: str, way: str) -> None:
    found = ran[f"{stage} {way}"]
    assert found["again"], "nothing was run again"
    sample = set(ran["sample"]) if way == "sampled" else set(range(ROWS))
    meant = {
        str(k): [ROWS // GROUPS, sorted(n for n in sample if n % GROUPS == k)]
        for k in range(GROUPS)
    }
    assert found["calm"]["rows"] == meant
    assert found["disturbed"] == found["calm"]
    assert found["calm"]["repeated"] == 0
