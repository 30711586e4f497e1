"""JSON lines of PROV: one PROV-JSON object a line, most of them one edge each.

Many lines are read by a kernel; a few, and those it finds odd, one by one.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whence.diagnostics import DataError, Diagnostic, Span
from whence.facts.badrows import SHOWN, Excerpt
from whence.facts.schema import OnBadRow
from whence.lineage.events import TIME, Edge, Kind, batch_of, concatenate, make_batch
from whence.lineage.names import PREFIX, print_names
from whence.lineage.statements import (
    ATTEMPT,
    GROUP,
    RELATIONS,
    WORKER,
    NotProv,
    parse_json,
    statements,
)
from whence.lineage.statements import TIME as TIME_KEY

BLOCK: Final = 1 << 23
"""Bytes that are read at a time."""
LONGEST: Final = 1 << 28
"""Bytes that a line may have."""
_WORTH_LOADING: Final = 30_000
"""Lines after which the kernel pays for its loading: 0.6 s, where a line takes 20 µs without it."""
_WORTH_CALLING: Final = 100
"""Lines after which it pays once Numba is there."""


@dataclass(slots=True)
class Reading:
    """What a reader met: lines, edges, statements that were filtered out, lines that are wrong."""

    name: str
    on_bad_row: OnBadRow = "stop"
    lines: int = 0
    edges: int = 0
    bad: int = 0
    filtered: Counter[str] = field(default_factory=Counter)
    shown: list[Diagnostic] = field(default_factory=list)

    def refuse(self, line: int, data: bytes, fault: NotProv) -> None:
        """Count a line that is wrong, and keep the place of the first few."""
        self.bad += 1
        if len(self.shown) < SHOWN:
            text = data[:4096].decode(errors="replace")
            text = "".join(c if c.isprintable() else "�" for c in text)
            start = max(1, text.find(fault.word) + 1 if fault.word else 1)
            end = start + max(1, len(fault.word))
            span = Span(line, start, line, end, Excerpt(self.name, text, line))
            self.shown.append(
                Diagnostic("W1100", f"line {line} is no PROV: {fault.why}", span, hint=_HINT)
            )

    def stop(self) -> None:
        """Raise if lines were wrong that may not be."""
        if self.bad and self.on_bad_row == "stop":
            raise DataError(*self.shown)


_HINT: Final = "`--on-bad-row skip` leaves such lines out and counts them"


def read_lines(
    source: str | Path | IO[bytes],
    *,
    on_bad_row: OnBadRow = "stop",
    reading: Reading | None = None,
) -> Iterator[pa.RecordBatch]:
    """Give the edges of a file in batches; a compressed file is unpacked.

    What is counted goes into `reading`. Wrong lines stop it, before their batch, or are skipped.
    """
    name = getattr(source, "name", "<stream>") if hasattr(source, "read") else str(source)
    told = reading if reading is not None else Reading(str(name), on_bad_row)
    for block in _blocks(source, told):
        batch = read_block(block, told)
        told.stop()
        if batch.num_rows:
            yield batch


def read_block(block: bytes, reading: Reading) -> pa.RecordBatch:
    """Return the edges of whole lines; the last may lack its line break."""
    lines = block.count(b"\n") + (not block.endswith(b"\n") and bool(block))
    if reading.lines + lines < (_WORTH_CALLING if "numba" in sys.modules else _WORTH_LOADING):
        odd = _lines_of(block)
        batch = batch_of(edge for _, edge in _slowly(odd, reading))
        reading.lines += lines
    else:
        batch = _quickly(block, lines, reading)
    reading.edges += batch.num_rows
    return batch


# ── blocks of whole lines ──


def _blocks(source: str | Path | IO[bytes], reading: Reading) -> Iterator[bytes]:
    try:
        kept: list[bytes] = []
        size = 0
        with _open(source) as file:
            while data := file.read(BLOCK):
                cut = data.rfind(b"\n") + 1
                size += len(data)
                if cut:
                    yield b"".join([*kept, data[:cut]])
                    kept, size = [], len(data) - cut
                kept.append(data[cut:])
                if size > LONGEST:
                    line = reading.lines + 1
                    reading.refuse(line, kept[0], NotProv(f"it has more than {LONGEST:,} bytes"))
                    raise DataError(*reading.shown)
        if rest := b"".join(kept):
            yield rest
    except OSError as fault:
        raise unreadable(reading.name, fault) from None


def _open(source: str | Path | IO[bytes]) -> Any:
    if hasattr(source, "read"):
        return nullcontext(source)
    if not Path(source).exists():
        raise FileNotFoundError(2, "there is no such file")
    if Path(source).is_dir():
        raise IsADirectoryError(21, "it is a folder")
    return pa.input_stream(str(source), compression="detect")


def unreadable(name: str, fault: OSError) -> DataError:
    """Return the error for a file of edges that cannot be read."""
    why = fault.strerror or str(fault)
    return DataError(Diagnostic("W1102", f"cannot read `{name}`: {why[:1].lower()}{why[1:]}"))


def _lines_of(block: bytes) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(block.split(b"\n"), 1):
        if line.strip():
            yield number, line


# ── one by one ──


def _slowly(lines: Iterable[tuple[int, bytes]], reading: Reading) -> Iterator[tuple[int, Edge]]:
    for number, line in lines:
        try:
            filtered: Counter[str] = Counter()
            edges = list(statements(parse_json(line), filtered))
        except NotProv as fault:
            reading.refuse(reading.lines + number, line, fault)
            if reading.on_bad_row == "stop" and reading.bad >= SHOWN:
                return
        else:
            reading.filtered.update(filtered)
            yield from ((number, edge) for edge in edges)


# ── many at once ──


def _packed(words: Iterable[str]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    texts = [word.encode() for word in words]
    ends = np.cumsum([len(text) for text in texts]).astype(np.int64)
    return np.frombuffer(b"".join(texts), np.uint8), ends


_KEYS: Final = (
    *dict.fromkeys(key for _, *keys in RELATIONS.values() for key in keys if key is not None),
    TIME_KEY,
    GROUP,
    ATTEMPT,
    WORKER,
)
_ENDS: Final = [
    [_KEYS.index(key) if key is not None else -1 for key in keys] for _, *keys in RELATIONS.values()
]


def _quickly(block: bytes, lines: int, reading: Reading) -> pa.RecordBatch:
    from whence.engine.local.compile import compile_kernels
    from whence.engine.local.kernels import prov_lines

    compile_kernels()
    if not block.endswith(b"\n"):
        block += b"\n"
    room = 1 << (4 * lines + 1).bit_length()
    rows = np.empty((lines, 11), np.int64)
    spaces = np.empty((2 * lines, 2), np.int64)
    odd = np.empty((lines, 3), np.int64)
    found, coded, odds, _ = prov_lines.scan_lines(
        np.frombuffer(block, np.uint8),
        prov_lines.byte_classes(),
        *_packed(RELATIONS),
        *_packed(_KEYS),
        np.array(_ENDS, np.int64),
        np.frombuffer(f"{PREFIX}:".encode(), np.uint8),
        np.empty((prov_lines.TOKENS, 3), np.int64),
        np.empty((len(_KEYS), 2), np.int64),
        np.full(room, -1, np.int64),
        spaces,
        rows,
        odd,
    )
    texts = pa.array([block[a:b] for a, b in spaces[:coded].tolist()], pa.binary()).cast(pa.utf8())
    batch = _batch(rows[:found], texts)
    if odds:
        others = ((number, block[a:b]) for number, a, b in odd[:odds].tolist())
        batch = _merged(batch, rows[:found, 10], list(_slowly(others, reading)))
    reading.lines += lines
    return batch


def _batch(rows: np.ndarray[Any, Any], texts: pa.Array) -> pa.RecordBatch:
    ends = rows[:, 0] == Kind.END
    missing = ends if ends.any() else None
    return make_batch(
        kind=rows[:, 0].astype(np.uint8),
        source_space=_coded(rows[:, 1], texts, None),
        source=rows[:, 2].copy(),
        target_space=_coded(rows[:, 3], texts, missing),
        target=pa.array(rows[:, 4].copy(), mask=missing),
        group=rows[:, 5].copy(),
        attempt=rows[:, 6].astype(np.int32),
        worker=rows[:, 7].astype(np.int32),
        time=pa.array(rows[:, 8].copy(), mask=rows[:, 9] == 0).cast(TIME),
    )


def _coded(codes: Any, texts: pa.Array, missing: Any) -> pa.DictionaryArray:
    indices = pa.array(codes.astype(np.int32), mask=missing)
    return pa.DictionaryArray.from_arrays(indices, texts)


def _merged(
    batch: pa.RecordBatch, lines: np.ndarray[Any, Any], others: list[tuple[int, Edge]]
) -> pa.RecordBatch:
    """Return both in the order of their lines."""
    both = concatenate([batch, batch_of(edge for _, edge in others)])
    numbers = np.concatenate([lines, np.array([n for n, _ in others], np.int64)])
    return both.take(pa.array(np.argsort(numbers, kind="stable")))


# ── writing ──


def write_lines(batches: Iterable[pa.RecordBatch], file: IO[bytes]) -> int:
    """Write edges as lines; return how many."""
    written = 0
    for batch in batches:
        for start in range(0, batch.num_rows, 1 << 16):
            part = batch.slice(start, 1 << 16)
            file.write(_as_bytes(part, written))
            written += part.num_rows
    return written


def _as_bytes(batch: pa.RecordBatch, before: int) -> bytes:
    kinds = batch.column("kind")
    sources = _quoted(batch.column("source_space"), batch.column("source"))
    targets = _quoted(batch.column("target_space"), batch.column("target"))
    ids = pc.cast(pa.array(np.arange(before + 1, before + 1 + batch.num_rows)), pa.utf8())
    heads, middles = [], []
    for name, (_, source, target) in RELATIONS.items():
        heads.append(f'{{"{name}":{{"_:')
        middles.append((f'":{{"{source}":', "" if target is None else f',"{target}":'))
    times = pc.strftime(batch.column("time"), format="%Y-%m-%dT%H:%M:%SZ")
    told = pc.binary_join_element_wise(f',"{TIME_KEY}":"', times, '"', "")
    lines = pc.binary_join_element_wise(
        pa.array(heads).take(kinds),
        ids,
        pa.array([source for source, _ in middles]).take(kinds),
        sources,
        pa.array([target for _, target in middles]).take(kinds),
        pc.fill_null(targets, ""),
        pc.fill_null(told, ""),
        *_attribute(GROUP, batch.column("group")),
        *_attribute(ATTEMPT, batch.column("attempt")),
        *_attribute(WORKER, batch.column("worker")),
        "}}}\n",
        "",
    )
    # Each line ends with its break, so that the bytes of the array are those of the file.
    return bytes(lines.buffers()[2])


def _attribute(key: str, values: pa.Array) -> tuple[str, pa.Array]:
    return f',"{key}":', pc.cast(values, pa.utf8())


def _quoted(spaces: pa.DictionaryArray, numbers: pa.Array) -> pa.Array:
    """Return names as JSON strings; only spaces can hold anything that must be escaped."""
    escaped = [json.dumps(text)[1:-1] for text in spaces.dictionary.to_pylist()]
    safe = pa.DictionaryArray.from_arrays(spaces.indices, pa.array(escaped, pa.utf8()))
    return pc.binary_join_element_wise('"', print_names(safe, numbers), '"', "")
