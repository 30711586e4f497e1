"""Files of edges by their format: which there are, and which one a file has by its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa

from whence.diagnostics import DataError, Diagnostic, UsageError, nearest
from whence.facts.schema import OnBadRow
from whence.lineage.events import batch_of, concatenate
from whence.lineage.formats import prov_document, wfcommons
from whence.lineage.jsonl import Reading, read_lines, unreadable
from whence.lineage.statements import NotProv


@dataclass(frozen=True, slots=True)
class Imported:
    """The edges of a file; what it states besides; lines that were skipped; what prefixes mean."""

    edges: pa.RecordBatch
    format: str
    filtered: Mapping[str, int] = field(default_factory=dict)
    skipped: int = 0
    prefixes: Mapping[str, str] = field(default_factory=dict)


def import_file(
    path: str | Path, *, format: str | None = None, on_bad_row: OnBadRow = "stop"
) -> Imported:
    """Return the edges of a file, whose format its name tells if it is not given."""
    path = Path(path)
    name = _format_of(path) if format is None else format
    read = IMPORTS.get(name)
    if read is None:
        raise unknown_format(name, IMPORTS)
    return read(path, on_bad_row)


def unknown_format(name: str, known: Mapping[str, object]) -> UsageError:
    """Return the error for a format that there is not."""
    close = nearest(name, known)
    hint = f"did you mean `{close}`?" if close else f"one of {', '.join(known)}"
    return UsageError(Diagnostic("W1113", f"there is no format `{name}` of edges", hint=hint))


def _format_of(path: Path) -> str:
    name = path.name.removesuffix(".gz")
    found = next((form for end, form in _ENDINGS.items() if name.endswith(end)), None)
    if found is None:
        raise UsageError(
            Diagnostic(
                "W1113",
                f"`{path.name}` does not tell its format",
                hint=f"name it with `--from`: one of {', '.join(IMPORTS)}",
            )
        )
    if found == "prov-json" and wfcommons.is_trace(_bytes(path)):
        return "wfcommons"
    return found


def _lines(path: Path, on_bad_row: OnBadRow) -> Imported:
    reading = Reading(str(path), on_bad_row)
    edges = concatenate(read_lines(path, reading=reading))
    return Imported(edges, "jsonl", dict(reading.filtered), reading.bad)


def _prov(form: str) -> Callable[[Path, OnBadRow], Imported]:
    def read(path: Path, on_bad_row: OnBadRow) -> Imported:
        filtered: Counter[str] = Counter()
        prefixes: dict[str, str] = {}
        with _refusing(path):
            data = _bytes(path)
            document = prov_document.parse(data, form)
            edges = batch_of(prov_document.edges(document, filtered, prefixes))
            if form == "prov-json":
                prov_document.check_json(data, edges.num_rows)
        return Imported(edges, form, dict(filtered), 0, prefixes)

    return read


def _trace(path: Path, on_bad_row: OnBadRow) -> Imported:
    with _refusing(path):
        return Imported(batch_of(wfcommons.edges(_bytes(path))), "wfcommons")


class _refusing:
    """Turn what is wrong with a document into a diagnostic about its file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
        if isinstance(fault, NotProv):
            message = f"`{self.path}` is refused: {fault.why}"
            raise DataError(Diagnostic("W1112", message)) from None


def _bytes(path: Path) -> bytes:
    try:
        with pa.input_stream(_there(path), compression="detect") as file:
            return bytes(file.read())
    except OSError as fault:
        raise unreadable(str(path), fault) from None


def _there(path: Path) -> str:
    if not path.exists():
        raise FileNotFoundError(2, "there is no such file")
    if path.is_dir():
        raise IsADirectoryError(21, "it is a folder")
    return str(path)


IMPORTS: Final[Mapping[str, Callable[[Path, OnBadRow], Imported]]] = {
    "jsonl": _lines,
    **{form: _prov(form) for form in prov_document.FORMS},
    "wfcommons": _trace,
}
"""The formats that are read; `prov-…` need the extra `provenance`."""

_ENDINGS: Final = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "prov-json",
    ".provn": "prov-n",
    ".xml": "prov-xml",
    ".provx": "prov-xml",
    ".rdf": "prov-rdf",
    ".ttl": "prov-rdf",
    ".trig": "prov-rdf",
}
