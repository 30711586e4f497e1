"""Kernels of the reducer in two tiers, as those of the engine: interpreted, then compiled."""

from __future__ import annotations

from typing import Final

from whence.engine.local.compile import Kernels

WORTH_COMPILING: Final = 5000
"""Edges after which compiled kernels pay for their loading."""

_REDUCER: Final = Kernels("whence.lineage.reduce.kernels", "lineage")
kernel, inline, compile_kernels = _REDUCER.kernel, _REDUCER.inline, _REDUCER.compile
