"""`match`: does a text as a whole fit an ECMAScript pattern?

Patterns are translated and run by RE2, whose time is linear in the text whatever the pattern is;
so look-ahead and back-references, which no linear matcher has, are refused.
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from whence.functor.values import Bools, FunctorFault, Texts, text_array

_MAX_PATTERN = 10_000
_MAX_REPEAT = 1000
_MAX_DEPTH = 200
_CLASSES = {
    "d": "0-9",
    "w": "0-9A-Za-z_",
    "s": r" \t\n\x0b\x0c\r\x{a0}\x{feff}\x{2028}\x{2029}",
}
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "0": "\0"}
_POSIX = re.compile(r"\[:(\^?)([a-z]+):\]")
_POSIX_NAMES = re.compile(
    "alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit|d|s|w"
)
_REPEAT = re.compile(r"\{(\d+)(,(\d*))?\}")
_HEX = re.compile(r"[0-9a-fA-F]+")
_ANY = r"[^\n\r\x{2028}\x{2029}]"


class MalformedPattern(Exception):
    """Not an ECMAScript pattern; as in Soufflé, such a pattern neither matches nor fails to."""


class _Translation:
    """Walks an ECMAScript pattern once and writes what RE2 reads."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.out: list[str] = []

    def fault(self, why: str) -> MalformedPattern:
        return MalformedPattern(f"{why} at character {self.at + 1} of the pattern")

    def run(self) -> str:
        pattern = self.pattern
        depth = 0
        repeatable = False  # may a quantifier stand here?
        while self.at < len(pattern):
            char = pattern[self.at]
            if char in "*+?{":
                if not repeatable:
                    raise self.fault("nothing to repeat")
                self.quantifier()
                repeatable = False
                continue
            repeatable = True
            if char == "(":
                depth += 1
                if depth > _MAX_DEPTH:
                    raise FunctorFault("too many groups inside each other in a pattern")
                self.group()
                repeatable = False
            elif char == ")":
                depth -= 1
                if depth < 0:
                    raise self.fault("`)` without `(`")
                self.put(")")
            elif char == "|":
                self.put("|")
                repeatable = False
            elif char in "^$":
                self.put(r"\A" if char == "^" else r"\z")
                repeatable = False
            elif char == ".":
                self.put(_ANY)
            elif char == "[":
                self.set()
            elif char == "\\":
                repeatable = self.escape()
            else:
                self.put(_literal(char))
        if depth:
            raise self.fault("`(` without `)`")
        return "".join(self.out)

    def put(self, text: str, width: int = 1) -> None:
        self.out.append(text)
        self.at += width

    def quantifier(self) -> None:
        text = self.pattern[self.at]
        if text == "{":
            found = _REPEAT.match(self.pattern, self.at)
            if found is None:
                raise self.fault("`{` without a number of times")
            low, high = int(found[1][:9]), int((found[3] or found[1])[:9])
            if high < low:
                raise self.fault("repetitions in the wrong order")
            if high > _MAX_REPEAT:
                raise FunctorFault(f"more than {_MAX_REPEAT} repetitions in a pattern")
            text = found[0]
        self.put(text, len(text))
        if self.pattern[self.at : self.at + 1] == "?":
            self.at += 1  # lazy or greedy, the whole text fits or does not

    def group(self) -> None:
        head = self.pattern[self.at : self.at + 3]
        if head == "(?:":
            self.put("(?:", 3)
        elif head in ("(?=", "(?!"):
            raise FunctorFault("look-ahead in a pattern is not supported")
        elif head[1:2] == "?":
            raise self.fault("unknown kind of group")
        else:
            self.put("(?:")

    def escape(self) -> bool:
        """Translate `\\x`; return whether it can be repeated."""
        char = self.pattern[self.at + 1 : self.at + 2]
        if not char:
            raise self.fault("`\\` at the end")
        if char in "bB":
            self.put("\\" + char, 2)
            return False
        if char in "123456789":
            raise FunctorFault("back-references in a pattern are not supported")
        if char.lower() in _CLASSES:
            negated = "^" if char.isupper() else ""
            self.put(f"[{negated}{_CLASSES[char.lower()]}]", 2)
        else:
            self.out.append(_literal(self.character(char)))
        return True

    def character(self, char: str) -> str:
        """Return the one character that an escape means, and step over it."""
        if char in _CONTROLS:
            self.at += 2
            return _CONTROLS[char]
        if char in "xu":
            width = 2 if char == "x" else 4
            digits = self.pattern[self.at + 2 : self.at + 2 + width]
            if len(digits) < width or not _HEX.fullmatch(digits):
                raise self.fault(f"`\\{char}` takes {width} hexadecimal digits")
            self.at += 2 + width
            return chr(int(digits, 16))
        if char == "c":
            letter = self.pattern[self.at + 2 : self.at + 3]
            if not (letter.isascii() and letter.isalpha()):
                raise self.fault("`\\c` takes a letter")
            self.at += 3
            return chr(ord(letter) % 32)
        if char.isalnum() or char == "_":
            raise self.fault(f"unknown escape `\\{char}`")
        self.at += 2
        return char

    def set(self) -> None:
        pattern = self.pattern
        negated = pattern[self.at + 1 : self.at + 2] == "^"
        self.at += 2 if negated else 1
        items: list[str] = []
        while True:
            char = pattern[self.at : self.at + 1]
            if not char:
                raise self.fault("`[` without `]`")
            if char == "]":
                break
            items.append(self.item())
        self.at += 1
        if items:
            self.out.append(f"[{'^' if negated else ''}{''.join(items)}]")
        else:  # `[]` fits nothing, `[^]` anything
            self.out.append(r"[\x00-\x{10ffff}]" if negated else r"[^\x00-\x{10ffff}]")

    def item(self) -> str:
        posix = _POSIX.match(self.pattern, self.at)
        if posix is not None:
            if not _POSIX_NAMES.fullmatch(posix[2]):
                raise self.fault(f"unknown class `{posix[2]}`")
            self.at = posix.end()
            if posix[2] in _CLASSES:
                return f"[:{posix[1]}{ {'d': 'digit', 's': 'space', 'w': 'word'}[posix[2]] }:]"
            return posix[0]
        first = self.member()
        if len(first) > 1:
            return first
        ahead = self.pattern[self.at : self.at + 2]
        if ahead[:1] != "-" or ahead[1:] in ("]", ""):
            return _literal(first)
        self.at += 1
        last = self.member()
        if len(last) > 1 or last < first:
            raise self.fault("no range")
        return f"{_literal(first)}-{_literal(last)}"

    def member(self) -> str:
        """Return one character of a set, or what stands for a class such as `\\d`."""
        char = self.pattern[self.at]
        if char != "\\":
            self.at += 1
            return char
        char = self.pattern[self.at + 1 : self.at + 2]
        if not char:
            raise self.fault("`\\` at the end")
        if char == "b":
            self.at += 2
            return "\b"
        if char.lower() in _CLASSES:
            if char == "S":
                raise FunctorFault("`\\S` inside a set of a pattern is not supported")
            self.at += 2
            return _CLASSES[char] if char.islower() else "\\" + char
        return self.character(char)


def _literal(char: str) -> str:
    return char if char.isalnum() or char == "_" else f"\\x{{{ord(char):x}}}"


@lru_cache(maxsize=1024)
def translate(pattern: str) -> str:
    """Return the pattern for RE2, anchored at both ends; raise if it is malformed."""
    if len(pattern) > _MAX_PATTERN:
        raise FunctorFault(f"a pattern is longer than {_MAX_PATTERN} characters")
    return rf"\A(?:{_Translation(pattern).run()})\z"


def _fits_each(pattern: str, texts: Texts) -> Bools:
    """Return, for each text, whether it fits the pattern as a whole."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        found = pc.match_substring_regex(
            pa.array(texts, type=pa.large_string()), translate(pattern)
        )
    except pa.ArrowInvalid as refused:
        # What the translation lets through and RE2 refuses is the size of the automaton.
        raise FunctorFault("a pattern is too large") from refused
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)


def check_pattern(pattern: str) -> None:
    """Raise MalformedPattern, or FunctorFault for one that is not supported."""
    _fits_each(pattern, text_array([""]))


def match_each(patterns: Texts, texts: Texts, *, negated: bool = False) -> Bools:
    """Return, row by row, whether the text fits the pattern as a whole (or not, if `negated`)."""
    out = np.zeros(len(texts), dtype=np.bool_)
    rows: dict[str, list[int]] = {}
    for row, pattern in enumerate(patterns.tolist()):
        rows.setdefault(pattern, []).append(row)
    for pattern, where in rows.items():
        try:
            out[where] = _fits_each(pattern, texts[where]) != negated
        except MalformedPattern:
            continue
    return out


def fits(pattern: str, text: str, *, negated: bool = False) -> bool:
    """Return whether the text fits the pattern as a whole (or not, if `negated`).

    >>> fits("a+b?", "aab"), fits("a+", "aab")
    (True, False)
    """
    return bool(match_each(text_array([pattern]), text_array([text]), negated=negated)[0])
