"""Edges of PROV streams from JSON lines: the kernel for lines of the usual form.

A line of any other form is left to a reader that knows all of JSON. The kernel must never
understand a line in another way than that reader does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whence.engine.local.compile import inline, kernel
from whence.engine.local.kernels.hashing import Ints, Rows

Text = npt.NDArray[np.uint8]

TOKENS = 64
"""The most tokens that a line of the usual form has."""
NO_TARGET = -1
"""The code of the space of a target that is not there."""

# Classes of bytes. From `SPACE` on a byte may stand within a string of the usual form.
QUOTE = 0
ODD = 1
BREAK = 2
TAB = 3
SPACE = 4
SIGN = 5
DIGIT = 6
OTHER = 7

_STRING = 1
_NUMBER = 2
_FNV = np.uint64(1099511628211)
_FNV_START = np.uint64(14695981039346656037)


def byte_classes() -> Text:
    """Return the class of each byte."""
    classes = np.full(256, ODD, np.uint8)
    classes[32:127] = OTHER
    for signs, kind in ((b'"', QUOTE), (b"\\", ODD), (b"\n", BREAK), (b"\t\r", TAB)):
        classes[list(signs)] = kind
    for signs, kind in ((b" ", SPACE), (b"{}:,", SIGN), (b"-0123456789", DIGIT)):
        classes[list(signs)] = kind
    return classes


@inline
def byte(data: Text, at: int) -> int:
    """Return a byte as a signed number: an unsigned one and an int would make a float."""
    return np.int64(data[at])  # type: ignore[return-value]


@inline
def tokenize(data: Text, at: int, classes: Text, tokens: Rows) -> tuple[int, int]:
    """Split a line; return the number of tokens, negative where the line is odd, and its end.

    The data end with a line break, which ends every loop here.
    """
    count = 0
    while True:
        kind = classes[data[at]]
        if TAB <= kind <= SPACE:
            at += 1
            continue
        if kind == BREAK:
            break
        if kind == ODD or count == TOKENS:
            count = -1
            break
        if kind == QUOTE:
            start = at + 1
            at = start
            while classes[data[at]] >= SPACE:
                at += 1
            if data[at] != 34:
                count = -1
                break
            tokens[count, 0] = _STRING
            tokens[count, 1] = start
            tokens[count, 2] = at
            at += 1
        elif kind == SIGN:
            tokens[count, 0] = byte(data, at)
            at += 1
        elif kind == DIGIT:
            sign = 1
            if data[at] == 45:
                sign = -1
                at += 1
            start = at
            value = 0
            while 48 <= data[at] <= 57 and at - start < 19:
                value = value * 10 + byte(data, at) - 48
                at += 1
            digits = at - start
            if digits == 0 or digits > 18 or (digits > 1 and data[start] == 48):
                count = -1
                break
            tokens[count, 0] = _NUMBER
            tokens[count, 1] = sign * value
            tokens[count, 2] = 0
        else:
            count = -1
            break
        count += 1
    while data[at] != 10:
        at += 1
    return count, at


@inline
def which(data: Text, start: int, end: int, words: Text, ends: Ints) -> int:
    """Return the number of the word that stands there, or -1."""
    found = -1
    begin = 0
    for w in range(ends.shape[0]):
        if ends[w] - begin == end - start:
            same = True
            for i in range(end - start):
                if words[begin + i] != data[start + i]:
                    same = False
                    break
            if same:
                found = w
                break
        begin = ends[w]
    return found


@inline
def two_digits(data: Text, at: int) -> int:
    """Return the number that two digits make, or one that no digits make."""
    a = byte(data, at) - 48
    b = byte(data, at + 1) - 48
    if a < 0 or a > 9 or b < 0 or b > 9:
        return -100000
    return a * 10 + b


@inline
def microseconds(data: Text, start: int, end: int) -> tuple[bool, int]:
    """Return whether `2026-11-16T13:28:56.25Z` or the like stands there, and when that was."""
    n = end - start
    if n < 20 or n > 27 or n == 21 or data[end - 1] != 90:
        return False, 0
    if data[start + 4] != 45 or data[start + 7] != 45 or data[start + 10] != 84:
        return False, 0
    if data[start + 13] != 58 or data[start + 16] != 58:
        return False, 0
    year = two_digits(data, start) * 100 + two_digits(data, start + 2)
    month = two_digits(data, start + 5)
    day = two_digits(data, start + 8)
    hour = two_digits(data, start + 11)
    minute = two_digits(data, start + 14)
    second = two_digits(data, start + 17)
    fraction = 0
    if n > 20:
        if data[start + 19] != 46:
            return False, 0
        for i in range(6):
            fraction *= 10
            if start + 20 + i < end - 1:
                digit = byte(data, start + 20 + i) - 48
                if digit < 0 or digit > 9:
                    return False, 0
                fraction += digit
    # Days up to 28 are in every month; the few others are left to the calendar.
    if year < 1 or month < 1 or month > 12 or day < 1 or day > 28:
        return False, 0
    if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59:
        return False, 0
    # Days since 1970 by the years that begin in March (Hinnant, days_from_civil).
    y = year - (1 if month <= 2 else 0)
    era = y // 400
    of_era = y - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    return True, (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000000 + fraction


@inline
def split_name(data: Text, start: int, end: int, prefix: Text) -> tuple[int, int, int]:
    """Return where the space of a name begins and ends, and the number; -2 where it is odd."""
    number = -1
    at = end
    while at > start and 48 <= data[at - 1] <= 57:
        at -= 1
    digits = end - at
    stop = end
    if digits > 0 and at > start and data[at - 1] == 47:
        if digits > 18:
            return start, end, -2
        if digits == 1 or data[at] != 48:
            number = 0
            for i in range(at, end):
                number = number * 10 + byte(data, i) - 48
            stop = at - 1
    own = stop - start >= prefix.shape[0]
    if own:
        for i in range(prefix.shape[0]):
            if data[start + i] != prefix[i]:
                own = False
                break
    if own:
        for i in range(start + prefix.shape[0], stop):
            if data[i] == 58:
                own = False
                break
    return (start + prefix.shape[0] if own else start), stop, number


@inline
def intern(data: Text, start: int, end: int, table: Ints, spaces: Rows, count: int) -> int:
    """Return the code of a space, which is `count` if it is new."""
    hashed = _FNV_START
    for i in range(start, end):
        hashed = (hashed ^ np.uint64(data[i])) * _FNV
    mask = np.uint64(table.shape[0] - 1)
    slot = np.int64((hashed ^ (hashed >> np.uint64(29))) & mask)
    code = count
    while table[slot] >= 0:
        other = table[slot]
        begin = spaces[other, 0]
        if spaces[other, 1] - begin == end - start:
            same = True
            for i in range(end - start):
                if data[begin + i] != data[start + i]:
                    same = False
                    break
            if same:
                code = other
                break
        slot = np.int64((np.uint64(slot) + np.uint64(1)) & mask)
    if code == count:
        table[slot] = count
        spaces[count, 0] = start
        spaces[count, 1] = end
    return code


@kernel
def scan_lines(
    data: Text,
    classes: Text,
    relations: Text,
    relation_ends: Ints,
    keys: Text,
    key_ends: Ints,
    ends: Rows,
    prefix: Text,
    tokens: Rows,
    values: Rows,
    table: Ints,
    spaces: Rows,
    rows: Rows,
    odd: Rows,
) -> tuple[int, int, int, int]:
    """Read whole lines; return how many edges, spaces, odd lines and lines there are.

    The last line has its break, too. `classes` are those of `byte_classes`.
    A row is kind, source code and number, target code and number, group, attempt, worker, time,
    whether there is a time, line. `ends` has for each relation the keys of source and target.
    The last four keys are time, group, attempt and worker. An odd line is its number and place.
    `tokens` and `values` are room to work in.
    """
    size = data.shape[0]
    names = key_ends.shape[0] - 4
    found = 0
    coded = 0
    odds = 0
    line = 0
    at = 0
    while at < size:
        begin = at
        count, at = tokenize(data, at, classes, tokens)
        end = at
        at += 1
        line += 1
        if count == 0:
            continue
        good = count >= 13 and tokens[0, 0] == 123 and tokens[1, 0] == _STRING
        good = good and tokens[2, 0] == 58 and tokens[3, 0] == 123 and tokens[4, 0] == _STRING
        good = good and tokens[5, 0] == 58 and tokens[6, 0] == 123
        relation = -1
        if good:
            relation = which(data, tokens[1, 1], tokens[1, 2], relations, relation_ends)
            good = relation >= 0
        seen = 0
        i = 7
        while good:
            if i + 3 >= count or tokens[i, 0] != _STRING or tokens[i + 1, 0] != 58:
                good = False
                break
            key = which(data, tokens[i, 1], tokens[i, 2], keys, key_ends)
            # An attribute that is not known may be there twice, which only the other reader sees.
            wanted = _NUMBER if key > names else _STRING
            if key < 0 or tokens[i + 2, 0] != wanted or seen & (1 << key) != 0:
                good = False
                break
            seen |= 1 << key
            values[key, 0] = tokens[i + 2, 1]
            values[key, 1] = tokens[i + 2, 2]
            i += 4
            if tokens[i - 1, 0] == 125:
                break
            if tokens[i - 1, 0] != 44:
                good = False
        good = good and i + 2 == count and tokens[i, 0] == 125 and tokens[i + 1, 0] == 125
        told = False
        when = 0
        if good:
            source, target = ends[relation, 0], ends[relation, 1]
            good = seen & (1 << source) != 0
            # Only an end of an attempt is an edge: others are statements of PROV like any.
            good = good and seen & (1 << (names + 2 if target < 0 else target)) != 0
        if good and seen & (1 << names) != 0:
            told, when = microseconds(data, values[names, 0], values[names, 1])
            good = told
        for n in range(2, 4):
            if good and seen & (1 << (names + n)) != 0:
                good = -2147483648 <= values[names + n, 0] <= 2147483647
        if good:
            rows[found, 3] = NO_TARGET
            rows[found, 4] = 0
            for side in range(2):
                key = ends[relation, side]
                if key < 0:
                    continue
                a, b, number = split_name(data, values[key, 0], values[key, 1], prefix)
                if number == -2 or values[key, 0] == values[key, 1]:
                    good = False
                    break
                code = intern(data, a, b, table, spaces, coded)
                if code == coded:
                    coded += 1
                rows[found, 1 + 2 * side] = code
                rows[found, 2 + 2 * side] = number
        if not good:
            odd[odds, 0] = line
            odd[odds, 1] = begin
            odd[odds, 2] = end
            odds += 1
            continue
        rows[found, 0] = relation
        rows[found, 5] = values[names + 1, 0] if seen & (1 << (names + 1)) != 0 else -1
        rows[found, 6] = values[names + 2, 0] if seen & (1 << (names + 2)) != 0 else 0
        rows[found, 7] = values[names + 3, 0] if seen & (1 << (names + 3)) != 0 else 0
        rows[found, 8] = when
        rows[found, 9] = 1 if told else 0
        rows[found, 10] = line
        found += 1
    return found, coded, odds, line
