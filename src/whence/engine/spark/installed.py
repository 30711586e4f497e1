"""Whether what Spark needs of Python is installed, in versions that work together."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Mapping
from dataclasses import dataclass

from whence.diagnostics import Diagnostic, UsageError

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Need:
    """A distribution, from which version on and below which it works."""

    name: str
    at_least: Version
    below: Version | None
    why: str = ""

    def __str__(self) -> str:
        wanted = f"{self.name}>={_text(self.at_least)}"
        return wanted if self.below is None else f"{wanted},<{_text(self.below)}"


NEEDS = (
    Need("pyspark", (4, 3), (4, 4)),
    Need("pandas", (2, 2), (3,), "pyspark 4.3 does not know pandas 3"),
    Need("pyarrow", (18,), None),
)


def check_installed(versions: Mapping[str, str] | None = None) -> None:
    """Refuse to go on where a library is missing, too old or too new."""
    found = _versions() if versions is None else versions
    wrong: list[Diagnostic] = []
    for need in NEEDS:
        version = found.get(need.name)
        hint = f"`pip install 'whence[spark]'`, or `pip install '{need}'`"
        if version is None:
            message = f"`{need.name}`, which Spark needs, is not installed"
            wrong.append(Diagnostic("W1060", message, hint=hint))
        elif not _suits(need, _parsed(version)):
            message = f"`{need.name}` {version} does not suit: Whence needs `{need}`"
            notes = (need.why,) if need.why else ()
            wrong.append(Diagnostic("W1060", message, notes=notes, hint=hint))
    if wrong:
        raise UsageError(*wrong)


def _versions() -> dict[str, str]:
    found = {}
    for need in NEEDS:
        try:
            found[need.name] = importlib.metadata.version(need.name)
        except importlib.metadata.PackageNotFoundError:
            if need.name == "pyspark":  # a Spark distribution has it without metadata
                found.update(_pyspark_beside_spark())
    return found


def _pyspark_beside_spark() -> dict[str, str]:
    try:
        from pyspark.version import __version__
    except ImportError:
        return {}
    return {"pyspark": __version__}


def _suits(need: Need, version: Version) -> bool:
    return version >= need.at_least and (need.below is None or version < need.below)


def _parsed(version: str) -> Version:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _text(version: Version) -> str:
    return ".".join(map(str, version))
