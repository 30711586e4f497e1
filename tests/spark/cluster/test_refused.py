"""What a cluster cannot do is told in a line, by the command as people use it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from spark.cluster.places import local_cluster

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.cluster]

CLOSURE = """\
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.output path
edge(1, 2). edge(2, 3).
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
"""


def test_a_gang_is_refused_where_executors_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "closure.dl").write_text(CLOSURE)
    command = [sys.executable, "-m", "whence", "run", "closure.dl", "-D", "out"]
    with local_cluster(1) as cluster:
        conf = {**cluster.conf, "spark.dynamicAllocation.enabled": "true"}
        ended = subprocess.run(
            [
                *(*command, "--engine", "spark", "--strategy", "gang", "--master", cluster.master),
                *(part for key, value in conf.items() for part in ("--conf", f"{key}={value}")),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=600,
        )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("error[W1010]: ")
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "out").exists()
