"""Where Spark runs in these tests: clusters of several JVMs on this machine, all on the loopback."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import secrets
import shutil
import site
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spark.processes import Started, start, wait_for
from whence.engine.spark.jvm import find_jvm, java_home

SECONDS = 300.0
CONF = {
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
    # A machine that is busy with other things is slow, not dead.
    "spark.network.timeout": "600s",
    "spark.worker.timeout": "600",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A place that runs Spark's tasks in processes of their own."""

    master: str
    conf: dict[str, str]
    processes: tuple[Started, ...] = ()


@contextlib.contextmanager
def local_cluster(workers: int = 2) -> Iterator[Cluster]:
    """Spark's own cluster in miniature: the driver starts its executors as further processes."""
    try:
        yield Cluster(f"local-cluster[{workers},1,640]", CONF)
    finally:
        # Its workers keep logs in Spark's own folder, whatever they are told.
        shutil.rmtree(spark_home() / "work", ignore_errors=True)


@contextlib.contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A standalone master with workers of one core each, which know a secret."""
    secret = secrets.token_hex(16)
    settings = folder / "spark.conf"
    settings.touch(mode=0o600)
    lines = ("spark.authenticate true", f"spark.authenticate.secret {secret}")
    # Its service for submissions would listen on a port of its own choice.
    more = ("spark.worker.timeout 600", "spark.master.rest.enabled false", "")
    settings.write_text("\n".join((*lines, *more)))
    env = _environment(folder)
    spark_class = [str(spark_home() / "bin" / "spark-class")]
    lead = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    rest = ["--properties-file", str(settings)]
    found: list[Started] = []

    def run(name: str, *command: str) -> Started:
        process = start([*spark_class, *command], folder / f"{name}.log", env)
        found.append(process)
        return process

    try:
        master = run("master", "org.apache.spark.deploy.master.Master", *lead, *rest)
        url = _said(master, r"Starting Spark master at (spark://\S+)")
        of_worker = ["-c", "1", "-m", "640m", "-d", str(folder / "work")]
        for number in range(workers):
            kind = "org.apache.spark.deploy.worker.Worker"
            run(f"worker-{number}", kind, *lead, *of_worker, *rest, url)
        for worker in found[1:]:
            _said(worker, r"Successfully registered with master")
        conf = {
            "spark.authenticate": "true",
            "spark.authenticate.secret": secret,
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            **CONF,
        }
        yield Cluster(url, conf, tuple(found))
    finally:
        for process in reversed(found):
            process.stop()


def bare_python(folder: Path) -> Path:
    """Return a Python with the packages of this one, but without Whence."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    python = folder / "bin" / "python"
    asked = "import site; print(site.getsitepackages()[0])"
    done = subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True)
    # A folder that is named here is searched, but the `.pth` files in it are not read; it is by
    # one of those that a checkout is installed.
    lines = "\n".join(site.getsitepackages())
    Path(done.stdout.strip(), "others.pth").write_text(lines + "\n", encoding="utf-8")
    return python


def spark_home() -> Path:
    """Return the folder of the installed PySpark."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def _environment(folder: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
    return {
        **kept,
        "JAVA_HOME": str(java_home(find_jvm())),
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONF_DIR": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
    }


def _said(process: Started, pattern: str) -> str:
    """Wait for words of a process, and return what its first group matched, or all."""

    def looked() -> object:
        return re.search(pattern, process.said()) or process.process.poll() is not None

    wait_for(looked, SECONDS)
    found = re.search(pattern, process.said())
    assert found is not None, f"{process.command[1]} did not come up:\n{process.said()[-2000:]}"
    return found.group(found.re.groups and 1)
