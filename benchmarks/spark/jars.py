"""The jars of GraphFrames by their Maven coordinates, where Maven can fetch them."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

VERSION: Final = "0.12.2"
ARTIFACTS: Final = ("graphframes-spark4_2.13", "graphframes-graphx-spark4_2.13")
SECONDS: Final = 180


class Missing(Exception):
    """The jars cannot be had here; the message says why."""


def graphframes_jars() -> str:
    """Return the jars, separated by commas; raise `Missing` where Maven does not give them."""
    mvn = shutil.which("mvn")
    if mvn is None:
        raise Missing("there is no `mvn`")
    with tempfile.TemporaryDirectory(prefix="whence-jars-") as folder:
        Path(folder, "pom.xml").write_text(_pom(), encoding="utf-8")
        command = [mvn, "-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=found"]
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise Missing(f"Maven did not answer within {SECONDS} s") from None
        found = Path(folder, "found")
        if done.returncode or not found.exists():
            raise Missing(f"Maven does not find io.graphframes:{ARTIFACTS[0]}:{VERSION}")
        return found.read_text(encoding="utf-8").strip().replace(":", ",")


def _pom() -> str:
    # What these need besides is Spark, which is there.
    nothing = "<exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
    wanted = "".join(
        f"<dependency><groupId>io.graphframes</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{VERSION}</version><exclusions>{nothing}</exclusions></dependency>"
        for artifact in ARTIFACTS
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>whence</groupId><artifactId>jars</artifactId><version>1</version>"
        f"<packaging>pom</packaging><dependencies>{wanted}</dependencies></project>"
    )
