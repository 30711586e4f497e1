"""Options that all tests share."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# The first call of a kernel compiles it, so no example has a deadline.
settings.register_profile("fast", deadline=None, max_examples=60)
settings.register_profile("long", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("WHENCE_HYPOTHESIS", "fast"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="accept the output as golden files")


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten."""
    return bool(request.config.getoption("--update"))
