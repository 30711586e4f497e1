"""All checks of an NDlog program, in stages: one starts when those before it found no error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from whence.analysis.ndlog.events import check_events
from whence.analysis.ndlog.functions import check_functions
from whence.analysis.ndlog.lifetimes import check_lifetimes
from whence.analysis.ndlog.links import check_links
from whence.analysis.ndlog.locations import check_locations
from whence.analysis.ndlog.safety import check_safety
from whence.analysis.ndlog.shapes import check_shapes
from whence.analysis.ndlog.termination import check_termination
from whence.diagnostics import Diagnostic, by_place
from whence.syntax.nodes import Program

Check: TypeAlias = Callable[[Program], list[Diagnostic]]

STAGES: Final[tuple[tuple[Check, ...], ...]] = (
    (check_shapes, check_functions),
    (check_locations, check_safety, check_events),
    (check_links, check_termination, check_lifetimes),
)


def check_ndlog(program: Program) -> list[Diagnostic]:
    """Return the errors of the first stage that has any, and all warnings up to it, by place."""
    found: list[Diagnostic] = []
    for stage in STAGES:
        for run in stage:
            found.extend(run(program))
        if any(diagnostic.severity == "error" for diagnostic in found):
            break
    return by_place(found)
