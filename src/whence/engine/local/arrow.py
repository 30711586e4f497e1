"""Between Arrow tables and rows of codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whence.diagnostics import DataError, Diagnostic
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.records import RecordText
from whence.engine.local.values import Values
from whence.functor.values import canonical_floats
from whence.syntax.nodes import Attribute, Kind, RelationDecl

_TYPES = {
    Kind.NUMBER: pa.int64(),
    Kind.UNSIGNED: pa.uint64(),
    Kind.FLOAT: pa.float64(),
    Kind.SYMBOL: pa.string(),
    Kind.RECORD: pa.string(),
}


def encode_table(
    table: pa.Table, decl: RelationDecl, kinds: Sequence[Kind], values: Values, records: RecordText
) -> Rows:
    """Return the table's rows as codes; its columns are taken in order, whatever their names."""
    if table.num_columns != decl.arity:
        raise DataError(
            Diagnostic(
                "W0651",
                f"`{decl.name}` has {decl.arity} columns, its facts have {table.num_columns}",
            )
        )
    rows = np.empty((table.num_rows, decl.arity), dtype=np.int64)
    for i, (attribute, kind) in enumerate(zip(decl.attributes, kinds, strict=True)):
        rows[:, i] = _encode(table.column(i), decl, attribute, kind, values, records)
    return rows


def _encode(
    column: pa.ChunkedArray,
    decl: RelationDecl,
    attribute: Attribute,
    kind: Kind,
    values: Values,
    records: RecordText,
) -> Ints:
    if column.null_count:
        raise _wrong(decl, attribute, kind, "has empty values")
    try:
        column = column.cast(_TYPES[kind])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _wrong(decl, attribute, kind, f"has other values ({error})") from None
    match kind:
        case Kind.NUMBER:
            return np.asarray(_numpy(column), dtype=np.int64)
        case Kind.UNSIGNED:
            return np.asarray(_numpy(column).view(np.int64), dtype=np.int64)
        case Kind.FLOAT:
            return canonical_floats(_numpy(column)).view(np.int64)
        case Kind.SYMBOL:
            return _through_unique(column, values.symbols.codes)
        case Kind.RECORD:
            return _through_unique(column, lambda texts: records.parse(attribute.type, texts))


def _numpy(column: pa.ChunkedArray) -> Any:
    return column.to_numpy()


def _through_unique(column: pa.ChunkedArray, encode: Callable[[list[str]], Ints]) -> Ints:
    """Encode each different text once."""
    if column.length() == 0:
        return np.empty(0, dtype=np.int64)
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks)
    coded = pc.dictionary_encode(whole)
    codes: Ints = encode(coded.dictionary.to_pylist())
    taken: Ints = codes[coded.indices.to_numpy()]
    return taken


def _wrong(decl: RelationDecl, attribute: Attribute, kind: Kind, what: str) -> DataError:
    return DataError(
        Diagnostic(
            "W0652",
            f"column `{attribute.name}` of `{decl.name}` is a {kind.value} but {what}",
        )
    )


def decode_columns(
    columns: Sequence[Ints],
    decl: RelationDecl,
    kinds: Sequence[Kind],
    values: Values,
    records: RecordText,
) -> pa.Table:
    """Return columns of codes as a table of values, named as the relation's attributes."""
    arrays = [
        _decode(codes, attribute, kind, values, records)
        for codes, attribute, kind in zip(columns, decl.attributes, kinds, strict=True)
    ]
    return pa.Table.from_arrays(arrays, names=[a.name for a in decl.attributes])


def _decode(
    codes: Ints, attribute: Attribute, kind: Kind, values: Values, records: RecordText
) -> pa.Array:
    match kind:
        case Kind.NUMBER:
            return pa.array(codes)
        case Kind.UNSIGNED:
            return pa.array(codes.view(np.uint64))
        case Kind.FLOAT:
            return pa.array(codes.view(np.float64))
        case Kind.SYMBOL:
            texts = pa.array(values.symbols.all_texts(), type=pa.string())
            return texts.take(pa.array(codes))
        case Kind.RECORD:
            unique, inverse = np.unique(codes, return_inverse=True)
            texts = pa.array(records.print(attribute.type, unique), type=pa.string())
            return texts.take(pa.array(inverse))
