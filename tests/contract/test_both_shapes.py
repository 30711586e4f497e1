"""The cases of `tests/engine/test_shapes.py`, on both engines."""

from __future__ import annotations

import pytest

from contract.both import both_engines  # noqa: F401
from engine.test_shapes import *  # noqa: F403

pytestmark = [pytest.mark.spark, pytest.mark.slow]
