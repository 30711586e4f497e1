"""The page of the commands of networks names every command, option and topology, and none besides."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from whence.app.cli.net import COMMANDS, group
from whence.network.topology.catalogue import TOPOLOGIES

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "net-cli.md"


def sections() -> dict[str, str]:
    text = PAGE.read_text(encoding="utf-8")
    parts = re.split(r"^## (?:`whence net )?(\w+)`?", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_command_has_a_section() -> None:
    assert set(sections()) == {*(command.__name__ for command in COMMANDS), "Topologies"}


@pytest.mark.parametrize("command", [command.__name__ for command in COMMANDS])
def test_a_section_names_every_option(command: str) -> None:
    found = get_command(group).commands[command]  # type: ignore[attr-defined]
    options = {o for p in found.params for o in p.opts if o.startswith("-")}
    shown = set(re.findall(r"^\| `(--?[a-z-]+)", sections()[command], re.MULTILINE))
    shown |= set(re.findall(r"^\| `-\w(?: \w+)?`, `(--[a-z-]+)", sections()[command], re.MULTILINE))
    assert shown == options


def test_every_topology_is_named() -> None:
    rows = re.findall(r"^\| (`[^|]*`) \|", sections()["Topologies"], re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)} == set(TOPOLOGIES)
