"""The cases of `tests/property/test_chains.py`, on both engines."""

from __future__ import annotations

import pytest

from contract.both import both_engines  # noqa: F401
from property.test_chains import *  # noqa: F403

pytestmark = [pytest.mark.spark, pytest.mark.slow]
