"""What can be wrong with a script in SQL, each with its place and what would be right."""

from __future__ import annotations

from whence.diagnostics import Diagnostic, ProgramError, Span


def fault(code: str, message: str, place: Span, *, hint: str = "", label: str = "") -> ProgramError:
    """Return the error to raise."""
    return ProgramError(Diagnostic(code, message, place, label, hint=hint))


def unsupported(what: str, place: Span, hint: str = "") -> ProgramError:
    """Return the error of something that SQL has and that is not translated."""
    return fault("W1502", f"{what} is not supported", place, hint=hint)
