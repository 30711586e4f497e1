"""Base facts with their annotations: from inputs, from the program's text, or by their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whence.diagnostics import DataError, Diagnostic
from whence.engine.local.engine import LocalEvaluation
from whence.engine.local.ground import Grounding, rows_of
from whence.engine.local.kernels.hashing import Ints
from whence.plan.build import is_plain_fact
from whence.semiring.base import Cell, Semiring
from whence.syntax.nodes import Program, Rule
from whence.syntax.tuples import tuple_text


class BaseFacts:
    """What an annotated evaluation is given: tables of tuples, and an annotation for each.

    The same tuple with the same annotation is one fact; with several it has their sum.
    """

    def __init__(
        self, program: Program, inputs: Mapping[str, pa.Table], semiring: Semiring[Any]
    ) -> None:
        self._semiring = semiring
        self.tables: dict[str, pa.Table] = {}
        """The tuples of inputs, without annotations."""
        self._cells: dict[str, list[Cell | None]] = {}
        self._stated: dict[str, list[Rule]] = {}
        arities = {decl.name: decl.arity for decl in program.relations}
        for name, table in inputs.items():
            if name not in arities:
                continue
            if table.num_columns > arities[name]:
                self._cells[name] = table.column(table.num_columns - 1).to_pylist()
                table = _columns(table, arities[name])
            self.tables[name] = table
        for rule in program.rules:
            if not rule.body:
                self._stated.setdefault(rule.head.relation, []).append(rule)
        # Texts take time, and to most semirings of numbers all facts are alike.
        kind = type(semiring)
        self._names = kind.variable is not Semiring.variable
        self._names_given = kind.annotate is not Semiring.annotate

    def text(self, relation: str, codes: Ints, evaluation: LocalEvaluation) -> str:
        """Return a tuple of a relation, given as codes, as text."""
        return tuple_text(relation, evaluation.codec.row(relation, codes.tolist()))

    def annotations(
        self, relation: str, evaluation: LocalEvaluation, grounding: Grounding
    ) -> list[Any]:
        """Return the annotation of each row of an evaluated relation, zero where none is given."""
        found = evaluation.relations[relation]
        semiring = self._semiring
        values: list[Any] = [semiring.zero] * found.size
        known: dict[int, list[Any]] = {}
        for rows, cells in self._given(relation, evaluation, grounding):
            if cells is None and not self._names:
                for row in np.unique(rows).tolist():
                    known.setdefault(row, []).append(semiring.one)
                continue
            for at, row in enumerate(rows.tolist()):
                cell = None if cells is None else cells[at]
                value = self._annotation(relation, found.rows[row], cell, evaluation)
                known.setdefault(row, []).append(value)
        for row, given in known.items():
            values[row] = given[0] if len(given) == 1 else semiring.sum(dict.fromkeys(given))
        return values

    def _given(
        self, relation: str, evaluation: LocalEvaluation, grounding: Grounding
    ) -> Iterable[tuple[Ints, list[Cell | None] | None]]:
        """Yield row numbers of base facts with what they are annotated with, if with anything."""
        found = evaluation.relations[relation]
        table = self.tables.get(relation)
        if table is not None and table.num_rows:
            rows = rows_of(found, evaluation.encode(relation, table))
            yield _there(rows, self._cells.get(relation))
        stated = self._stated.get(relation, ())
        plain = [rule for rule in stated if is_plain_fact(rule)]
        if plain:
            rows = rows_of(found, evaluation.fact_rows(relation, [rule.head for rule in plain]))
            yield _there(rows, _cells(plain))
        for rule in stated:
            if not is_plain_fact(rule):
                yield grounding.instances(rule)[:, 0], _cells([rule])

    def _annotation(
        self, relation: str, codes: Ints, cell: Cell | None, evaluation: LocalEvaluation
    ) -> Any:
        semiring = self._semiring
        named = self._names if cell is None else self._names_given
        text = self.text(relation, codes, evaluation) if named else ""
        if cell is None:
            return semiring.variable(text)
        try:
            return semiring.annotate(text, cell)
        except ValueError as fault:
            raise DataError(
                Diagnostic(
                    "W0942",
                    f"`{self.text(relation, codes, evaluation)}` is annotated with `{cell}`, "
                    f"which is no annotation in `{semiring.name}`",
                    notes=(str(fault),),
                )
            ) from None


def _cells(facts: Sequence[Rule]) -> list[Cell | None] | None:
    cells = [None if r.annotation is None else r.annotation.value for r in facts]
    return cells if any(cell is not None for cell in cells) else None


def _there(rows: Ints, cells: list[Cell | None] | None) -> tuple[Ints, list[Cell | None] | None]:
    """Leave out facts that are not in their relation, because it takes no more or dropped them."""
    kept = rows >= 0
    if kept.all():
        return rows, cells
    return rows[kept], cells and [cell for cell, keep in zip(cells, kept, strict=True) if keep]


def _columns(table: pa.Table, arity: int) -> pa.Table:
    if arity:
        return table.select(range(arity))
    return pa.table({"": pa.nulls(table.num_rows)}).select([])
