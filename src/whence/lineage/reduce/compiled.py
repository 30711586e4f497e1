"""Kernels of the reducer in two tiers, as those of the engine: interpreted, then compiled.

Machine code is kept where the engine keeps its own, in a folder for this state of the source.
"""

from __future__ import annotations

import hashlib
import os
import pkgutil
import threading
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, Final, TypeVar, cast

from whence.engine.local.compile import Kernel, cache_folder

F = TypeVar("F", bound=Callable[..., object])

WORTH_COMPILING: Final = 5000
"""Edges after which compiled kernels pay for their loading."""

_kernels: list[Kernel] = []
_inlined: list[FunctionType] = []
_lock = threading.Lock()


def kernel(function: F) -> F:
    """Make the function a kernel."""
    made = Kernel(cast(FunctionType, function))
    _kernels.append(made)
    return cast(F, made)


def inline(function: F) -> F:
    """Mark a helper that only kernels call."""
    _inlined.append(cast(FunctionType, function))
    return function


def compile_kernels() -> None:
    """Have every kernel compiled (or loaded from the cache) when it is next called."""
    with _lock:
        if not _kernels or _kernels[-1].compiled is not None or "WHENCE_INTERPRET" in os.environ:
            return
        import numba

        from whence.engine.local.locator import keeping_code_in

        helper = numba.njit(inline="always", error_model="numpy", boundscheck=False)
        for function in _inlined:  # kernels look helpers up in their module
            function.__globals__[function.__name__] = helper(function)
        compiler = numba.njit(cache=True, nogil=True, error_model="numpy", boundscheck=False)
        with keeping_code_in(cache_folder(_digest())):
            for made in _kernels:
                made.compiled = cast(Callable[..., Any], compiler(made.function))


def _digest() -> str:
    source = hashlib.sha256()
    folder, loader = Path(__file__).with_name("kernels"), cast(Any, __spec__).loader
    for module in sorted(m.name for m in pkgutil.iter_modules([str(folder)])):
        # The package may be in an archive.
        source.update(loader.get_data(str(folder / f"{module}.py")))
    return f"lineage-{source.hexdigest()[:16]}"
