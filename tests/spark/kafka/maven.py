"""Jars by Maven coordinates, through the `mvn` of this machine; found ones are remembered."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

SECONDS = 300


class Unavailable(Exception):
    """The jars cannot be had here; the message says what is missing."""


def resolve(coordinates: Sequence[str], *, whole: bool) -> tuple[Path, ...]:
    """Return the jars of `group:artifact:version`s, with all that they need if `whole`."""
    pom = _pom(coordinates, whole)
    note = _cache() / f"{hashlib.sha256(pom.encode()).hexdigest()[:16]}.classpath"
    if note.exists():
        found = tuple(Path(name) for name in note.read_text(encoding="utf-8").split(os.pathsep))
        if all(path.exists() for path in found):
            return found
    text = _ask_maven(pom, coordinates)
    note.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=note.parent, delete=False) as out:
        out.write(text)
    os.replace(out.name, note)
    return tuple(Path(name) for name in text.split(os.pathsep))


def _ask_maven(pom: str, coordinates: Sequence[str]) -> str:
    mvn = shutil.which("mvn")
    if mvn is None:
        raise Unavailable("Maven's `mvn` is not on the PATH")
    with tempfile.TemporaryDirectory(prefix="whence-maven-") as folder:
        Path(folder, "pom.xml").write_text(pom, encoding="utf-8")
        command = [mvn, "-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=classpath"]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Unavailable(f"Maven did not answer within {SECONDS} s") from None
        if done.returncode != 0:
            raise Unavailable(f"Maven cannot fetch {coordinates[0]}: {_reason(done.stdout)}")
        return Path(folder, "classpath").read_text(encoding="utf-8").strip()


def _reason(said: str) -> str:
    for line in said.splitlines():
        if (found := re.search(r"Could not (?:find|transfer|resolve) .*", line)) is not None:
            return found.group().split(" -> ")[0][:200]
    return (said.strip().splitlines() or ["it says nothing"])[0][:200]


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "whence" / "maven"


def _pom(coordinates: Sequence[str], whole: bool) -> str:
    # Spark's own parent project names further repositories, which a closed network may not reach;
    # leaving out what its artifacts depend on keeps Maven from asking there.
    rest = (
        ""
        if whole
        else "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId>"
        "</exclusion></exclusions>"
    )
    wanted = ""
    for name in coordinates:
        group, artifact, version = name.split(":")
        wanted += (
            f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
            f"<version>{version}</version>{rest}</dependency>"
        )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>whence</groupId><artifactId>jars</artifactId><version>1</version>"
        f"<packaging>pom</packaging><dependencies>{wanted}</dependencies></project>"
    )
