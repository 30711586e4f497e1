"""Every strategy gives what evaluation from nothing gives, on random programs and batches."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from view.machine import play
from whence.engine.local.compile import compile_kernels

EXAMPLES = int(os.environ.get("WHENCE_EXAMPLES", "300"))
TESTS = Path(__file__).parents[1]


def test_views_of_any_program_stay_exact() -> None:
    compile_kernels()
    play(12, 5)


def in_interpreted_kernels(examples: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "view.machine", str(examples)],
        env={**os.environ, "WHENCE_INTERPRET": "1", "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_views_of_any_program_stay_exact_in_interpreted_kernels() -> None:
    in_interpreted_kernels(4)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_views_of_many_programs_stay_exact() -> None:
    compile_kernels()
    play(EXAMPLES, 8)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_views_of_many_programs_stay_exact_in_interpreted_kernels() -> None:
    in_interpreted_kernels(EXAMPLES // 4)
