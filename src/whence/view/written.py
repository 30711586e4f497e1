"""Changes written as updates, in text or JSON: what goes, then what comes, each in order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from whence.facts.delimited import text_bytes
from whence.facts.jsonl import json_text
from whence.facts.records import canonical_record
from whence.facts.schema import Column
from whence.syntax.nodes import Constant, Kind
from whence.syntax.printer import print_constant
from whence.view.base import Change

if TYPE_CHECKING:
    import pyarrow as pa

Form: TypeAlias = Literal["text", "json"]

_ROWS = 1 << 16


def write_change(change: Change, columns: Sequence[Column], form: Form = "text") -> bytes:
    """Return the change as lines that `UpdateParser` reads."""
    return b"".join(
        (
            *_lines("-", change.relation, change.deleted, columns, form),
            *_lines("+", change.relation, change.inserted, columns, form),
        )
    )


def write_commit(number: int, form: Form = "text") -> bytes:
    """Return the line that ends a commit."""
    return b'{"commit": %d}\n' % number if form == "json" else b"commit.\n"


def _lines(
    sign: str, relation: str, table: pa.Table, columns: Sequence[Column], form: Form
) -> list[bytes]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if form == "json":
        name = json.dumps(relation, ensure_ascii=False)
        lead, end = f'{{"op": "{sign}", "relation": {name}, "row": [', "]}\n"
    else:
        lead, end = f"{sign}{relation}(", ").\n"
    if not columns:
        return [f"{lead}{end}".encode() * table.num_rows]
    if table.num_rows > 1:
        table = table.sort_by([(name, "ascending") for name in table.column_names])
    wide = pa.large_string()
    out = []
    for offset in range(0, table.num_rows, _ROWS):
        part = table.slice(offset, _ROWS)
        pieces: list[pa.Array | pa.Scalar] = []
        for place, column in enumerate(columns):
            pieces.append(pa.scalar(", " if place else lead, wide))
            values = pa.concat_arrays(part.column(place).chunks)
            as_json = form == "json"
            pieces.append(json_text(values, column.kind) if as_json else _text(values, column))
        pieces.append(pa.scalar(end, wide))
        out.append(bytes(text_bytes(pc.binary_join_element_wise(*pieces, pa.scalar("", wide)))))
    return out


def _text(values: pa.Array, column: Column) -> pa.Array:
    """Return the values as a program writes them; equal values are converted once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.kind in (Kind.NUMBER, Kind.UNSIGNED):
        return pc.cast(values, pa.large_string())
    coded = values.dictionary_encode()
    texts = [_one(item, column) for item in coded.dictionary.to_pylist()]
    return pc.take(pa.array(texts, pa.large_string()), coded.indices)


def _one(value: float | str, column: Column) -> str:
    if column.kind is Kind.RECORD and column.records is not None:
        return canonical_record(str(value), column.type, column.records, _shown)
    return _shown(value, column.kind)


def _shown(value: int | float | str, kind: Kind) -> str:
    # An unsigned number needs no mark where the column already says what it is.
    return print_constant(Constant(value, Kind.NUMBER if kind is Kind.UNSIGNED else kind))
