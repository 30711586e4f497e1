"""What executors are given: the package with its machine code, and a diagnostic of what they lack."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy
import pyspark
import pytest

import whence
from whence.engine.local.compile import cache_folder
from whence.engine.spark.ship import equip, write_archive

DRIVER = """
import sys
from whence.diagnostics import WhenceError
from whence.engine.spark.session import session
from whence.engine.spark.ship import equip

def there(batches):
    import importlib.util
    import pyarrow as pa
    list(batches)
    found = importlib.util.find_spec("whence")
    yield pa.record_batch({"file": [found.origin if found else ""]})

def compiled(batches):
    import pyarrow as pa
    list(batches)
    import whence
    from whence.engine.local.kernels.joins import probe_dense
    from whence.engine.local.warm import prepare_kernels
    prepare_kernels()
    misses = sum(probe_dense.compiled.stats.cache_misses.values())
    yield pa.record_batch({"file": [whence.__file__], "misses": [misses]})

spark = session("local-cluster[2,1,1024]", **{"spark.driver.memory": "1g"})
two = spark.range(2, numPartitions=2)
try:
    if sys.argv[1] == "bare":
        print("before", {row.file for row in two.mapInArrow(there, "file string").collect()})
    equip(spark)
    for row in two.mapInArrow(compiled, "file string, misses long").collect():
        print("after", row.file, row.misses)
except WhenceError as error:
    print(*(d.code + " " + d.message for d in error.diagnostics), sep="\\n")
finally:
    spark.stop()
"""


def run_driver(tmp_path: Path, packages: str, *arguments: str) -> list[str]:
    """Run a driver whose executors have a Python with these packages, and not Whence."""
    python = tmp_path / "python"
    base = os.path.realpath(sys.executable)
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{packages}" exec {base} -s "$@"\n', encoding="utf-8"
    )
    python.chmod(0o755)
    home = tmp_path / "spark"  # executors work below it
    home.mkdir()
    for name in Path(pyspark.__file__).parent.iterdir():
        if name.name != "work":
            (home / name.name).symlink_to(name)
    env = {
        **os.environ,
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_HOME": str(home),
    }
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        env=env,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_archive_has_the_package_and_its_machine_code(tmp_path: Path) -> None:
    write_archive(tmp_path / "whence.zip")
    names = set(zipfile.ZipFile(tmp_path / "whence.zip").namelist())
    assert {"__init__.py", "syntax/souffle.lark", "engine/local/kernels/joins.py"} <= names
    assert any(n.startswith(f"engine/local/__pycache__/{cache_folder().name}/") for n in names)
    assert not any(name.endswith(".pyc") for name in names)


ARCHIVED = """
import sys
from pathlib import Path
import whence
from whence.engine.spark.ship import write_archive
db = whence.Database()
db.load(".decl e(x: number, y: number) .decl p(x: number, y: number)"
        " p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).")
db.insert("e", [(i, i + 1) for i in range(120)])
print(len(db["p"]), whence.__file__)
write_archive(Path(sys.argv[1]))
"""


def test_the_package_runs_from_an_archive_and_sends_itself_from_there(tmp_path: Path) -> None:
    """As `spark-submit --py-files` brings it to a driver."""
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    package = Path(whence.__file__).parent
    with zipfile.ZipFile(first, "w") as out:
        for path in package.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                out.write(path, f"whence/{path.relative_to(package)}")
    done = subprocess.run(
        [sys.executable, "-c", ARCHIVED, second],
        env={**os.environ, "PYTHONPATH": str(first), "XDG_CACHE_HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["7260", f"{first}/whence/__init__.py"], done.stderr
    names = {name for name in zipfile.ZipFile(second).namelist() if "__pycache__" not in name}
    assert {f"whence/{name}" for name in names} == set(zipfile.ZipFile(first).namelist())


@pytest.mark.spark
def test_workers_of_this_machine_find_this_package_where_it_is(spark: Any) -> None:
    equip(spark)
    equip(spark)

    def found(batches: Any) -> Any:
        import pyarrow as pa

        import whence

        list(batches)
        yield pa.record_batch({"file": [whence.__file__]})

    rows = spark.range(1, numPartitions=1).mapInArrow(found, "file string").collect()
    assert [row.file for row in rows] == [whence.__file__]


@pytest.mark.slow
@pytest.mark.spark
def test_executors_get_the_package_with_its_machine_code(tmp_path: Path) -> None:
    packages = str(Path(numpy.__file__).parents[1])
    before, *after = run_driver(tmp_path, packages, "bare")
    assert before == "before {''}"
    assert len(after) == 2
    for line in after:
        word, file, misses = line.split()
        assert (word, misses) == ("after", "0")
        assert Path(file).is_relative_to(tmp_path / "spark" / "work")


@pytest.mark.slow
@pytest.mark.spark
def test_executors_that_lack_something_say_what(tmp_path: Path) -> None:
    few = tmp_path / "few"
    few.mkdir()
    folder = Path(numpy.__file__).parents[1]
    for name in folder.iterdir():
        if name.name.split("-")[0].split(".")[0] not in (
            "numba",
            "whence",
            "_editable_impl_whence",
        ):
            (few / name.name).symlink_to(name)
    (line,) = run_driver(tmp_path, str(few), "-")
    assert line == "W1065 executors cannot run Whence: No module named 'numba'"
