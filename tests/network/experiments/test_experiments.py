"""Each experiment runs in a quick version, and what it finds is what the paper is about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whence import plotting
from whence.network.experiments.base import lines_of
from whence.network.experiments.listed import LISTED, named


def quick(name: str) -> dict[str, object]:
    """Measure quickly; what was found survives JSON."""
    found = LISTED[name].measure(True, lambda _: None)
    again: dict[str, object] = json.loads(json.dumps(found))
    assert again == found
    return again


@pytest.mark.parametrize("name", LISTED)
def test_each_has_a_table_and_a_picture(name: str, tmp_path: Path) -> None:
    experiment, found = LISTED[name], quick(name)
    lines = lines_of(experiment.table(found))
    assert len(lines) > 1
    plotting.save(experiment.picture(found), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_they_are_found_by_figure_too() -> None:
    assert named("figure7.2") == "path-vector"
    assert named("8.8") == "sharing"
    assert named("figure99") is None


def test_every_figure_is_drawn_once() -> None:
    figures = [figure for one in LISTED.values() for figure in one.figures]
    assert len(figures) == len(set(figures))
