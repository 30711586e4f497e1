"""The hard state of an NDlog program, evaluated in one place: what `whence run` does with it.

The embedded engine does it where the program can be told with types; lists, times and large
numbers are left to the definition, which is slow.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence import session
from whence.analysis.ndlog.state import State, atoms, hard_part, states
from whence.diagnostics import (
    DataError,
    Diagnostic,
    ProgramError,
    UsageError,
    raise_errors,
)
from whence.facts.outputs import Outputs
from whence.rewrite.hard_state import MAX_WHOLE, Untold, hard_state
from whence.syntax.nodes import Kind, Program

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.engine.base import Limits
    from whence.session import Compiled


def compile_hard_state(
    program: Program, facts_dir: Path, **asked: Any
) -> tuple[Compiled | None, str]:
    """Return the hard state of a program compiled for an engine, or None and why it cannot be."""
    files = base_files(program, facts_dir)
    try:
        told = hard_state(program, _kinds(files))
        return session.compile(told, **asked), ""
    except Untold as untold:
        return None, str(untold)
    except ProgramError as error:  # types that do not fit, which NDlog does not have
        return None, error.diagnostics[0].message


def check_program(program: Program, warn: Callable[[Diagnostic], None]) -> None:
    """Raise the errors of a program, tell its warnings, and refuse one without hard state."""
    found = session.check(program)
    raise_errors(found)
    for warning in found:
        warn(warning)
    if not any(rule.body for rule in hard_part(program)):
        raise UsageError(
            Diagnostic(
                "W1342",
                "no rule of this program derives hard state from hard state",
                hint="`whence net run` runs events and soft state; a table is hard state if its "
                "lifetime is `infinity`",
            )
        )


def base_files(program: Program, facts_dir: Path) -> dict[str, tuple[Path, int]]:
    """Return the files of the relations that no rule derives, and how many columns each has."""
    rules = hard_part(program)
    known = states(program)
    derived = {rule.head.relation for rule in rules if rule.body}
    stated = {rule.head.relation for rule in rules if not rule.body}
    arities = {a.relation: len(a.args) for rule in rules for a in atoms(rule)}
    found: dict[str, tuple[Path, int]] = {}
    for name, arity in arities.items():
        if name in derived or known[name] is not State.HARD:
            continue
        path = facts_dir / f"{name}.facts"
        if path.is_file():
            found[name] = path, arity
        elif name not in stated:
            raise DataError(
                Diagnostic(
                    "W1344",
                    f"there are no facts of `{name}`",
                    hint=f"put them into `{path}`, or into the program",
                )
            )
    return found


def _kinds(files: Mapping[str, tuple[Path, int]]) -> dict[str, tuple[Kind | None, ...]]:
    """Return the kinds of the columns of files; None where nothing is in them."""
    import pyarrow as pa
    from pyarrow import csv

    found: dict[str, tuple[Kind | None, ...]] = {}
    for name, (path, arity) in files.items():
        if not path.stat().st_size:
            found[name] = (None,) * arity
            continue
        try:
            table = csv.read_csv(
                path,
                csv.ReadOptions(column_names=[f"c{i}" for i in range(arity)]),
                csv.ParseOptions(delimiter="\t", quote_char=False),
                csv.ConvertOptions(null_values=[], strings_can_be_null=False),
            )
        except pa.ArrowInvalid:
            raise Untold("lines that are not all alike") from None
        found[name] = tuple(map(_kind, table.columns))
    return found


def _kind(column: pa.ChunkedArray) -> Kind:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(column.type):
        ends = pc.min_max(column).as_py()
        if max(abs(ends["min"] or 0), abs(ends["max"] or 0)) > MAX_WHOLE:
            raise Untold("numbers of many digits")
        return Kind.NUMBER
    if pa.types.is_floating(column.type):
        return Kind.FLOAT
    if pa.types.is_string(column.type):
        if pc.any(pc.match_substring_regex(column, r"^(\[|-?infinity$|true$|false$)")).as_py():
            raise Untold("lists or truth values")
        return Kind.SYMBOL
    raise Untold(f"columns of the type {column.type}")


def run_by_definition(
    program: Program,
    *,
    facts_dir: Path,
    out_dir: Path | None,
    limits: Limits,
    stats_file: Path | None = None,
) -> None:
    """Evaluate hard state by its definition, and write what is queried."""
    from whence.app.run import write_stats
    from whence.engine.base import RelationStats, Stats
    from whence.engine.local.guard import Guard, peak_bytes
    from whence.network.definition import central
    from whence.network.facts import read_rows, write_rows

    guard = Guard(limits)

    def look(facts: int) -> None:
        guard.tuples = facts
        guard.check()

    started = time.perf_counter()
    facts = {
        name: read_rows(path, arity)
        for name, (path, arity) in base_files(program, facts_dir).items()
    }
    loaded = time.perf_counter()
    found = central(program, facts, look=look)
    evaluated = time.perf_counter()
    asked = [q.atom.relation for q in program.queries if q.atom.relation in found]
    derived = {rule.head.relation: None for rule in hard_part(program) if rule.body}
    with Outputs() as outputs:
        for name in dict.fromkeys(asked or derived):
            text = write_rows(found[name])
            if out_dir is None:
                sys.stdout.write(f"---------------\n{name}\n===============\n")
                sys.stdout.write(f"{text}===============\n")
            else:
                with outputs.open(out_dir / f"{name}.csv") as out:
                    out.write(text.encode("utf-8", errors="surrogateescape"))
        outputs.commit()
    if stats_file is not None:
        stats = Stats(
            load_seconds=loaded - started,
            evaluate_seconds=evaluated - loaded,
            write_seconds=time.perf_counter() - evaluated,
            peak_memory_bytes=peak_bytes(),
            relations={name: RelationStats(len(rows), 0) for name, rows in found.items()},
        )
        write_stats(stats, stats_file)
