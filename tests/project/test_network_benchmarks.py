"""The benchmarks of networks run, and do not believe wrong answers."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from benchmarks.network import absorption, command, firings


def test_sections_name_modules_that_are_there() -> None:
    assert all(find_spec(section.module) for section in command.SECTIONS.values())


def test_firings_are_counted_and_paths_are_right() -> None:
    found = firings.measure(quick=True)
    assert found["tokens on a ring"]["firings"] == 9900
    assert found["best paths"]["exact"]
    assert found["Chord"]["firings"] > 10_000


def _found(**changed: Any) -> dict[str, Any]:
    row = {"spent": 10.0, "simulated": 60.0, "firings": 2e6, "messages": 1000, "bytes": 5000}
    chord = {**row, "nodes": 500, **changed}
    return {"tokens on a ring": row, "best paths": {**row, "exact": True}, "Chord": chord}


def test_chord_is_judged_by_real_time_and_by_firings() -> None:
    assert [bar.met for bar in firings.tell(_found()).bars] == [True, True]
    assert [bar.met for bar in firings.tell(_found(spent=30.0)).bars] == [False, False]


def test_wrong_paths_are_a_failure() -> None:
    found = _found()
    found["best paths"]["exact"] = False
    assert firings.tell(found).failures


def test_reachability_with_provenance_is_right_and_judged_by_wall_time() -> None:
    found = absorption.measure(quick=True)
    assert all(row["exact"] for row in found.values())
    name, row = next(iter(found.items()))
    slow = {name: {**row, "wall": 21.0, "spent": 1.0}}
    assert [bar.met for bar in absorption.tell(slow).bars] == [False]
    assert absorption.tell({name: {**row, "exact": False}}).failures
