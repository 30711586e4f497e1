"""`import whence.lineage` is light, and every name it offers is there."""

from __future__ import annotations

import subprocess
import sys

import whence.lineage


def test_nothing_heavy_is_loaded_before_it_is_needed() -> None:
    code = "import whence.lineage, sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"pyspark", "numba", "duckdb", "pyarrow", "numpy"}.isdisjoint(done.stdout.split())


def test_every_name_that_is_offered_is_there() -> None:
    for name in whence.lineage.__all__:
        assert getattr(whence.lineage, name) is not None
        assert name in dir(whence.lineage)
