"""Every diagnostic code in the source is explained in docs/reference/errors.md, and none besides."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"\bW[01]\d{3}\b")
PAGE = ROOT / "docs" / "reference" / "errors.md"


def codes_in(paths: list[Path]) -> set[str]:
    return {code for path in paths for code in CODE.findall(path.read_text(encoding="utf-8"))}


def test_every_code_that_is_raised_is_documented() -> None:
    used = codes_in(sorted((ROOT / "src").rglob("*.py")))
    missing = used - codes_in([PAGE])
    assert not missing, f"not in {PAGE.name}: {sorted(missing)}"


def test_every_documented_code_can_be_raised() -> None:
    used = codes_in(sorted((ROOT / "src").rglob("*.py")))
    stale = codes_in([PAGE]) - used
    assert not stale, f"in {PAGE.name} and nowhere in src: {sorted(stale)}"
