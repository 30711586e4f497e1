"""Every example gives the output that stands beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.commands import whence

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(p for p in FOLDER.iterdir() if (p / f"{p.name}.dl").exists())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.name)
def test_the_example_gives_its_expected_output(example: Path, tmp_path: Path) -> None:
    program = example / f"{example.name}.dl"
    ended = whence("run", program, "-F", example / "facts", "-D", tmp_path)
    assert (ended.code, ended.err) == (0, "")
    expected = {p.name: p.read_text() for p in (example / "expected").iterdir()}
    printed = expected.pop("stdout.txt", "")
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == expected
    assert ended.out == printed


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.name)
def test_the_example_is_in_the_one_layout_and_described(example: Path) -> None:
    assert whence("fmt", "--check", example / f"{example.name}.dl").code == 0
    assert (example / "README.md").read_text().strip()


@pytest.mark.parametrize(
    "example", [e for e in EXAMPLES if (e / "updates.txt").exists()], ids=lambda p: p.name
)
def test_the_live_example_prints_the_changes_that_stand_beside_it(example: Path) -> None:
    program = example / f"{example.name}.dl"
    ended = whence("watch", program, "-F", example / "facts", "-u", example / "updates.txt")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (example / "changes.txt").read_text()


@pytest.mark.parametrize(
    "script",
    [e / f"{e.name}.py" for e in EXAMPLES if (e / f"{e.name}.py").exists()],
    ids=lambda p: p.name,
)
def test_the_script_prints_what_stands_beside_it(script: Path) -> None:
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == script.with_suffix(".txt").read_text()
