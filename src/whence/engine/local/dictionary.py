"""Numbers for things: symbols, records, and the values of sparse columns.

Codes are dense and given in the order of first use. Dictionaries are handed to an evaluation,
so several may share them; a lock keeps their growth whole.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from whence.engine.local.buffers import grown, reserve
from whence.engine.local.kernels import dictionary as kernels
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.kernels.membership import fill_hashed
from whence.engine.local.membership import MAX_LOAD, table_bits


class Symbols:
    """Texts to codes and back."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []
        self._array: NDArray[np.object_] = np.empty(0, dtype=object)
        self._lock = threading.Lock()
        for text in texts:
            self.code(text)

    def __len__(self) -> int:
        return len(self._texts)

    def code(self, text: str) -> int:
        """Return the text's code, a new one when it has none."""
        found = self._codes.get(text)
        if found is None:
            with self._lock:
                found = self._codes.setdefault(text, len(self._texts))
                if found == len(self._texts):
                    self._texts.append(text)
        return found

    def find(self, text: str) -> int | None:
        """Return the text's code, None when it has none."""
        return self._codes.get(text)

    def codes(self, texts: Iterable[str]) -> Ints:
        """Return the codes of the texts, new ones where they have none."""
        known = self._codes.get
        kept = list(texts)
        found = [known(text, -1) for text in kept]
        if -1 in found:
            found = [self.code(text) if c < 0 else c for text, c in zip(kept, found, strict=True)]
        return np.array(found, dtype=np.int64)

    def text(self, code: int) -> str:
        return self._texts[code]

    def texts(self, codes: Ints) -> NDArray[np.object_]:
        """Return the texts of the codes."""
        if self._array.shape[0] < len(self._texts):
            with self._lock:
                array = np.empty(len(self._texts), dtype=object)
                array[:] = self._texts
                self._array = array
        return self._array[codes]


class Dictionary:
    """Rows of codes to row numbers and back."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.size = 0
        self.rows: Rows = np.empty((16, width), dtype=np.int64)
        self._table: Ints = np.zeros(64, dtype=np.int64)
        self._lock = threading.Lock()

    def encode(self, rows: Rows) -> Ints:
        """Return the number of each row, a new one where it has none."""
        n = rows.shape[0]
        ids = np.empty(n, dtype=np.int64)
        with self._lock:
            done = 0
            while done < n:
                room = int(self._table.shape[0] * MAX_LOAD) - self.size
                if room <= 0:
                    self._widen()
                    continue
                self.rows = grown(self.rows, self.size, self.size + min(room, n - done))
                shift = 65 - self._table.shape[0].bit_length()
                done, self.size = kernels.intern_rows(
                    rows, done, n, self._table, shift, room, self.rows, self.size, ids
                )
        return ids

    def _widen(self) -> None:
        bits = table_bits(max(64, 2 * self.size))
        self._table = reserve(1 << bits, np.int64)
        fill_hashed(self.rows, self.size, self._table, 64 - bits)
