"""The session that Whence starts: found again, quiet, on the right Python and Java."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from whence.diagnostics import UsageError
from whence.engine.spark.session import is_local, session

pytestmark = pytest.mark.spark

QUIET = """
import sys
from whence.engine.spark.session import session
spark = session("local[2]")
assert spark.range(10).mapInArrow(lambda batches: batches, "id long").count() == 10
def broken(batches):
    raise ValueError("told by an exception alone")
try:
    spark.range(10).mapInArrow(broken, "id long").count()
except Exception as error:
    assert "told by an exception alone" in str(error)
else:
    sys.exit("nothing was raised")
spark.stop()
"""


def test_the_active_session_is_taken(spark: Any) -> None:
    assert session() is spark
    assert session("local[2]") is spark
    assert is_local(spark)


def test_a_session_elsewhere_cannot_be_had_beside_the_active_one(spark: Any) -> None:
    with pytest.raises(UsageError, match="W1063"):
        session("local[3]")


@pytest.mark.parametrize("master", ["nonsense", "local[two]", "http://host", "spark://"])
def test_what_is_no_master_is_told_before_java_starts(master: str) -> None:
    with pytest.raises(UsageError, match=r"W1064.*is no master"):
        session(master)


def test_spark_connect_is_refused_with_a_reason() -> None:
    with pytest.raises(UsageError, match="W1062"):
        session("sc://localhost:15002")


def test_workers_run_the_interpreter_of_the_driver(spark: Any) -> None:
    def interpreter(batches: Any) -> Any:
        import sys

        import pyarrow as pa

        list(batches)
        yield pa.record_batch({"python": [sys.executable]})

    found = spark.range(1, numPartitions=1).mapInArrow(interpreter, "python string").collect()
    assert {row.python for row in found} == {sys.executable}


def test_the_driver_listens_on_this_machine_only(spark: Any) -> None:
    assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.conf.get("spark.driver.host") == "127.0.0.1"


@pytest.mark.slow
def test_a_session_says_nothing_of_its_own(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", QUIET], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
