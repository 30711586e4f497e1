"""Between Arrow tables and rows of codes.

`pa.array`, casts and the compute functions are kept off the way of plain numbers: the first
imports pandas where it is installed, the others register all of Arrow's functions, and either
takes longer than a small evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

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
    if column.type != _TYPES[kind]:
        try:
            column = column.cast(_TYPES[kind])
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise _wrong(decl, attribute, kind, f"has other values ({error})") from None
    match kind:
        case Kind.NUMBER | Kind.UNSIGNED:
            return _bits(column)
        case Kind.FLOAT:
            return canonical_floats(_bits(column).view(np.float64)).view(np.int64)
        case Kind.SYMBOL:
            return _through_unique(column, values.symbols.codes)
        case Kind.RECORD:
            return _through_unique(column, lambda texts: records.parse(attribute.type, texts))


def _bits(column: pa.ChunkedArray) -> Ints:
    """Return the values of a column of 64-bit numbers as they lie in memory."""
    found = [
        np.frombuffer(chunk.buffers()[1], dtype=np.int64)[chunk.offset : chunk.offset + len(chunk)]
        for chunk in column.chunks
        if len(chunk)
    ]
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def _through_unique(column: pa.ChunkedArray, encode: Callable[[list[str]], Ints]) -> Ints:
    """Encode each different text once."""
    if column.length() == 0:
        return np.empty(0, dtype=np.int64)
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks)
    coded = whole.dictionary_encode()
    codes: Ints = encode(coded.dictionary.to_pylist())
    at = np.frombuffer(coded.indices.buffers()[1], dtype=np.int32)
    return codes[at[coded.indices.offset :][: len(coded)]]


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
        case Kind.NUMBER | Kind.UNSIGNED | Kind.FLOAT:
            return _column(codes, _TYPES[kind])
        case Kind.SYMBOL:
            unique, inverse = np.unique(codes, return_inverse=True)
            texts = values.symbols.texts(unique).tolist()
        case Kind.RECORD:
            unique, inverse = np.unique(codes, return_inverse=True)
            texts = records.print(attribute.type, unique)
    return string_array(texts).take(_column(inverse.astype(np.int64), pa.int64()))


def _column(codes: Ints, type_: pa.DataType) -> pa.Array:
    """Return the codes' bits as an Arrow array, without a copy."""
    whole = np.ascontiguousarray(codes)
    return pa.Array.from_buffers(type_, whole.shape[0], [None, pa.py_buffer(whole)])


def string_array(texts: Sequence[str]) -> pa.Array:
    """Return the texts as an Arrow array."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    large = bool(offsets[-1] >= 1 << 31)
    starts = pa.py_buffer(offsets if large else offsets.astype(np.int32))
    kind = pa.large_string() if large else pa.string()
    return pa.Array.from_buffers(
        kind, len(encoded), [None, starts, pa.py_buffer(b"".join(encoded))]
    )
