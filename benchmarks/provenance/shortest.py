"""Programs of shortest paths, their inputs and their answers as matrices, beside SciPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from benchmarks.provenance.networks import Arc, Network, road_like
from whence import session
from whence.engine.base import Evaluation
from whence.view.base import View

Matrix: TypeAlias = NDArray[np.float64]

EDGE: Final = ".decl edge(s: number, t: number, @prov: tropical)\n"

PATH: Final = (
    EDGE
    + """
.decl path(s: number, t: number, @prov: tropical)
path(x, y) :- edge(x, y).
path(x, y) :- path(x, z), edge(z, y).
"""
)
"""Left-linear: a search from each node."""

DOUBLED: Final = (
    EDGE
    + """
.decl path(s: number, t: number, @prov: tropical)
path(x, y) :- edge(x, y).
path(x, y) :- path(x, z), path(z, y).
"""
)
"""Two recursive premises, which a chain allows to be made one."""

PARITY: Final = (
    EDGE
    + """
.decl odd(s: number, t: number, @prov: tropical)
.decl even(s: number, t: number, @prov: tropical)
odd(x, y) :- edge(x, y).
odd(x, y) :- even(x, z), edge(z, y).
even(x, y) :- odd(x, z), edge(z, y).
"""
)
"""Two relations of one recursion: ways of odd and of even length."""

HALVES: Final = (
    EDGE
    + """
.decl odd(s: number, t: number, @prov: tropical)
.decl even(s: number, t: number, @prov: tropical)
odd(x, y) :- edge(x, y).
odd(x, y) :- odd(x, z), even(z, y).
even(x, y) :- odd(x, z), odd(z, y).
"""
)
"""The same from two parts each: as many derivations as nodes to the power three."""


def table(arcs: Sequence[Arc]) -> pa.Table:
    """Return arcs as facts with their annotation."""
    rows = np.array(arcs, dtype=np.int64).reshape(-1, 3)
    columns = [np.ascontiguousarray(rows[:, i]) for i in range(2)]
    return pa.table([*columns, rows[:, 2].astype(np.float64)], names=["s", "t", "@prov"])


def compiled(text: str) -> session.Compiled:
    """Return a program with all its relations, in the semiring it names; edges alone are given."""
    return session.compile(session.parse(text), keep_all=True, inputs=("edge",))


def matrix(found: Evaluation | View, relation: str, nodes: int) -> Matrix:
    """Return annotations by row and column; where there is no tuple, infinity."""
    columns = found.table(relation).columns
    s, t, value = (column.to_numpy() for column in columns)
    filled = np.full((nodes, nodes), np.inf)
    filled[s, t] = value
    assert np.isfinite(filled).sum() == s.shape[0], "two tuples are the same pair"
    return filled


def graph(network: Network) -> csr_array:
    """Return a network as SciPy takes it, of parallel arcs the shortest."""
    best: dict[tuple[int, int], int] = {}
    for x, y, weight in network.arcs:
        best[x, y] = min(weight, best.get((x, y), weight))
    pairs = np.array(list(best), dtype=np.int32)
    weights = np.array(list(best.values()), dtype=np.float64)
    return csr_array((weights, (pairs[:, 0], pairs[:, 1])), shape=(network.nodes,) * 2)


def by_parity(network: Network) -> Network:
    """Return two copies of the nodes; every arc leads from one copy to the other."""
    n = network.nodes
    there = [(x, y + n, weight) for x, y, weight in network.arcs]
    back = [(x + n, y, weight) for x, y, weight in network.arcs]
    return Network(network.name, 2 * n, there + back)


def same_off_diagonal(a: Matrix, b: Matrix) -> bool:
    """Whether two matrices agree; the diagonal is the shortest cycle to one, 0 to the other."""
    apart = ~np.eye(a.shape[0], dtype=bool)
    return bool(np.array_equal(a[apart], b[apart]))


def right_paths(found: Evaluation | View, network: Network) -> bool:
    """Whether `path` is what SciPy says."""
    ours = matrix(found, "path", network.nodes)
    return same_off_diagonal(ours, dijkstra(graph(network)))


def right_parity(found: Evaluation, network: Network) -> bool:
    """Whether `odd` and `even` are what SciPy says."""
    n = network.nodes
    doubled = dijkstra(graph(by_parity(network)), indices=range(n))
    odd, even = (matrix(found, name, n) for name in ("odd", "even"))
    return bool(np.array_equal(odd, doubled[:, n:])) and same_off_diagonal(even, doubled[:, :n])


@dataclass(frozen=True, slots=True)
class General:
    """A program that is no linear closure, how large a network it gets, and its judge."""

    name: str
    text: str
    nodes: int
    right: Callable[[Evaluation, Network], bool]


GENERAL: Final = (
    General("path of two paths", DOUBLED, 1000, right_paths),
    General("odd and even, step by step", PARITY, 1000, right_parity),
    General("odd and even, of two parts", HALVES, 200, right_parity),
)


def warm_up(threads: int) -> None:
    """Load the machine code of kernels, which belongs to no measurement."""
    network = road_like(100)
    for text in (PATH, *(program.text for program in GENERAL)):
        session.evaluate(compiled(text), {"edge": table(network.arcs)}, threads=threads)
    dijkstra(graph(network))
