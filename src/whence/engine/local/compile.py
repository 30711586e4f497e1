"""The `kernel` decorator: Numba, compiled on first use, cached on disk, without the GIL.

The cache lies beside the code; where that cannot be written (a read-only install), in the
user's cache folder; where that cannot be written either, in a temporary folder of this process.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def cache_folder() -> Path | None:
    """Return the folder to force on Numba, or None where its own choice (beside the code) works."""
    if "NUMBA_CACHE_DIR" in os.environ or _writable(Path(__file__).parent / "__pycache__"):
        return None
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    if _writable(base / "whence" / "kernels"):
        return base / "whence" / "kernels"
    return Path(tempfile.mkdtemp(prefix="whence-kernels-"))


_folder = cache_folder()
if _folder is not None:
    # Numba reads the variable when it is imported, so it is set before the import below.
    os.environ["NUMBA_CACHE_DIR"] = str(_folder)

import numba  # noqa: E402

if _folder is not None:
    setattr(numba.config, "CACHE_DIR", str(_folder))  # noqa: B010


def kernel(function: F) -> F:
    """Compile the function on its first call, keep the machine code, and run it without the GIL."""
    compiler = numba.njit(cache=True, nogil=True, error_model="numpy", boundscheck=False)
    return cast(F, compiler(function))


def inline(function: F) -> F:
    """Compile a helper that only kernels call."""
    return cast(F, numba.njit(inline="always", error_model="numpy", boundscheck=False)(function))
