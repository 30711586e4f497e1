"""Kernels in two tiers: interpreted while there is little to do, compiled by Numba from then on.

A kernel is an ordinary Python function over NumPy arrays. Loading Numba and machine code takes
longer than most small programs, so a process starts interpreted and calls `compile_kernels` once
it has seen some work; that cannot be undone. Machine code is cached on disk: beside the code,
or, where that cannot be written (a read-only install), in the user's cache folder, or, where
that cannot be written either, in a temporary folder of this process.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib
import os
import pkgutil
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, Final, TypeVar, cast

import numpy as np

from whence.engine.local.locator import keeping_code_in

F = TypeVar("F", bound=Callable[..., object])

WORK_WORTH_COMPILING = 2000
"""Rows after which compiled kernels pay for their loading; an interpreted one takes 5 to 11 µs."""


class Kernel:
    """A kernel that is interpreted until it is compiled."""

    __slots__ = ("compiled", "function")

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.compiled: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        if self.compiled is not None:
            return self.compiled(*args)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.function(*args)


class Kernels:
    """The kernels of one package and the helpers they call, which are compiled together.

    A kernel imports the decorators of its registry from outside the package, so that the package
    is not loaded to make the registry.
    """

    def __init__(self, package: str, name: str) -> None:
        self._package = package
        self._name = name
        self._kernels: list[Kernel] = []
        self._inlined: list[FunctionType] = []
        self._lock = threading.Lock()

    def kernel(self, function: F) -> F:
        """Make the function a kernel; once compiled it runs without the GIL."""
        made = Kernel(cast(FunctionType, function))
        self._kernels.append(made)
        return cast(F, made)

    def inline(self, function: F) -> F:
        """Mark a helper that only kernels call."""
        self._inlined.append(cast(FunctionType, function))
        return function

    def compile(self) -> None:
        """Have every kernel compiled (or loaded from the cache) when it is next called."""
        with self._lock:
            if "WHENCE_INTERPRET" in os.environ:
                return
            if self._kernels and self._kernels[-1].compiled is not None:
                return
            # A kernel whose module is imported later would stay interpreted.
            for name in self._modules():
                importlib.import_module(f"{self._package}.{name}")
            import numba

            helper = numba.njit(inline="always", error_model="numpy", boundscheck=False)
            helpers: dict[FunctionType, object] = {f: helper(f) for f in self._inlined}
            for function in [*self._inlined, *(k.function for k in self._kernels)]:
                # Numba looks helpers up where the function does: in the globals of its module.
                scope = function.__globals__
                for name, value in list(scope.items()):
                    if isinstance(value, FunctionType) and value in helpers:
                        scope[name] = helpers[value]
            compiler = numba.njit(cache=True, nogil=True, error_model="numpy", boundscheck=False)
            with keeping_code_in(cache_folder(self.digest)):
                for made in self._kernels:
                    made.compiled = compiler(made.function)

    @functools.cached_property
    def digest(self) -> str:
        """The name of this state of the kernels' source."""
        source = hashlib.sha256()
        home = importlib.import_module(self._package)
        loader = cast(Any, home.__spec__).loader
        for name in sorted(["__init__", *self._modules()]):  # the package may be in an archive
            source.update(loader.get_data(str(Path(home.__path__[0]) / f"{name}.py")))
        return f"{self._name}-{source.hexdigest()[:16]}"

    def _modules(self) -> list[str]:
        home = importlib.import_module(self._package)
        return [module.name for module in pkgutil.iter_modules(home.__path__)]


_ENGINE: Final = Kernels("whence.engine.local.kernels", "kernels")
kernel, inline, compile_kernels = _ENGINE.kernel, _ENGINE.inline, _ENGINE.compile


def cache_folder(digest: str | None = None) -> Path:
    """Return the folder for machine code: one for each state of the kernels' source.

    Numba's own check, the time and size of one file, would not see a change in another file, nor
    one in an installed file whose time is always the same.
    """
    bases = [Path(__file__).parent / "__pycache__"]
    with contextlib.suppress(RuntimeError):  # in a container the user may have no home
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
        bases.append(home / "whence")
    if "NUMBA_CACHE_DIR" in os.environ:
        bases.insert(0, Path(os.environ["NUMBA_CACHE_DIR"]))
    for base in bases:
        if _writable(base / (digest or _ENGINE.digest)):
            return base / (digest or _ENGINE.digest)
    folder = Path(tempfile.mkdtemp(prefix="whence-kernels-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
