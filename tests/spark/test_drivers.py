"""Drivers of every kind: spark-submit with the wheel, a conversation as notebooks have it, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pyspark
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PROGRAM = """\
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def built_wheel(folder: Path) -> Path:
    """Return a folder with what the wheel installs, which is not the checkout."""
    built = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", folder / "dist", ROOT],
        capture_output=True,
        text=True,
        timeout=600,
    )
    if built.returncode and "No matching distribution" in built.stdout + built.stderr:
        pytest.skip("the wheel cannot be built: the package index cannot be reached")
    assert built.returncode == 0, built.stderr
    (wheel,) = (folder / "dist").glob("whence-*.whl")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", folder / "installed", wheel], check=True, timeout=600)
    return folder / "installed"


def test_a_script_runs_under_spark_submit_with_the_wheel(tmp_path: Path) -> None:
    installed = built_wheel(tmp_path)
    (tmp_path / "edge.csv").write_text("1,2\n2,3\n")
    (tmp_path / "closure.py").write_text(
        "import sys\n"
        "import whence.spark\n"
        "spark = whence.spark.session()\n"
        "assert spark.conf.get('spark.app.name') == 'mine'\n"
        "edges = spark.read.schema('x long, y long').csv(sys.argv[1])\n"
        f"with whence.spark.evaluate(spark, '''{PROGRAM}''', {{'edge': edges}}) as found:\n"
        "    rows = sorted(map(tuple, found['path'].collect()))\n"
        "    print(rows, whence.__file__)\n"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")}
    done = subprocess.run(
        [
            Path(pyspark.__file__).parent / "bin" / "spark-submit",
            *("--master", "local[2]", "--name", "mine", "--conf", "spark.ui.enabled=false"),
            *("--conf", "spark.driver.bindAddress=127.0.0.1"),
            *("closure.py", "edge.csv"),
        ],
        cwd=tmp_path,
        env={**env, "PYTHONPATH": str(installed), "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    here = installed / "whence" / "__init__.py"
    assert done.stdout.splitlines()[-1] == f"[(1, 2), (1, 3), (2, 3)] {here}"


CONVERSATION = f"""
import os, signal, threading, time
import whence.spark
spark = whence.spark.session("local[2]")
def shifted(x): return x + 100

program = '''{PROGRAM}
.functor shifted(x: number): number
.decl far(x: number)
.output far
far(@shifted(y)) :- path(_, y).
'''
found = whence.spark.evaluate(spark, program, {{"edge": [(1, 2), (2, 3)]}}, functors={{"shifted": shifted}})
sorted(row[0] for row in found["far"].collect())
endless = ".decl n(x: number) .output n n(0). n(x + 1) :- n(x), x < 1000000000000."
def interrupt():
    while not spark.sparkContext.statusTracker().getActiveJobsIds(): time.sleep(0.1)
    time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try: whence.spark.evaluate(spark, endless)
except KeyboardInterrupt: print("interrupted")

while spark.sparkContext.statusTracker().getActiveJobsIds(): time.sleep(0.1)

sorted(map(tuple, found["path"].collect()))
spark.stop()
"""


def test_a_conversation_can_be_interrupted_and_goes_on(tmp_path: Path) -> None:
    """As in a notebook: functions of the conversation travel, and nobody prints progress."""
    done = subprocess.run(
        [sys.executable, "-i", "-q"],
        input=CONVERSATION,
        cwd=tmp_path,
        env={**os.environ, "PYTHON_BASIC_REPL": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stdout.splitlines() == [
        "[102, 103]",
        "interrupted",
        "[(1, 2), (1, 3), (2, 3)]",
    ], done.stderr
    assert set(done.stderr.split()) <= {">>>", "..."}


def test_ctrl_c_ends_a_run_and_writes_nothing(tmp_path: Path) -> None:
    program = tmp_path / "endless.dl"
    program.write_text(".decl n(x: number) .output n n(0). n(x + 1) :- n(x), x < 1000000000000.")
    arguments = [
        "run",
        program,
        "-D",
        tmp_path / "out",
        "--engine",
        "spark",
        "--master",
        "local[2]",
    ]
    run = subprocess.Popen(
        [sys.executable, "-m", "whence", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _wait_for_workers(run.pid)
        started = time.monotonic()
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does it
        out, err = run.communicate(timeout=120)
    finally:
        run.kill()
    assert (run.returncode, out, err) == (130, "", "interrupted\n")
    assert time.monotonic() - started < 60
    assert not (tmp_path / "out").exists()


def _wait_for_workers(session: int) -> None:
    """Wait until the Python workers of the driver are busy."""
    command = ["ps", "-o", "args=", "-s", str(session)]
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        there = subprocess.run(command, capture_output=True, text=True).stdout
        if there.count("pyspark.daemon") > 1:
            time.sleep(3)
            return
        time.sleep(0.5)
    raise AssertionError(textwrap.shorten(there, 1000))
