"""Random PROV streams: executions with fan-in and fan-out, attempts, derivations, members."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from hypothesis import strategies as st

from whence.lineage.events import Edge, Kind, batch_of
from whence.lineage.reduced import REDUCED, Pair, pairs_of

START = datetime(2026, 1, 1, tzinfo=UTC)
SPACES = ("in", "mid", "out", "~inner")


@dataclass(frozen=True)
class Stream:
    """Edges in the order in which a pipeline would tell them, and how they are to be read."""

    edges: tuple[Edge, ...]
    attempts: bool
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def asked(self) -> dict[str, object]:
        return {"attempts": self.attempts, "inputs": self.inputs, "outputs": self.outputs}


def entity(number: int) -> tuple[str, int]:
    return SPACES[number % 4], number


def execution_of(edge: Edge) -> tuple[object, int]:
    """Return what is never split between partitions: an execution, or an edge of none."""
    whose = {Kind.USED: edge.source, Kind.GENERATED: edge.target, Kind.END: edge.source}
    return whose.get(edge.kind, (edge.source, edge.target)), edge.attempt


@st.composite
def streams(
    draw: st.DrawFn, *, cycles: bool = False, declared: bool = True, once: bool = False
) -> Stream:
    """Streams over a few entities: with `once`, each is generated once and used once at most.

    Without `cycles`, an execution uses entities of smaller numbers than it generates.
    """
    count = draw(st.integers(2, 9))
    numbers = st.integers(0, count - 1)
    edges: list[Edge] = []
    used: set[int] = set()
    made: set[int] = set()
    for number in range(draw(st.integers(1, 6))):
        ins = draw(st.lists(numbers, max_size=4))
        outs = draw(st.lists(numbers, max_size=4))
        if not cycles:
            cut = draw(st.integers(0, count))
            ins, outs = [n for n in ins if n < cut], [n for n in outs if n >= cut]
        if once:
            ins = [n for n in dict.fromkeys(ins) if n not in used]
            outs = [n for n in dict.fromkeys(outs) if n not in made]
            used.update(ins)
            made.update(outs)
        attempt = draw(st.sampled_from([0, 0, 0, 1]))
        activity = ("f", number)
        edges += [Edge(Kind.USED, activity, entity(n), 2 * number, attempt) for n in ins]
        edges += [Edge(Kind.GENERATED, entity(n), activity, 2 * number + 1, attempt) for n in outs]
        if draw(st.integers(0, 4)):
            edges.append(Edge(Kind.END, activity, None, attempt=attempt))
    for _ in range(0 if once else draw(st.integers(0, 3))):
        one, other = draw(numbers), draw(numbers)
        if not cycles:
            one, other = max(one, other), min(one, other)
        kind = draw(st.sampled_from([Kind.DERIVED, Kind.MEMBER]))
        edges.append(Edge(kind, entity(one), entity(other)))
    spaces = st.sampled_from([(), (), ("mid",), SPACES]) if declared else st.just(())
    return Stream(tuple(edges), draw(st.booleans()), draw(spaces), draw(spaces))


@st.composite
def disturbed(draw: st.DrawFn, edges: tuple[Edge, ...]) -> list[Edge]:
    """The same edges in any order, some of them several times."""
    again = draw(st.lists(st.sampled_from(edges), max_size=4)) if edges else []
    return draw(st.permutations([*edges, *again]))


def timed(edges: list[Edge] | tuple[Edge, ...]) -> list[Edge]:
    """The same edges, a second apart."""
    return [replace(e, time=START + timedelta(seconds=i)) for i, e in enumerate(edges)]


def in_batches(edges: list[Edge] | tuple[Edge, ...], size: int) -> list[pa.RecordBatch]:
    return [batch_of(edges[i : i + size]) for i in range(0, len(edges), size)]


def pairs(batches: list[pa.RecordBatch]) -> set[Pair]:
    return pairs_of(pa.Table.from_batches(batches, REDUCED))
