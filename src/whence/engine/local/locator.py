"""Which machine code belongs to a kernel: Numba looks it up here, in one folder.

By itself Numba goes by the path and the time of the source file. A folder of ours belongs to one
state of all the kernels' source already, and what is copied to another machine must be found there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any


@contextlib.contextmanager
def keeping_code_in(folder: Path) -> Iterator[None]:
    """Have Numba keep the machine code of functions that are made kernels inside the block."""
    import numba.core.caching

    caching: Any = numba.core.caching

    class InFolder(caching._CacheLocator):  # type: ignore[misc]
        def __init__(self, line: int) -> None:
            self._line = line

        def get_cache_path(self) -> str:
            return str(folder)

        def get_source_stamp(self) -> str:
            return folder.name

        def get_disambiguator(self) -> str:
            return str(self._line)

        @classmethod
        def from_function(cls, function: FunctionType, file: str) -> Any:
            return cls(function.__code__.co_firstlineno)

    before = caching.CacheImpl._locator_classes
    caching.CacheImpl._locator_classes = [InFolder]
    try:
        yield
    finally:
        caching.CacheImpl._locator_classes = before  # the rest of the process keeps its own
