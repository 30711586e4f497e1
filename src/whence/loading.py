"""Programs that are loaded one after the other, with facts: whether and how the next one fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from whence import session
from whence.diagnostics import Diagnostic, UsageError
from whence.facts.annotations import completed
from whence.facts.directives import load_inputs
from whence.facts.schema import columns_of
from whence.rewrite.read_in import PLAIN, AnySemiring, read_in, semiring_of
from whence.rewrite.stated import Default
from whence.rows import one_text
from whence.syntax.nodes import Program

if TYPE_CHECKING:
    import pyarrow as pa


def fitting(
    first: Program,
    second: Program,
    facts: Path | str | None,
    semiring: str | AnySemiring | None,
    annotations: Mapping[str, Default],
) -> dict[str, pa.Table]:
    """Check that a program fits the one there is, and return the facts that its inputs hold."""
    whole = read_in(joined(first, second), semiring)
    session.compile(whole, keep_all=True, semiring=semiring)
    before, after = in_semiring(first), in_semiring(whole)
    if before not in (None, after):
        raise other_semiring(str(before), str(after))
    if facts is None:
        return {}
    read = {}
    inputs = load_inputs(replace(whole, directives=second.directives), Path(facts))
    for name, table in inputs.items():
        columns = columns_of(whole, name, annotations.get(name))
        table = completed(name, table, columns) if columns else table
        read[name] = one_text(name, table, columns)
    return read


def is_inline(program: Program, relation: str) -> bool:
    """Say whether the relation stands only for its rules, and holds no facts of its own."""
    return "inline" in program.relation(relation).qualifiers


def in_semiring(program: Program) -> str | None:
    """Return what the facts of a marked program are annotated in: a name, or "plain".

    None says that it makes no difference to the facts.
    """
    if all(decl.provenance is None for decl in program.relations):
        return None
    found = semiring_of(program)
    return PLAIN if found is None else found.name


def other_semiring(written: str, asked: str) -> UsageError:
    """Return the error of facts that are annotated in one semiring and asked for in another."""
    return UsageError(
        Diagnostic(
            "W0944",
            f"the facts are annotated in `{written}`, and cannot be read in `{asked}`",
            hint=f'open it with `semiring="{written}"`, or begin another database',
        )
    )


def joined(first: Program, second: Program) -> Program:
    """Return one program after the other."""
    return replace(
        first,
        types=first.types + second.types,
        functors=first.functors + second.functors,
        relations=first.relations + second.relations,
        rules=first.rules + second.rules,
        subsumptions=first.subsumptions + second.subsumptions,
        directives=first.directives + second.directives,
        pragmas=first.pragmas + second.pragmas,
    )
