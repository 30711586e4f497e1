"""Symbolic annotations as text: variables in a natural order, and expressions taken apart again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_DIGITS = re.compile(r"(\d+)")
_OPEN, _CLOSE = "([{", ")]}"

NaturalKey = tuple[tuple[str, int, str, str], ...]


@lru_cache(maxsize=65536)
def natural(name: str) -> NaturalKey:
    """Return a sort key by which p2 comes before p10.

    >>> sorted(["p10", "p2", "link(2, 1)", "link(10, 1)"], key=natural)
    ['link(2, 1)', 'link(10, 1)', 'p2', 'p10']
    """
    words = _DIGITS.split(name)
    numbers = [*words[1::2], ""]
    # Not by `int`, which refuses more than 4,300 digits.
    return tuple(
        (word, len(digits.lstrip("0")), digits.lstrip("0"), digits)
        for word, digits in zip(words[::2], numbers, strict=True)
    )


def by_size(sets: Iterable[Iterable[str]]) -> list[list[str]]:
    """Return sets of variables in a stable order: small ones first, then by their names."""
    inner = [sorted(names, key=natural) for names in sets]
    return sorted(inner, key=lambda names: (len(names), [natural(name) for name in names]))


def pieces(text: str, separator: str) -> list[str]:
    """Split text at a separator where it stands neither in brackets nor in quotes.

    >>> pieces('link(1, "a,b"),p', ",")
    ['link(1, "a,b")', 'p']
    """
    out: list[str] = []
    depth, start, at = 0, 0, 0
    quoted = False
    while at < len(text):
        sign = text[at]
        if quoted:
            if sign == "\\":
                at += 1
            elif sign == '"':
                quoted = False
        elif sign == '"':
            quoted = True
        elif depth == 0 and text.startswith(separator, at):
            out.append(text[start:at].strip())
            at += len(separator)
            start = at
            continue
        elif sign in _OPEN:
            depth += 1
        elif sign in _CLOSE and depth:
            depth -= 1
        at += 1
    out.append(text[start:].strip())
    return out


def braces(text: str) -> list[frozenset[str]]:
    """Return the sets that text such as `{p1,p2} {p3}` names."""
    out: list[frozenset[str]] = []
    for group in filter(None, pieces(text.strip(), " ")):
        if not (group.startswith("{") and group.endswith("}")):
            raise ValueError(f"`{group}` is no set in braces")
        out.append(frozenset(filter(None, pieces(group[1:-1], ","))))
    return out
