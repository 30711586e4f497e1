"""What a program's `.input`, `.output` and `.printsize` ask for, read and written."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from whence.diagnostics import DataError, Diagnostic
from whence.facts import delimited
from whence.facts.badrows import BadRows
from whence.facts.content import Content, read_content, read_stdin
from whence.facts.formats import FORMATS, format_of
from whence.facts.outputs import Outputs
from whence.facts.places import Place, Warn, check_is_here, input_place, output_place
from whence.facts.schema import (
    Column,
    Layout,
    OnBadRow,
    columns_of,
    shown_columns,
    unannotated,
)
from whence.syntax.nodes import Directive, Program

if TYPE_CHECKING:
    import pyarrow as pa


class Relations(Protocol):
    """Where outputs come from: an evaluation, or anything else that has tables by name."""

    def size(self, relation: str) -> int: ...

    def table(self, relation: str, *, ordered: bool = False) -> pa.Table: ...


def read_facts(
    path: Path,
    columns: Sequence[Column],
    layout: Layout = Layout(),
    *,
    form: str = "",
    on_bad_row: OnBadRow = "stop",
    warn: Warn | None = None,
) -> pa.Table:
    """Return the facts of one file; the form follows the file name unless it is given."""
    content = read_content(path, span=layout.span)
    return _read(content, form or format_of(path.name), columns, layout, on_bad_row, warn)


def write_facts(
    table: pa.Table, path: Path, columns: Sequence[Column], layout: Layout = Layout()
) -> None:
    """Write one file whole or not at all; the form follows the file name."""
    with Outputs() as outputs:
        with outputs.open(path, span=layout.span) as out:
            FORMATS[format_of(path.name)].write(table, out, columns, layout)
        outputs.commit()


def load_inputs(
    program: Program,
    facts_dir: Path = Path(),
    *,
    on_bad_row: OnBadRow = "stop",
    warn: Warn | None = None,
    elsewhere: Collection[Directive] = (),
) -> dict[str, pa.Table]:
    """Return the facts of every `.input`; `DataError` with all that is wrong in all the files.

    What is read `elsewhere` is left out.
    """
    loaded: dict[str, list[pa.Table]] = {}
    errors: list[Diagnostic] = []
    for directive in directives(program, "input"):
        if directive in elsewhere:
            continue
        place = input_place(program, directive, facts_dir, warn=warn)
        columns = columns_of(program, directive.relation)
        try:
            check_is_here(directive, facts_dir)
            content = (
                read_stdin()
                if place.form == "stdin"
                else read_content(place.path, span=directive.span)
            )
            form = "file" if place.form == "stdin" else place.form
            table = _read(content, form, columns, place.layout, on_bad_row, warn)
            loaded.setdefault(directive.relation, []).append(table)
        except DataError as error:
            errors.extend(error.diagnostics)
    if errors:
        raise DataError(*errors)
    return {name: concat_facts(tables) for name, tables in loaded.items()}


def concat_facts(tables: list[pa.Table]) -> pa.Table:
    """Return the rows of all tables, also where there are no columns to concatenate."""
    import pyarrow as pa

    if not tables[0].num_columns:
        return max(tables, key=lambda table: table.num_rows)
    return pa.concat_tables(tables) if len(tables) > 1 else tables[0]


def _read(
    content: Content,
    form: str,
    columns: Sequence[Column],
    layout: Layout,
    on_bad_row: OnBadRow,
    warn: Warn | None,
) -> pa.Table:
    table, bad = read_rows(content, form, columns, layout, on_bad_row)
    if bad.count and on_bad_row == "stop":
        raise DataError(*bad.shown)
    if bad.count and warn is not None:
        warn(skipped(bad.count, content.name, bad.shown[0]))
    return table


def read_rows(
    content: Content,
    form: str,
    columns: Sequence[Column],
    layout: Layout,
    on_bad_row: OnBadRow,
) -> tuple[pa.Table, BadRows]:
    """Return the good rows of one file, and the bad ones."""
    bad = BadRows(content.name, layout, on_bad_row)
    if 0 < len(layout.pick) < len(columns):  # the directive names no field for annotations
        table = FORMATS[form].read(content, columns[:-1], layout, bad)
        table = unannotated(table, columns)
    else:
        table = FORMATS[form].read(content, columns, layout, bad)
    return table, bad


def skipped(count: int, name: str, first: Diagnostic) -> Diagnostic:
    """Return the warning about bad rows that were left out."""
    rows = "1 bad row" if count == 1 else f"{count} bad rows"
    return Diagnostic(
        "W0961",
        f"skipped {rows} of `{name}`; the first: {first.message}",
        first.span,
        first.label,
        severity="warning",
    )


def write_outputs(
    program: Program,
    relations: Relations,
    out_dir: Path = Path(),
    *,
    stdout: BinaryIO,
    everything_to_stdout: bool = False,
    warn: Warn | None = None,
    elsewhere: Collection[Directive] = (),
    ready: Callable[[], None] | None = None,
) -> list[Path]:
    """Write every `.output` and print every `.printsize`; return the files, in order.

    Files appear together at the end, and what goes to `stdout` is sent after they did. What is
    written `elsewhere` is left out. `ready` is called just before, the last one that can say no.
    """
    printed = io.BytesIO()
    written: list[Path] = []
    with Outputs() as outputs:
        for directive in directives(program, "output", "printsize"):
            if directive in elsewhere:
                continue
            name = directive.relation
            columns = shown_columns(program, name)
            place = output_place(program, directive, out_dir, warn=warn)
            if place.form == "stdoutprintsize":
                printed.write(f"{name}\t{relations.size(name)}\n".encode())
            elif place.form == "stdout" or everything_to_stdout:
                table = relations.table(name, ordered=True)
                _print_relation(name, table, printed, columns, place.layout)
            else:
                check_is_here(directive, out_dir)
                table = relations.table(name, ordered=True)
                with outputs.open(place.path, span=directive.span) as out:
                    _write(table, out, columns, place)
                written.append(place.path)
        if ready is not None:
            ready()
        outputs.commit()
    _send(printed.getbuffer(), stdout)
    return written


def _send(data: memoryview, stdout: BinaryIO) -> None:
    """Write all of the data: a stdout without a buffer (`python -u`) may take a part at a time."""
    while data:
        data = data[stdout.write(data) :]
    stdout.flush()


def _write(table: pa.Table, out: BinaryIO, columns: Sequence[Column], place: Place) -> None:
    write = FORMATS[place.form].write
    if place.layout.compress and place.form in ("file", "jsonl"):
        with gzip.GzipFile(filename="", fileobj=out, mode="wb", mtime=0) as packed:
            write(table, packed, columns, place.layout)  # type: ignore[arg-type]
    else:
        write(table, out, columns, place.layout)


def _print_relation(
    name: str, table: pa.Table, out: BinaryIO, columns: Sequence[Column], layout: Layout
) -> None:
    """Print one relation between Soufflé's rules; its header line, if any, stands in the head."""
    rows = io.BytesIO()
    delimited.write(table, rows, columns, layout)
    body = rows.getvalue()
    out.write(f"---------------\n{name}\n".encode())
    if layout.headers:
        head, _, body = body.partition(b"\n")
        out.write(head + b"\n")
    out.write(b"===============\n" + body + b"===============\n")


def directives(program: Program, *actions: str) -> Iterable[Directive]:
    """Yield the directives with one of these actions, in the order of the text."""
    return (each for each in program.directives if each.action in actions)
