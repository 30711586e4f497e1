"""The example of capture is an ordinary job with two more lines, and answers as it says."""

from __future__ import annotations

import difflib
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "lineage"


def code(script: str) -> list[str]:
    """The lines of a script below its docstring that are not blank."""
    lines = (EXAMPLE / script).read_text(encoding="utf-8").splitlines()[1:]
    return [line for line in lines if line]


def test_capture_is_two_lines() -> None:
    changes = list(difflib.ndiff(code("turnover.py"), code("turnover_traced.py")))
    added = [line[2:] for line in changes if line.startswith("+ ")]
    assert [line for line in changes if line.startswith("- ")] == []
    assert len(added) == 2
    assert all("trace" in line for line in added)


@pytest.mark.spark
@pytest.mark.slow
def test_the_commands_of_the_example_print_what_it_says(tmp_path: Path) -> None:
    folder = tmp_path / "lineage"
    shutil.copytree(EXAMPLE, folder)
    (said,) = re.findall(r"```console\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    for command, printed in re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", said, re.MULTILINE):
        program, *arguments = shlex.split(command)
        lead = [sys.executable] if program == "python" else [sys.executable, "-m", program]
        done = subprocess.run(
            [*lead, *arguments], cwd=folder, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr[-3000:]
        if printed:
            assert done.stdout == printed
