"""Random programs, networks and bursts; at rest every node holds its share of what they mean.

`cases` draws what happens, `consistent` lets it happen under some settings and compares each node
with the central evaluator. Every scheme runs through this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from whence.network.clock import SimulatedClock
from whence.network.definition import central
from whence.network.model import Placement
from whence.network.placement import OneToOne, dealt
from whence.network.program import Kind
from whence.network.simulation import Network, Settings
from whence.network.transport.quality import Quality
from whence.network.transport.reliable import ReliableTransport
from whence.network.transport.simulated import SimulatedTransport
from whence.syntax.ndlog import parse_ndlog

NODES = ("a", "b", "c", "d")
BASE = ("e", "f")
NAMES = ("X", "Y", "Z", "W")

Row = tuple[Any, ...]
Change = tuple[int, str, Row]


@dataclass(frozen=True)
class Burst:
    """Changes that come together, and how long the next ones wait (None: until all is at rest)."""

    changes: tuple[Change, ...]
    pause: float | None


@dataclass(frozen=True)
class Case:
    """A program and what happens to its network."""

    text: str
    bursts: tuple[Burst, ...]
    seed: int
    processors: int  # 0: each address is its own
    jitter: float


@st.composite
def _body(
    draw: st.DrawFn, relations: tuple[str, ...], most: int = 3
) -> tuple[list[str], list[str]]:
    """Some atoms, each at a place that one before it names, and the places that they name."""
    bound = [draw(st.sampled_from(NAMES))]
    atoms = []
    for _ in range(draw(st.integers(1, most))):
        relation = draw(st.sampled_from(relations))
        # What an aggregate counts is no place, and no node has such a name.
        others = ("N", "_") if relation == "n" else (*NAMES, "_")
        place, other = draw(st.sampled_from(bound)), draw(st.sampled_from(others))
        atoms.append(f"{relation}(@{place},{other})")
        if relation != "n" and other != "_" and other not in bound:
            bound.append(other)
    return draw(st.permutations(atoms)), bound


@st.composite
def _rule(
    draw: st.DrawFn, head: str, relations: tuple[str, ...], denied: tuple[str, ...] = ()
) -> str:
    body, bound = draw(_body(relations))
    name = st.sampled_from(bound)
    if denied and draw(st.booleans()):
        second = draw(st.sampled_from((*bound, "_")))
        body.append(f"!{draw(st.sampled_from(denied))}(@{draw(name)},{second})")
    if draw(st.integers(0, 3)) == 0:
        body.append(f"{draw(name)} != {draw(name)}")
    values = [*bound, "N"] if any(",N)" in atom for atom in body) else bound
    second = draw(st.sampled_from(values))
    return f"{head}(@{draw(name)},{second}) :- {', '.join(body)}."


@st.composite
def _aggregate(draw: st.DrawFn, head: str, relations: tuple[str, ...]) -> str:
    body, bound = draw(_body(relations, 2))
    name = st.sampled_from(bound)
    function = draw(st.sampled_from(("count<*>", "min<{}>", "max<{}>", "count<{}>")))
    fold = function.format(draw(name))
    return f"{head}(@{draw(name)},{fold}) :- {', '.join(body)}."


@st.composite
def programs(draw: st.DrawFn, *, recursive: bool, negation: bool = True) -> str:
    """A program in layers: two relations that may be recursive, an aggregate, and rules on top."""
    r_reads = (*BASE, "r") if recursive else BASE
    s_reads = (*BASE, "r", "s") if recursive else (*BASE, "r")
    rules = [draw(_rule("r", BASE))]
    rules += [draw(_rule("r", r_reads)) for _ in range(draw(st.integers(0, 2)))]
    denied = ("r", *BASE) if negation else ()
    rules += [draw(_rule("s", s_reads, denied)) for _ in range(draw(st.integers(0, 2)))]
    rules += [draw(_aggregate("n", ("r", "s", *BASE))) for _ in range(draw(st.integers(0, 1)))]
    rules += [
        draw(_rule("t", ("r", "s", "n", "e"), denied)) for _ in range(draw(st.integers(0, 1)))
    ]
    tables = [f"materialize({name}, infinity, infinity, keys())." for name in "efrsnt"]
    # A relation that nothing derives is still a table; the query gives it its columns.
    queries = [f"Query {name}(@X,Y)." for name in "efrsnt"]
    return "\n".join(("fullyConnected.", *tables, *rules, *queries))


def bursts(most: int = 3) -> st.SearchStrategy[tuple[Burst, ...]]:
    """Insertions and deletions, more of the former; some come before the last are dealt with."""
    node = st.sampled_from(NODES)
    change = st.tuples(st.sampled_from((1, 1, -1)), st.sampled_from(BASE), st.tuples(node, node))
    pause = st.sampled_from((None, 0.0, 0.005, 0.02))
    burst = st.builds(Burst, st.lists(change, max_size=8).map(tuple), pause)
    return st.lists(burst, min_size=1, max_size=most).map(tuple)


def cases(*, recursive: bool, negation: bool = True) -> st.SearchStrategy[Case]:
    """Draw a program and what happens."""
    return st.builds(
        Case,
        programs(recursive=recursive, negation=negation),
        bursts(),
        st.integers(0, 1000),
        st.sampled_from((0, 0, 1, 2)),
        st.sampled_from((0.0, 0.05)),
    )


def consistent(case: Case, settings: Settings, bad: Quality | None = None) -> Network:
    """Let a case happen; at each rest every node must hold its share of the central answer.

    Links that are `bad` lose, repeat or reorder datagrams, below a reliable transport.
    """
    program = parse_ndlog(case.text)
    clock = SimulatedClock()
    placement: Placement = dealt(NODES, case.processors) if case.processors else OneToOne()

    def quality(source: str, target: str) -> Quality:
        if bad is not None:
            return bad
        # Pairs differ in latency and wait at random, so messages of different pairs overtake.
        return Quality(latency=0.002 * (1 + hash_of(source, target) % 7), jitter=case.jitter)

    links = SimulatedTransport(clock, quality, seed=case.seed)
    network = Network(
        program,
        NODES,
        settings=settings,
        clock=clock,
        transport=links if bad is None else ReliableTransport(links, clock),
        placement=placement,
    )
    facts: dict[str, dict[Row, None]] = {name: {} for name in BASE}
    for burst in case.bursts:
        network.update(burst.changes)
        for sign, relation, row in burst.changes:
            if sign > 0:
                facts[relation][row] = None
            else:
                facts[relation].pop(row, None)
        if burst.pause is not None:
            network.run(burst.pause)
        else:
            network.settle(steps=200_000)
            compare(network, central(program, facts), case)
    network.settle(steps=200_000)
    compare(network, central(program, facts), case)
    assert all(node.idle() for node in network)
    return network


def compare(network: Network, expected: dict[str, set[Row]], case: Case) -> None:
    """Check each node against its share of the expected tuples."""
    for relation, plan in network.program.relations.items():
        if relation not in expected or plan.kind not in (Kind.BASE, Kind.VIEW):
            continue
        for node in network:
            at = plan.shape.location
            share = {row for row in expected[relation] if node.home(row[at]) == node.name}
            held = set(node.rows(relation))
            assert held == share, f"{relation} at {node.name} of {case.text}"


def hash_of(*parts: str) -> int:
    """Return a number that is the same in every run."""
    return sum((i + 1) * ord(c) for i, c in enumerate("".join(parts)))
