"""When kernels are compiled, and where their machine code is kept."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from whence.engine.local import compile as kernels

CLOSURE = """
import sys
import whence
db = whence.Database(threads=2)
db.load('''
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
''')
n = int(sys.argv[1])
db.insert("edge", [(i * 10**12, (i + 1) * 10**12) for i in range(n)])
print(len(db["path"]), "numba" in sys.modules)
"""


def closure(nodes: int, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", CLOSURE, str(nodes)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **variables},
    )
    return done.stdout.strip()


def test_a_small_evaluation_does_without_numba() -> None:
    assert closure(20) == "210 False"


def test_kernels_are_compiled_in_the_middle_of_an_evaluation_that_grows() -> None:
    assert closure(120) == "7260 True"


def test_kernels_can_be_kept_interpreted() -> None:
    assert closure(80, WHENCE_INTERPRET="1") == "3240 False"


def test_machine_code_lies_beside_the_code_where_that_can_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    beside = Path(kernels.__file__).parent
    assert kernels.cache_folder().parent.parent == beside
    monkeypatch.setattr(kernels, "_writable", lambda folder: beside not in folder.parents)
    assert kernels.cache_folder().parent == tmp_path / "whence"
    monkeypatch.setattr(kernels, "_writable", lambda folder: False)
    last = kernels.cache_folder()
    assert last.is_dir()
    assert last.name.startswith("whence-kernels-")


def test_the_setting_of_the_process_is_left_alone() -> None:
    code = (
        "import numba; numba.config.CACHE_DIR = 'mine'\n"
        "from whence.engine.local.warm import prepare_kernels\n"
        "prepare_kernels(); print(numba.config.CACHE_DIR)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "mine"


COPIED = """
import sys, shutil
from pathlib import Path
import whence
from whence.engine.local.compile import cache_folder
from whence.engine.local.kernels.membership import bounds
from whence.engine.local.warm import prepare_kernels
prepare_kernels()
print(Path(whence.__file__).parts[-3], sum(bounds.compiled.stats.cache_misses.values()), cache_folder())
"""


def test_machine_code_is_found_again_in_a_copy_of_the_package(tmp_path: Path) -> None:
    """Neither the path nor the time of its files need be those of the original."""
    package = Path(kernels.__file__).parents[2]
    skipped = shutil.ignore_patterns("__pycache__")
    env = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    found = []
    for name in ("first", "second"):
        folder = tmp_path / name / "whence"
        shutil.copytree(package, folder, copy_function=shutil.copyfile, ignore=skipped)
        if found:
            code = Path(found[0][2])
            shutil.copytree(code, folder / code.relative_to(tmp_path / "first" / "whence"))
        run = subprocess.run(
            [sys.executable, "-c", COPIED],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={**env, "PYTHONPATH": str(tmp_path / name)},
        )
        found.append(run.stdout.split())
    assert [(name, int(misses) > 0) for name, misses, _ in found] == [
        ("first", True),
        ("second", False),
    ]


def test_a_user_may_have_no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def nobody(_: int) -> None:
        raise KeyError

    for name in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(kernels, "_writable", lambda folder: False)
    assert kernels.cache_folder().parent == tmp_path


def test_kernels_that_are_imported_later_are_compiled_too() -> None:
    code = (
        "import sys\n"
        "from whence.engine.local.warm import prepare_kernels\n"
        "name = 'whence.engine.local.kernels.repair'\n"
        "assert name not in sys.modules\n"
        "prepare_kernels()\n"
        "from whence.engine.local.kernels.repair import repair\n"
        "print(repair.compiled is not None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
