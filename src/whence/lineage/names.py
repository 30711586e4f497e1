"""Qualified names of PROV nodes, `prefix:space/number`, as a space and a number.

The space is the dataset of an entity and the function of an activity; it keeps its prefix unless
that is ours. A name that does not end in `/` and a plain number has the number -1 and is all space.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

PREFIX: Final = "whence"
"""The prefix that a space without one has when it is printed."""

NAMESPACE: Final = "urn:whence:"
"""What our prefix stands for in documents."""

WHOLE: Final = -1
"""The number of a name that has none."""

INNER: Final = "~"
"""What the spaces of entities begin with that exist only within a job, such as groups of rows: they
are neither inputs nor outputs of it, whatever uses or makes them."""

SPACES: Final = pa.dictionary(pa.int32(), pa.utf8())

_MOST: Final = np.iinfo(np.int64).max
# `007` is no number: it would be printed as `7`, which is another name.
_NUMBERED: Final = re.compile(r"(.*)/(0|[1-9][0-9]{0,18})", re.DOTALL | re.ASCII)


def parse_name(name: str) -> tuple[str, int]:
    """Return the space and the number of a name.

    >>> parse_name("whence:tweets/17"), parse_name("ex:tweets/17"), parse_name("ex:report")
    (('tweets', 17), ('ex:tweets', 17), ('ex:report', -1))
    """
    found = _NUMBERED.fullmatch(name)
    if found is None or int(found[2]) > _MOST:
        return _short(name), WHOLE
    return _short(found[1]), int(found[2])


def print_name(space: str, number: int) -> str:
    """Return the name, with a prefix.

    >>> print_name("tweets", 17), print_name("ex:report", -1)
    ('whence:tweets/17', 'ex:report')
    """
    text = space if ":" in space else f"{PREFIX}:{space}"
    return text if number == WHOLE else f"{text}/{number}"


def canonical(space: str, number: int) -> tuple[str, int]:
    """Return the space and the number that the printed name is read as."""
    return parse_name(print_name(space, number))


def parse_names(names: pa.Array) -> tuple[pa.DictionaryArray, pa.Array]:
    """Return the spaces and the numbers of an array of names; null where a name is null."""
    names = pc.cast(names, pa.utf8())
    parts = pc.extract_regex(names, r"(?s)^(?P<space>.*)/(?P<number>0|[1-9][0-9]{0,18})$")
    # Nineteen digits are always below 2⁶⁴.
    digits = pc.cast(pc.struct_field(parts, "number"), pa.uint64())
    numbered = pc.fill_null(pc.less_equal(digits, pa.scalar(_MOST, pa.uint64())), False)
    spaces = pc.if_else(numbered, pc.struct_field(parts, "space"), names)
    numbers = pc.cast(pc.if_else(numbered, digits, None), pa.int64())
    numbers = pc.if_else(pc.is_null(names), None, pc.fill_null(numbers, WHOLE))
    return shorten(pc.dictionary_encode(spaces)), numbers


def print_names(spaces: pa.Array, numbers: pa.Array) -> pa.Array:
    """Return the names of spaces and numbers; null where either is null."""
    known = pc.dictionary_encode(spaces) if not pa.types.is_dictionary(spaces.type) else spaces
    texts = pc.cast(known.dictionary, pa.utf8())
    bare = pc.invert(pc.match_substring(texts, ":"))
    full = pc.if_else(bare, pc.binary_join_element_wise(PREFIX, texts, ":"), texts)
    long = full.take(known.indices)
    tails = pc.cast(numbers, pa.utf8())
    names = pc.binary_join_element_wise(long, tails, "/")
    return pc.if_else(pc.equal(numbers, WHOLE), long, names)


def settled(spaces: pa.DictionaryArray, numbers: pa.Array) -> tuple[pa.DictionaryArray, pa.Array]:
    """Return the spaces and numbers that the printed names are read as: nearly always the same.

    Whoever makes edges by hand may call a node `("whence:a", 1)` or `("a/1", -1)`; both are `a/1`.
    """
    texts = spaces.dictionary.to_pylist()
    ours = f"{PREFIX}:"
    longer = any(text.startswith(ours) and _short(text) != text for text in texts)
    least = pc.min(numbers).as_py()
    below = least is not None and least < WHOLE
    # Where names have no numbers there are as many spaces, so most must be told at a glance.
    numbered = [
        text[-1:].isdigit() and "/" in text[-20:] and parse_name(text)[1] != WHOLE for text in texts
    ]
    if any(numbered):
        whole = pc.equal(numbers, WHOLE)
        below = below or pc.any(pc.and_(pa.array(numbered).take(spaces.indices), whole)).as_py()
    return parse_names(print_names(spaces, numbers)) if longer or below else (spaces, numbers)


def shorten(spaces: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return the same spaces without our prefix, each once in the dictionary."""
    texts = [_short(text) for text in spaces.dictionary.to_pylist()]
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    if len(places) == len(texts):
        indices = spaces.indices
    else:
        moved = pa.array([places[text] for text in texts], pa.int32())
        indices = moved.take(spaces.indices)
    dictionary = pa.array(list(places), pa.utf8())
    return pa.DictionaryArray.from_arrays(pc.cast(indices, pa.int32()), dictionary)


def _short(text: str) -> str:
    rest = text.removeprefix(f"{PREFIX}:")
    # `whence:a:b` keeps its prefix: `a:b` is another name.
    return text if ":" in rest else rest
