"""Whether the libraries are there that networks need."""

from __future__ import annotations

from importlib.util import find_spec

from whence.diagnostics import Diagnostic, UsageError


def check_libraries() -> None:
    """Raise a mistake, with the command that mends it, where the extra `network` is missing."""
    if find_spec("msgspec") is None:
        message = "networks need `msgspec`, which is not installed"
        raise UsageError(Diagnostic("W1426", message, hint="pip install 'whence[network]'"))
