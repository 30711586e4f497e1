"""The cases of `tests/property/test_engine_agrees.py`, on both engines."""

from __future__ import annotations

import pytest

from contract.both import both_engines  # noqa: F401
from property.test_engine_agrees import *  # noqa: F403

pytestmark = [pytest.mark.spark, pytest.mark.slow]
