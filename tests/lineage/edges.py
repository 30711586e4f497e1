"""Random edges and streams of them, for tests of everything that takes edges."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import strategies as st

from whence.lineage.events import Edge, Kind
from whence.lineage.names import canonical

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SPACES = st.sampled_from(["tweets", "count/map", "ex:doc", "a", "whence:a:b", "x/007"]) | TEXTS
NUMBERS = st.sampled_from([-1, 0, 1, 10**18, 2**63 - 1]) | st.integers(0, 2**63 - 1)
NODES = st.builds(canonical, SPACES, NUMBERS)
TIMES = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=st.just(UTC)) | st.none()


@st.composite
def edges(draw: st.DrawFn) -> Edge:
    """Any edge at all."""
    kind = draw(st.sampled_from(Kind))
    return Edge(
        kind,
        draw(NODES),
        None if kind is Kind.END else draw(NODES),
        draw(st.integers(-1, 2**63 - 1)),
        draw(st.integers(0, 2**31 - 1)),
        draw(st.integers(0, 2**31 - 1)),
        draw(TIMES),
    )
