"""`import whence` and a plain `whence --help` stay quick: heavy libraries load on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numba", "llvmlite", "pyspark", "pyarrow", "numpy", "pandas", "lark", "typer", "rich")


def loaded_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(' '.join(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.splitlines()[-1].split()}


@pytest.mark.parametrize("heavy", HEAVY)
def test_importing_whence_does_not_load(heavy: str) -> None:
    assert heavy not in loaded_after("import whence")


def test_the_command_line_loads_no_engine_before_it_needs_one() -> None:
    assert loaded_after("import whence.app.cli").isdisjoint(
        {"numba", "pyspark", "pyarrow", "numpy", "lark"}
    )
