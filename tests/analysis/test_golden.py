"""Golden cases of the checks: under each offending line, a caret and what is wrong there."""

from __future__ import annotations

from pathlib import Path

import pytest

import golden
from whence.analysis.bindings import check_bindings
from whence.analysis.check import Check, check
from whence.analysis.declarations import check_declarations
from whence.analysis.names import check_names
from whence.analysis.strata import check_strata
from whence.analysis.types import check_types
from whence.analysis.unused import check_unused
from whence.diagnostics import by_place
from whence.syntax.souffle import parse

FOLDER = Path(__file__).parent / "golden"


def annotate(text: str, run: Check) -> str:
    """Return the lines that have diagnostics, each followed by them; or `fine`."""
    found = by_place(run(parse(text, name="case.dl")))
    out: list[str] = []
    previous = 0
    for diagnostic in found:
        span = diagnostic.span
        if span.line != previous:
            out.append(text.splitlines()[span.line - 1])
            previous = span.line
        width = span.end_column - span.column if span.end_line == span.line else 1
        parts = [f"{diagnostic.code} {diagnostic.message}", diagnostic.label, *diagnostic.notes]
        if diagnostic.hint:
            parts.append(f"hint: {diagnostic.hint}")
        out.append(" " * (span.column - 1) + "^" * width + " " + " | ".join(filter(None, parts)))
    return "\n".join(out) or "fine"


def errors(text: str) -> str:
    return annotate(text, lambda program: [d for d in check(program) if d.severity == "error"])


def warnings(text: str) -> str:
    return annotate(text, lambda program: [d for d in check(program) if d.severity == "warning"])


@pytest.mark.parametrize(
    ("file", "checks"),
    [
        ("names.txt", (check_names,)),
        ("declarations.txt", (check_declarations,)),
        ("bindings.txt", (check_bindings,)),
        ("types.txt", (check_types,)),
        ("strata.txt", (check_strata,)),
        ("warnings.txt", (check_unused,)),
    ],
)
def test_a_check_says_what_is_wrong_and_where(
    file: str, checks: tuple[Check, ...], update: bool
) -> None:
    if file == "warnings.txt":
        golden.check(FOLDER / file, warnings, update=update)
        return
    (run,) = checks
    golden.check(FOLDER / file, lambda text: annotate(text, run), update=update)


def test_what_no_stage_could_make_sense_of_is_refused(update: bool) -> None:
    golden.check(FOLDER / "structure.txt", errors, update=update)
