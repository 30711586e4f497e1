"""Semirings that a user brings: loaded from Python, and checked against the laws they claim."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from whence.diagnostics import Diagnostic, UsageError
from whence.semiring.base import Semiring
from whence.semiring.laws import Violation, first_violation

AnySemiring = Semiring[Any]
_KINDS = {"number": (int,), "float": (int, float), "symbol": (str,)}


def checked(given: object) -> AnySemiring:
    """Return a semiring as it is, or one of a class, or refuse it.

    It is refused with the values that break a law it claims, or with what it lacks.
    """
    semiring = given
    if isinstance(given, type):
        try:
            semiring = given()
        except Exception as error:
            raise _refused(
                given.__name__, f"{type(error).__name__}: {error}", "", "W0924"
            ) from error
    if not isinstance(semiring, Semiring):
        raise _refused(given, "it is no `whence.semiring.Semiring`", "", "W0924")
    called = getattr(semiring, "name", type(semiring).__name__)
    missing = [
        attribute
        for attribute in ("name", "laws", "column", "zero", "one")
        if not hasattr(semiring, attribute)
    ]
    if missing:
        raise _refused(called, f"it has no `{missing[0]}`", "", "W0924")
    if semiring.column not in _KINDS:
        kinds = ", ".join(f"`{kind}`" for kind in _KINDS)
        raise _refused(called, f"its `column` is {semiring.column!r}", f"one of {kinds}", "W0924")
    try:
        samples = [semiring.zero, semiring.one, *semiring.samples()]
        if len(set(samples)) < 3 and type(semiring).samples is Semiring.samples:
            raise _refused(
                called,
                "its `samples` are too few to check its laws",
                "let `samples` return some values other than zero and one",
                "W0924",
            )
        found = first_violation(semiring, dict.fromkeys(samples)) or _unshown(semiring, samples)
    except UsageError:
        raise
    except Exception as error:
        # It is the user's code that fails, so the user is told, and not by a traceback.
        reason = f"checking its laws fails with {type(error).__name__}: {error}"
        raise _refused(called, reason, "", "W0924") from error
    if found:
        hint = "mend the operations, or claim fewer laws"
        raise _refused(called, str(found), hint, "W0925")
    return semiring


def load(place: str) -> AnySemiring:
    """Return the checked semiring that `module:Name` or `file.py:Name` stands for.

    The name is that of a class that needs no arguments, or of an instance. The code is run.
    """
    where, _, name = place.rpartition(":")
    try:
        found = getattr(_module(where), name)
    except Exception as error:
        hint = "`module:Class` or `file.py:Class`, with a class that needs no arguments"
        raise UsageError(
            Diagnostic(
                "W0926",
                f"semiring `{place}` cannot be loaded",
                notes=(f"{type(error).__name__}: {error}",),
                hint=hint,
            )
        ) from error
    return checked(found)


def _module(where: str) -> ModuleType:
    if not where.endswith(".py"):
        return importlib.import_module(where)
    path = Path(where)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{where} is no Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up there.
    before = sys.modules.get(path.stem)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    finally:
        if before is not None:
            sys.modules[path.stem] = before
    return module


def _unshown(semiring: AnySemiring, samples: list[Any]) -> Violation | None:
    """Return a value that `show` does not turn into what its column holds."""
    for value in samples:
        cell = semiring.show(value)
        if not isinstance(cell, _KINDS[semiring.column]):
            law = f"`show` returns what a column of kind {semiring.column} holds"
            return Violation(law, (value,), cell, semiring.column)
    return None


def _refused(called: object, reason: str, hint: str, code: str) -> UsageError:
    return UsageError(
        Diagnostic(code, f"`{called}` is no semiring to annotate with", notes=(reason,), hint=hint)
    )
