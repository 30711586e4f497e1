"""The page of figures shows what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.network.command import table_of
from experiments.pages import filled
from whence.network.experiments.listed import LISTED

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "explanation" / "network-figures.md"
RESULTS = ROOT / "experiments" / "network" / "results"


@pytest.mark.parametrize("name", LISTED)
def test_the_page_has_the_table_and_the_picture_of_each_result(name: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    found = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    assert found["quick"] is False
    assert f"<!-- {name}.1 -->" in page
    assert filled(page, name, (table_of(LISTED[name], found),)) == page
    assert f"results/{name}.png" in page
    assert (RESULTS / f"{name}.png").read_bytes().startswith(b"\x89PNG")
