"""Whence: Datalog that says where every answer comes from.

Names load on first use, so that `import whence` stays quick and loads no numeric library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from whence.database import Database
    from whence.diagnostics import (
        DataError,
        Diagnostic,
        LimitError,
        ProgramError,
        UsageError,
        WhenceError,
    )
    from whence.engine.base import Limits
    from whence.session import check, compile, evaluate, parse, read_program
    from whence.subscription import Subscription
    from whence.syntax.nodes import Program
    from whence.table import Table
    from whence.transaction import Transaction
    from whence.view.base import Change, Changes

__version__ = "0.1.0"

_HOMES: Final = {
    "Database": "whence.database",
    "Table": "whence.table",
    "Transaction": "whence.transaction",
    "Subscription": "whence.subscription",
    "Change": "whence.view.base",
    "Changes": "whence.view.base",
    "parse": "whence.session",
    "read_program": "whence.session",
    "check": "whence.session",
    "compile": "whence.session",
    "evaluate": "whence.session",
    "Limits": "whence.engine.base",
    "Program": "whence.syntax.nodes",
    "Diagnostic": "whence.diagnostics",
    "WhenceError": "whence.diagnostics",
    "ProgramError": "whence.diagnostics",
    "UsageError": "whence.diagnostics",
    "DataError": "whence.diagnostics",
    "LimitError": "whence.diagnostics",
}

__all__ = [
    "Database",
    "Table",
    "Transaction",
    "Subscription",
    "Change",
    "Changes",
    "parse",
    "read_program",
    "check",
    "compile",
    "evaluate",
    "Limits",
    "Program",
    "Diagnostic",
    "WhenceError",
    "ProgramError",
    "UsageError",
    "DataError",
    "LimitError",
    "__version__",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'whence' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
