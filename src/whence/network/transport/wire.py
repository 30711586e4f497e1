"""Messages as bytes: a byte that says version and kind, then MessagePack.

Updates travel in runs of one relation and sign. Integers beyond 64 bits have an extension type,
and so have texts that UTF-8 does not know. Whatever bytes come in, all that can go wrong is a
`WireError`: sizes and depths are limited, and only values that programs know come out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, cast

import msgspec
from msgspec.msgpack import Decoder, Encoder, Ext

from whence.diagnostics import Diagnostic, LimitError
from whence.network.model import Control, Message, Row, Scheme, Update

VERSION: Final = 1
MAX_BYTES: Final = 1 << 26
MAX_DEPTH: Final = 400
MAX_INTEGER_BYTES: Final = 1 << 10

_PLAIN: Final = VERSION << 4
_ANNOTATED: Final = VERSION << 4 | 1
_CONTROL: Final = VERSION << 4 | 2
_RICH: Final = VERSION << 4 | 4
"""As plain, with values that MessagePack lacks."""
_BIG: Final = 1
_TEXT: Final = 2

_SCALARS: Final[frozenset[type]] = frozenset((int, float, str, bool))
_BODY: Final[frozenset[type]] = frozenset((int, float, str, bool, bytes, type(None)))
_LEAST: Final = -(1 << 63)
_BEYOND: Final = 1 << 64

_Scalar = int | float | str | bool
_FLAT: Final = Decoder(
    list[tuple[str, Literal[1, -1], list[tuple[_Scalar | tuple[_Scalar, ...], ...]]]]
)
"""Reads what almost all messages are: rows of scalars and of lists of scalars."""


class WireError(Exception):
    """Bytes that are no message."""


def _extension(code: int, data: memoryview) -> object:
    if code == _BIG and 0 < len(data) <= MAX_INTEGER_BYTES:
        return int.from_bytes(data, "big", signed=True)
    if code == _TEXT:
        return bytes(data).decode("utf-8", "surrogatepass")
    raise WireError(f"an extension {code} of {len(data)} bytes")


class WireCodec:
    """The codec of one processor; annotations pass through its scheme, if it has any."""

    __slots__ = ("_annotate", "_decoder", "_encoder", "_read")

    def __init__(self, scheme: Scheme | None = None) -> None:
        self._annotate: Callable[[Any], object] | None = None
        self._read: Callable[[object], object] | None = None
        if scheme is not None and scheme.annotated:
            self._annotate, self._read = scheme.encode, scheme.decode
        self._encoder = Encoder()
        self._decoder = Decoder(ext_hook=_extension)

    def encode(self, message: Message) -> bytes:
        """Return the bytes of a message; a `LimitError` says what no receiver would take."""
        annotate = self._annotate
        body: Any
        if isinstance(message, Control):
            kind, body = _CONTROL, (message.kind, message.body)
        elif annotate is None:
            kind, body = _PLAIN, _runs(message)
        else:
            kind, body = _ANNOTATED, _annotated_runs(message, annotate)
        try:
            out = bytes((kind,)) + self._encoder.encode(body)
            if len(out) > MAX_DEPTH and kind != _CONTROL:
                _check_depth(body)
            return out
        except (OverflowError, UnicodeEncodeError):
            pass  # rare values, which a slower way writes
        except (TypeError, RecursionError, msgspec.MsgspecError) as error:
            raise _unsent(error) from None
        if kind == _PLAIN:
            kind = _RICH
        try:
            return bytes((kind,)) + self._encoder.encode(_portable(body, MAX_DEPTH))
        except (TypeError, RecursionError, ValueError, OverflowError) as error:
            raise _unsent(error) from None

    def decode(self, payload: bytes) -> Message:
        """Return the message in these bytes; raise a `WireError` when there is none."""
        if not 2 <= len(payload) <= MAX_BYTES:
            raise WireError(f"a message of {len(payload)} bytes")
        kind, rest = payload[0], memoryview(payload)[1:]
        if kind == _PLAIN and self._read is None:
            try:
                runs = _FLAT.decode(rest)
                return [(sign, name, row, None) for name, sign, rows in runs for row in rows]
            except (msgspec.MsgspecError, ValueError, RecursionError):
                pass  # values of other kinds, or none: a slower way says which
        try:
            return self._message(kind, self._decoder.decode(rest))
        except WireError:
            raise
        except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError) as why:
            raise WireError(str(why)) from None

    def _message(self, kind: int, body: object) -> Message:
        if kind == _CONTROL:
            return _control(body)
        if kind == _ANNOTATED and self._read is not None:
            return _updates(body, self._read)
        if kind in (_PLAIN, _RICH) and self._read is None:
            return _updates(body, None)
        raise WireError(f"a message of kind {kind:#x}")


def _runs(updates: list[Update]) -> list[tuple[str, int, list[Row]]]:
    """Return the updates by runs of one relation and sign, in their order."""
    if len(updates) == 1:
        sign, relation, row, _ = updates[0]
        return [(relation, sign, [row])]
    runs: list[tuple[str, int, list[Row]]] = []
    last, before = "", 0
    rows: list[Row] = []
    for sign, relation, row, _ in updates:
        if relation != last or sign != before:
            rows, last, before = [], relation, sign
            runs.append((relation, sign, rows))
        rows.append(row)
    return runs


def _annotated_runs(
    updates: list[Update], annotate: Callable[[Any], object]
) -> list[tuple[str, int, list[Row], list[object]]]:
    runs: list[tuple[str, int, list[Row], list[object]]] = []
    last, before = "", 0
    rows: list[Row] = []
    notes: list[object] = []
    for sign, relation, row, annotation in updates:
        if relation != last or sign != before:
            rows, notes, last, before = [], [], relation, sign
            runs.append((relation, sign, rows, notes))
        rows.append(row)
        notes.append(None if annotation is None else annotate(annotation))
    return runs


def _updates(body: object, read: Callable[[object], object] | None) -> list[Update]:
    if type(body) is not list:
        raise WireError("no list of runs")
    found: list[Update] = []
    for run in body:
        if type(run) is not list or len(run) != (3 if read is None else 4):
            raise WireError("no run of updates")
        relation, sign, rows = run[:3]
        if type(relation) is not str or type(sign) is not int or sign not in (1, -1):
            raise WireError("no relation with a sign")
        if type(rows) is not list:
            raise WireError("no rows")
        if read is None:
            found += [(sign, relation, _row(row), None) for row in rows]
            continue
        notes = run[3]
        if type(notes) is not list or len(notes) != len(rows):
            raise WireError("rows and annotations do not match")
        for row, note in zip(rows, notes, strict=True):
            found.append((sign, relation, _row(row), None if note is None else _note(read, note)))
    return found


def _row(row: object) -> Row:
    if type(row) is not list:
        raise WireError("no row")
    if _SCALARS.issuperset(map(type, row)):
        return tuple(row)
    return tuple(_frozen(value, _SCALARS, MAX_DEPTH) for value in row)


def _note(read: Callable[[object], object], note: object) -> object:
    try:
        return read(note)
    except Exception as error:  # schemes trust their input, and this comes from anywhere
        raise WireError(f"no annotation: {error}") from None


def _control(body: object) -> Control:
    if type(body) is not list or len(body) != 2 or type(body[0]) is not str:
        raise WireError("no control message")
    return Control(body[0], _frozen(body[1], _BODY, MAX_DEPTH))


def _frozen(value: object, scalars: frozenset[type], depth: int) -> Any:
    """Return a value with tuples for its lists, so that it can be a key."""
    if type(value) in scalars:
        return value
    if type(value) is not list or depth == 0:
        raise WireError("a value that programs do not know")
    if scalars.issuperset(map(type, value)):
        return tuple(value)
    out = []
    for item in value:  # no generator, which would double the frames of a level
        out.append(_frozen(item, scalars, depth - 1))
    return tuple(out)


def _check_depth(runs: Sequence[Sequence[Any]]) -> None:
    """Raise an error for lists too deep to be read; only those of lists can be."""
    for run in runs:
        for row in run[2]:
            for value in row:
                if type(value) is tuple and tuple in map(type, value):
                    try:
                        _portable(value, MAX_DEPTH)
                    except ValueError as error:
                        raise TypeError(error) from None


def _unsent(why: Exception) -> LimitError:
    return LimitError(Diagnostic("W1404", f"a tuple cannot be sent to another node: {why}"))


def _portable(values: Sequence[object], depth: int) -> list[object]:
    """Return values in which integers and texts that MessagePack lacks are extensions."""
    if depth == 0:
        raise ValueError(f"a list is deeper than {MAX_DEPTH} levels")
    out: list[object] = []
    for value in values:
        kind = type(value)
        if kind is int:
            fits = _LEAST <= cast(int, value) < _BEYOND
            out.append(value if fits else _big(cast(int, value)))
        elif kind is str:
            out.append(_text(cast(str, value)))
        elif kind is tuple or kind is list:
            out.append(_portable(cast("Sequence[object]", value), depth - 1))
        else:
            out.append(value)
    return out


def _big(value: int) -> Ext:
    size = value.bit_length() // 8 + 1
    if size > MAX_INTEGER_BYTES:
        raise ValueError(f"an integer has {size} bytes")
    return Ext(_BIG, value.to_bytes(size, "big", signed=True))


def _text(value: str) -> str | Ext:
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return Ext(_TEXT, value.encode("utf-8", "surrogatepass"))
    return value
