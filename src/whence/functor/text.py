"""Functors on symbols. Lengths and positions count bytes of UTF-8, as Soufflé's do."""

from __future__ import annotations

import numpy as np

from whence.functor.values import Ints, Texts, text_array


def concatenate(*parts: str) -> str:
    return "".join(parts)


def length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def substring(text: str, start: int, count: int) -> str:
    """Return `count` bytes from `start`, all of the rest when `count` is negative.

    A start outside the text gives the empty string; a cut through a character gives U+FFFD.
    """
    if text.isascii():
        if not 0 <= start <= len(text):
            return ""
        return text[start:] if count < 0 else text[start : start + count]
    raw = text.encode()
    if not 0 <= start <= len(raw):
        return ""
    return (raw[start:] if count < 0 else raw[start : start + count]).decode(errors="replace")


def concatenate_each(*parts: Texts) -> Texts:
    return text_array(["".join(row) for row in zip(*(p.tolist() for p in parts), strict=True)])


def length_of_each(texts: Texts) -> Ints:
    return np.fromiter(map(length, texts.tolist()), dtype=np.int64, count=len(texts))


def substring_of_each(texts: Texts, starts: Ints, counts: Ints) -> Texts:
    rows = zip(texts.tolist(), starts.tolist(), counts.tolist(), strict=True)
    return text_array([substring(*row) for row in rows])
