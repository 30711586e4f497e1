"""All checks of a program, stage by stage: a stage starts when those before it found no error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from whence.analysis.bindings import check_bindings
from whence.analysis.declarations import check_declarations
from whence.analysis.inlining import check_inlining
from whence.analysis.names import check_names
from whence.analysis.strata import check_strata
from whence.analysis.structure import check_patterns, check_structure
from whence.analysis.types import check_types
from whence.analysis.unsupported import check_supported
from whence.analysis.unused import check_unused
from whence.diagnostics import Diagnostic, by_place
from whence.syntax.nodes import Program

Check: TypeAlias = Callable[[Program], list[Diagnostic]]

STAGES: Final[tuple[tuple[Check, ...], ...]] = (
    (check_names, check_declarations, check_supported, check_patterns),
    (check_structure,),
    (check_bindings, check_strata, check_inlining),
    (check_types, check_unused),
)


def check(program: Program) -> list[Diagnostic]:
    """Return the errors of the first stage that has any, and all warnings up to it, by place."""
    found: list[Diagnostic] = []
    for stage in STAGES:
        for run in stage:
            found.extend(run(program))
        if any(diagnostic.severity == "error" for diagnostic in found):
            break
    return by_place(found)
