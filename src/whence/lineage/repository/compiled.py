"""Kernels of questions in two tiers, as those of the engine; only deep nests need them."""

from __future__ import annotations

from typing import Final

from whence.engine.local.compile import Kernels

_QUESTIONS: Final = Kernels("whence.lineage.repository.kernels", "questions")
kernel, compile_kernels = _QUESTIONS.kernel, _QUESTIONS.compile
