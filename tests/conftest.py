"""Options that all tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

# Who starts a script in the background has it ignore interrupts, and so would all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The one Spark session of a test process, on two cores of this machine."""
    from whence.engine.spark.session import session

    started = session("local[2]", **{"spark.driver.memory": "2g"})
    yield started
    started.stop()
