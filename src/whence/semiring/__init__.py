"""Semirings: what annotations of facts are, and how they combine.

Names load on first use, so that a plain run does not load the algebras.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whence.semiring.base import Cell, Chain, Law, Semiring, Times
    from whence.semiring.registry import SEMIRINGS, make, names

__all__ = ["Semiring", "Law", "Chain", "Times", "Cell", "SEMIRINGS", "make", "names"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = "registry" if name in ("SEMIRINGS", "make", "names") else "base"
    return getattr(import_module(f"whence.semiring.{home}"), name)
