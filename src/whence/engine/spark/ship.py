"""Whence on executors: the package itself, with the machine code of its kernels, on every one.

The package travels as an archive that Spark unpacks in the folder of files of each executor, which
is on the path of its Python workers. So it is a folder there as it is here, in the version of the
driver, and an executor that joins later gets it, too.
"""

from __future__ import annotations

import os
import site
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.diagnostics import Diagnostic, UsageError
from whence.engine.spark.installed import check_installed
from whence.engine.spark.session import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MARK = "_whence_equipped"
_PACKAGE = __name__.partition(".")[0]
_lock = threading.Lock()


def equip(spark: SparkSession) -> None:
    """See to it that the tasks of a session can import this package; once per session."""
    context = spark.sparkContext
    if context._jsc is None:
        raise UsageError(
            Diagnostic(
                "W1071",
                "this Spark session was stopped",
                hint="start another one: `whence.spark.session()`",
            )
        )
    with _lock:
        if getattr(context, _MARK, False):
            return
        check_installed()
        if is_local(spark):
            _point_here(context)
        else:
            _send(spark)
        setattr(context, _MARK, True)


def _point_here(context: Any) -> None:
    """Let the workers of this machine run this interpreter and find this package."""
    if "PYSPARK_PYTHON" not in os.environ and context.getConf().get("spark.pyspark.python") is None:
        context.pythonExec = sys.executable
    folder = _package().parent
    installed = {*site.getsitepackages(), site.getusersitepackages()}
    if str(folder) not in installed:
        before = context.environment.get("PYTHONPATH")
        context.environment["PYTHONPATH"] = (
            f"{folder}{os.pathsep}{before}" if before else str(folder)
        )


def _send(spark: SparkSession) -> None:
    context = spark.sparkContext
    archive = Path(context._temp_dir, "whence.zip")  # goes when the session does
    write_archive(archive)
    # What follows the sign is the name of the folder that the archive becomes.
    context.addArchive(f"{archive}#{_PACKAGE}")
    _check_executors(spark)


def write_archive(archive: Path) -> None:
    """Write this package and the machine code of its kernels as they are to lie on executors."""
    from whence.engine.local.compile import cache_folder
    from whence.engine.local.warm import prepare_kernels, prepare_live_kernels

    prepare_kernels()  # so that there is machine code to be sent
    prepare_live_kernels()
    code = cache_folder()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for name, data in _sources():
            out.writestr(name, data)
        for path in sorted(code.iterdir()):
            if path.suffix in (".nbi", ".nbc"):
                out.write(path, f"engine/local/__pycache__/{code.name}/{path.name}")


def _package() -> Path:
    return Path(__file__).parents[2]


def _sources() -> Iterator[tuple[str, bytes]]:
    """Yield the files of the package, which may be in an archive itself."""
    package = _package()
    if package.is_dir():
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield str(path.relative_to(package)), path.read_bytes()
        return
    loader: Any = sys.modules[_PACKAGE].__loader__
    with zipfile.ZipFile(loader.archive) as own:
        for name in sorted(own.namelist()):
            if name.startswith("whence/") and not name.endswith("/"):
                yield name.removeprefix("whence/"), own.read(name)


def _check_executors(spark: SparkSession) -> None:
    """Have one executor import what it will run, and tell what it lacks."""

    def imported(batches: Any) -> Any:
        import sys

        import pyarrow as pa

        list(batches)
        lacks = ""
        try:
            import numba  # noqa: F401

            import whence.engine.local.engine  # noqa: F401
        except ImportError as error:
            lacks = str(error)
        python = f"{sys.executable} {sys.version.split()[0]}"
        yield pa.record_batch({"python": [python], "lacks": [lacks]})

    from pyspark.errors import PySparkException

    try:
        one = spark.range(1, numPartitions=1)
        found = one.mapInArrow(imported, "python string, lacks string").collect()
    except PySparkException as error:
        raise _unfit(_last_line(str(error)), "") from None
    for row in found:
        if row.lacks:
            raise _unfit(row.lacks, row.python)


def _unfit(reason: str, python: str) -> UsageError:
    return UsageError(
        Diagnostic(
            "W1065",
            f"executors cannot run Whence: {reason}",
            notes=(f"their Python is {python}",) if python else (),
            hint="install `whence[spark]` or what it needs on them, or send an environment with "
            "`spark.archives` and name its Python in PYSPARK_PYTHON",
        )
    )


def _last_line(text: str) -> str:
    """Return what a traceback of a worker comes to.

    >>> _last_line("Traceback …\\n  File …\\nModuleNotFoundError: No module named 'pyarrow'\\n\\n")
    "ModuleNotFoundError: No module named 'pyarrow'"
    """
    errors = [line for line in text.splitlines() if "Error: " in line and line[:1].strip()]
    return errors[-1] if errors else text.strip().partition("\n")[0]
