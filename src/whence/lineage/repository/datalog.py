"""The same questions in Datalog: a snapshot as relations, with the rules of `lineage.dl`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whence.lineage.reduced import Link
from whence.lineage.repository.manifest import Run
from whence.lineage.repository.snapshot import Snapshot
from whence.lineage.repository.sql import runs_table

if TYPE_CHECKING:
    from whence.syntax.nodes import Program

RULES: Final = Path(__file__).with_name("lineage.dl")

RELATIONS: Final = {
    Link.PAIR: "pair",
    Link.OUT: "grouped",
    Link.IN: "member",
    Link.NEST: "nested",
}
"""The relation that has the edges of each kind, after the number of their run."""


def facts(snapshot: Snapshot, runs: Sequence[Run] | None = None) -> dict[str, pa.Table]:
    """Return runs of a snapshot and their edges as the relations that `lineage.dl` reads."""
    runs = snapshot.runs if runs is None else runs
    parts: dict[Link, list[pa.Table]] = {link: [_edges(None, None)] for link in Link}
    for run in runs:
        table = snapshot.edges(run)
        for link in Link:
            chosen = table.filter(pc.equal(table["kind"], int(link)))
            parts[link].append(_edges(run.number, chosen))
    found = {RELATIONS[link]: pa.concat_tables(tables) for link, tables in parts.items()}
    found["run"] = runs_table(runs).select(["run", "workflow", "job"])
    return found


def query(snapshot: Snapshot, goal: str, rules: str = "") -> pa.Table:
    """Return the tuples that match the goal, by the shipped rules and those given beside them."""
    from whence import session
    from whence.answers import match_goal
    from whence.compiled import compile as compile_program
    from whence.loading import joined
    from whence.syntax.souffle import parse, parse_goal

    program = _shipped()
    if rules:
        program = joined(program, parse(rules, name="<rules>"))
    given = facts(snapshot)
    asked = parse_goal(goal)
    compiled = compile_program(program, goal=asked, inputs=set(given))
    evaluation = session.evaluate(compiled, given)
    return match_goal(compiled.source, evaluation, asked)


@cache
def _shipped() -> Program:
    from whence.session import read_program

    return read_program(RULES)


def _edges(run: int | None, table: pa.Table | None) -> pa.Table:
    """Return edges of a run as facts; none at all give the columns."""
    if table is None:
        none = pa.array([], pa.int64())
        return _named([none, pa.array([], pa.utf8()), none, pa.array([], pa.utf8()), none])
    spaces = [pc.cast(table[f"{end}_space"], pa.utf8()) for end in ("source", "target")]
    number = pa.array(np.full(len(table), run, np.int64))
    return _named([number, spaces[0], table["source"], spaces[1], table["target"]])


def _named(columns: list[pa.Array]) -> pa.Table:
    return pa.table(columns, names=["run", "source_space", "source", "target_space", "target"])
