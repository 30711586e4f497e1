"""The page of the lineage commands names every command and option, and none besides."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from whence.app.cli.lineage import COMMANDS, group

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "lineage-cli.md"


def sections() -> dict[str, str]:
    text = PAGE.read_text(encoding="utf-8")
    parts = re.split(r"^## `whence lineage (\w+)`", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_command_has_a_section() -> None:
    assert set(sections()) == {command.__name__.rstrip("_") for command in COMMANDS}


@pytest.mark.parametrize("command", [command.__name__.rstrip("_") for command in COMMANDS])
def test_a_section_names_every_option(command: str) -> None:
    found = get_command(group).commands[command]  # type: ignore[attr-defined]
    options = {o for p in found.params for o in p.opts if o.startswith("-")}
    shown = set(re.findall(r"^\| `(--?[a-z-]+)", sections()[command], re.MULTILINE))
    shown |= set(re.findall(r"^\| `-\w(?: \w+)?`, `(--[a-z-]+)", sections()[command], re.MULTILINE))
    assert shown == options
