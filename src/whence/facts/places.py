"""Which file a directive means, and in which form.

The parameters are Soufflé's (`IO`, `filename`, `delimiter`, `headers`, `rfc4180`, `columns`,
`fact-dir`, `output-dir`, `compress`); `IO` also takes `parquet`, `jsonl` and `arrow`, and on Spark
`table`. Names with a scheme, such as `s3://bucket/edge`, are Spark's, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from whence.diagnostics import DataError, Diagnostic, ProgramError, nearest
from whence.facts.formats import FORMATS, format_of
from whence.facts.schema import Layout
from whence.syntax.nodes import Directive, Program

Warn = Callable[[Diagnostic], None]

TABLE: Final = "table"
"""The form of what lies in Spark's catalogue."""

INPUT_FORMS: Final = ("stdin", *FORMATS, TABLE)
OUTPUT_FORMS: Final = ("stdout", "stdoutprintsize", *FORMATS, TABLE)
PARAMETERS: Final = (
    "IO",
    "filename",
    "delimiter",
    "headers",
    "rfc4180",
    "columns",
    "fact-dir",
    "output-dir",
    "compress",
    # Soufflé's own notes to itself, which programs may carry.
    "name",
    "operation",
    "attributeNames",
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where one directive reads or writes: the form and, for files, the path."""

    form: str
    path: Path
    layout: Layout


def input_place(
    program: Program, directive: Directive, facts_dir: Path, *, warn: Warn | None = None
) -> Place:
    """Return where an `.input` reads from."""
    name = directive.get("filename") or f"{directive.relation}.facts"
    form = _form(directive, INPUT_FORMS, name, warn)
    folder = Path(directive.get("fact-dir") or facts_dir)
    decl = program.relation(directive.relation)
    # The annotation of a fact stands in one more last column, which a plain run passes over.
    plain = decl.provenance is not None and decl.semiring is None
    layout = _layout(
        directive,
        decl.arity,
        spare=tuple(range(decl.arity)) if plain else (),
        most=decl.arity + int(decl.provenance is not None and not plain),
    )
    return Place(form, _path(directive, folder, name), layout)


def output_place(
    program: Program, directive: Directive, out_dir: Path, *, warn: Warn | None = None
) -> Place:
    """Return where an `.output` or `.printsize` writes to."""
    layout = _layout(directive, program.relation(directive.relation).arity)
    if directive.action == "printsize":
        return Place("stdoutprintsize", Path(), layout)
    suffix = ".csv.gz" if layout.compress else ".csv"
    form = _form(directive, OUTPUT_FORMS, directive.get("filename"), warn)
    if form in FORMATS and form != "file":
        suffix = f".{form}"
    name = directive.get("filename") or f"{directive.relation}{suffix}"
    folder = Path(directive.get("output-dir") or out_dir)
    return Place(form, _path(directive, folder, name), layout)


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def has_scheme(name: str) -> bool:
    """Whether a name says by which file system it is to be read.

    >>> has_scheme("s3://bucket/edge"), has_scheme("facts/edge.csv")
    (True, False)
    """
    return _SCHEME.match(name) is not None


def location(directive: Directive, folder: str, default: str) -> str:
    """Return where a directive reads or writes, as it stands: a path, a URI or a table's name."""
    if directive.get("IO") == TABLE:
        return directive.get("name") or directive.relation
    name = directive.get("filename") or default
    own = "fact-dir" if directive.action == "input" else "output-dir"
    folder = directive.get(own) or folder
    if has_scheme(name) or not has_scheme(folder):
        return name if has_scheme(name) else str(Path(folder, name))
    return f"{folder.rstrip('/')}/{name}"


def check_is_here(directive: Directive, folder: Path) -> None:
    """Refuse what only Spark can read or write."""
    found = location(directive, str(folder), directive.relation)
    if directive.get("IO") == TABLE or has_scheme(found):
        what = "table" if directive.get("IO") == TABLE else "place"
        verb = "reads" if directive.action == "input" else "writes"
        message = f"only Spark {verb} the {what} `{found}`"
        hint = "`whence run --engine spark`"
        raise DataError(Diagnostic("W1066", message, directive.span, hint=hint))


def _path(directive: Directive, folder: Path, name: str) -> Path:
    if "\0" in name or "\0" in str(folder):
        raise _wrong(directive, "no file has a name with a null character")
    return folder / name


def _form(directive: Directive, known: tuple[str, ...], filename: str, warn: Warn | None) -> str:
    for name, _ in directive.parameters:
        if name not in PARAMETERS and warn is not None:
            near = nearest(name, PARAMETERS)
            warn(
                Diagnostic(
                    "W0962",
                    f"`.{directive.action}` has no parameter `{name}`",
                    directive.span,
                    hint=f"did you mean `{near}`?" if near else "",
                    severity="warning",
                )
            )
    form = directive.get("IO")
    if not form:
        return format_of(filename)
    if form == "file":
        return format_of(filename) if filename else form
    if form in known:
        return form
    raise _wrong(
        directive,
        f"`.{directive.action}` of `{directive.relation}` has no form `{form}`",
        "known are " + ", ".join(f"`{each}`" for each in known),
    )


def _layout(
    directive: Directive, arity: int, *, spare: tuple[int, ...] = (), most: int = 0
) -> Layout:
    rfc4180 = directive.get("rfc4180") == "true"
    delimiter = directive.get("delimiter", "," if rfc4180 else "\t").replace("\\t", "\t")
    if not delimiter:
        raise _wrong(directive, "the delimiter is empty")
    if "\n" in delimiter or (rfc4180 and '"' in delimiter):
        raise _wrong(directive, "the delimiter holds a character that ends or quotes a field")
    return Layout(
        relation=directive.relation,
        delimiter=delimiter,
        headers=directive.get("headers") == "true",
        rfc4180=rfc4180,
        pick=_pick(directive, arity, most or arity) or spare,
        compress=directive.get("compress", "false") != "false",
        span=directive.span,
    )


def _pick(directive: Directive, arity: int, most: int) -> tuple[int, ...]:
    """Read `columns="2:0"`: the first attribute is field 2 of the file, the second is field 0.

    One more names the field of annotations.
    """
    text = directive.get("columns")
    if not text:
        return ()
    parts = text.split(":")
    if not all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts):
        raise _wrong(directive, f"`{text}` is not a list of column numbers such as `0:2`")
    picks = tuple(int(part) for part in parts)
    if len(set(picks)) != len(picks) or len(picks) < arity:
        raise _wrong(directive, f"`{text}` does not name {arity} different columns")
    return picks[:most]


def _wrong(directive: Directive, message: str, hint: str = "") -> ProgramError:
    return ProgramError(Diagnostic("W0611", message, directive.span, hint=hint))
