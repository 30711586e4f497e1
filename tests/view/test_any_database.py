"""Databases of random programs are exact, and so is what their subscribers hear."""

from __future__ import annotations

import os

import pytest

from view.database_machine import Databases
from view.machine import play

EXAMPLES = int(os.environ.get("WHENCE_EXAMPLES", "300"))


def test_databases_of_any_program_stay_exact() -> None:
    play(6, 5, Databases)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_databases_of_many_programs_stay_exact() -> None:
    play(EXAMPLES // 2, 8, Databases)
