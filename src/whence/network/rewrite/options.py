"""What is done to a program before it runs, and how a command says it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from whence.diagnostics import Diagnostic, UsageError, nearest

Direction = Literal["auto", "as written", "from source", "from destination", "hybrid", "zone"]


@dataclass(frozen=True, slots=True)
class Options:
    """What is done to a program before it runs."""

    without: frozenset[str] = frozenset()
    """Names of passes that do not run."""
    search: Direction = "auto"
    """From where walks along links are searched, when a query names nodes."""
    radius: tuple[int, int] = (2, 2)
    """In hops: from source and from destination of a hybrid search; the first is that of a zone."""
    later: bool = False
    """Whether queries come while the program runs, as rows of magic tables."""
    period: float | None = None
    """Seconds between what aggregate selections let through; None: at once."""
    cache: float | None = None
    """Seconds that the ways of answered queries are remembered along them; None: not at all."""
    share: float | None = None
    """Seconds that tuples wait for others with which they can share a message; None: none do."""
    backward: bool = True
    """Whether answers against a link ask for the link back."""
    windows: frozenset[str] = frozenset()
    """Relations whose tuples are deleted when they expire."""


_NUMBERS: Final = ("period", "cache", "share")
_FLAGS: Final = ("later",)


def parse_options(words: Iterable[str], passes: Collection[str]) -> Options:
    """Return the options that a command line names.

    >>> parse_options(["no-magic_sets", "period=0.5"], ["magic_sets"]).period
    0.5
    """
    options = Options()
    for word in words:
        key, _, value = word.partition("=")
        if word.startswith("no-") and word[3:] in passes:
            options = replace(options, without=options.without | {word[3:]})
        elif word == "no-backward":
            options = replace(options, backward=False)
        elif word in _FLAGS:
            options = replace(options, **{word: True})  # type: ignore[arg-type]
        elif key in _NUMBERS and _is_number(value):
            options = replace(options, **{key: float(value)})  # type: ignore[arg-type]
        elif key == "search" and value.replace("-", " ") in get_args(Direction):
            options = replace(options, search=value.replace("-", " "))  # type: ignore[arg-type]
        elif key == "radius" and _radius(value) is not None:
            options = replace(options, radius=_radius(value) or options.radius)
        else:
            raise UsageError(_unknown(word, passes))
    return options


def _is_number(text: str) -> bool:
    try:
        return 0 < float(text) < float("inf")
    except ValueError:
        return False


def _radius(text: str) -> tuple[int, int] | None:
    one, _, other = text.partition(",")
    if one.isdecimal() and (other or one).isdecimal():
        return int(one), int(other or one)
    return None


def _unknown(word: str, passes: Collection[str]) -> Diagnostic:
    searches = [f"search={name.replace(' ', '-')}" for name in get_args(Direction)]
    numbers = [f"{name}=SECONDS" for name in _NUMBERS]
    known = [*(f"no-{name}" for name in passes), *searches, "radius=1,2", *numbers, *_FLAGS]
    known.append("no-backward")
    near = nearest(word, known)
    hint = f"did you mean `{near}`?" if near else f"known are {', '.join(known)}"
    return Diagnostic("W1383", f"nothing about rewrites is called `{word}`", hint=hint)
