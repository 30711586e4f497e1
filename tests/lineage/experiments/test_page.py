"""The page of figures shows what was measured, and its pictures are drawn from that."""

from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.report import Table
from experiments import pages
from experiments.lineage import command
from experiments.pages import filled
from whence import plotting as plots

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "explanation" / "lineage-figures.md"
RESULTS = ROOT / "experiments" / "lineage" / "results"


def result(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", command.experiments())
def test_the_page_has_the_tables_and_the_picture_of_each_result(name: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    experiment, found = command.experiments()[name], result(name)
    assert not experiment.failures(found)
    tables = experiment.tables(found)
    for number in range(1, len(tables) + 1):
        assert f"<!-- {name}.{number} -->" in page
    assert filled(page, name, tables) == page
    assert f"results/{name}.svg" in page


@pytest.mark.parametrize("name", command.experiments())
def test_a_picture_has_the_lines_of_its_result(name: str, tmp_path: Path) -> None:
    picture = command.experiments()[name].draw(result(name))
    plots.save(picture, tmp_path / "again.svg")
    drawn = (tmp_path / "again.svg").read_text(encoding="utf-8")
    stored = (RESULTS / f"{name}.svg").read_text(encoding="utf-8")
    for panel in picture.panels:
        assert panel.lines
        for text in (panel.title, panel.below, *panel.lines):
            assert f">{text}</text>" in drawn
            assert f">{text}</text>" in stored


def test_a_table_replaces_the_one_at_its_mark_alone() -> None:
    page = "a\n<!-- f.1 -->\nold\n<!-- end -->\nb\n<!-- f.2 -->\nold\n<!-- end -->\n"
    new = filled(page, "f", [Table("T", ("x",), (("1",),))])
    assert new.startswith("a\n<!-- f.1 -->\n\nT:\n\n| x |")
    assert new.endswith("<!-- end -->\nb\n<!-- f.2 -->\nold\n<!-- end -->\n")
    assert filled(page, "g", [Table("T", ("x",), ())]) == page


def test_a_table_in_markdown_looks_as_its_example() -> None:
    found = doctest.testmod(pages)
    assert found.attempted
    assert not found.failed
