"""Every scheme comes to the central answer over links that lose, repeat and reorder datagrams."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings

from network.core.randomized import Case, cases, consistent
from whence.network.simulation import Settings
from whence.network.transport.quality import Quality

BAD = Quality(latency=0.01, loss=0.15, duplicate=0.1, jitter=0.03, fifo=False)
EXAMPLES = max(1, int(os.environ.get("WHENCE_EXAMPLES", "500")) // 25)


@given(cases(recursive=False))
@settings(max_examples=EXAMPLES)
def test_counting_is_exact_over_bad_links(case: Case) -> None:
    consistent(case, Settings(scheme="counting"), BAD)


@pytest.mark.parametrize(
    ("scheme", "ship"),
    [
        ("absorption", "plain"),
        ("absorption", "eager"),
        ("absorption", "lazy"),
        ("relative", "lazy"),
        ("dred", "plain"),
    ],
)
def test_recursion_is_exact_over_bad_links(scheme: str, ship: str) -> None:
    @given(cases(recursive=True, negation=False))
    @settings(max_examples=EXAMPLES)
    def check(case: Case) -> None:
        consistent(case, Settings(scheme=scheme, ship=ship), BAD)

    check()
