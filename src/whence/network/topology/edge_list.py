"""Topologies as lines of text: `u v`, `u v weight` (Rocketfuel, SNAP) and DIMACS `a u v weight`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from whence.diagnostics import DataError, Diagnostic, Source, Span
from whence.network.topology.model import DEFAULT_LATENCY, Cost, Link, Topology


def read_edge_list(text: str, name: str = "edges", *, directed: bool = False) -> Topology:
    """Read lines of two names and perhaps a weight.

    `#` and `%` begin comments, and so does `c` in files of DIMACS.
    A pair that comes again, in whichever direction unless directed, counts once with the least
    weight, and links of a node with itself are left out. Weights of a file whose name has
    `latencies` in it are milliseconds of latency too.

    >>> read_edge_list("a b 3\\nb a 2\\nb c").links[0]
    Link(source='a', target='b', cost=2, latency=0.01, bandwidth=None)
    """
    timed = "latencies" in Path(name).name
    nodes: dict[str, None] = {}
    links: dict[tuple[str, str], Link] = {}
    dimacs = text.startswith("p sp ") or "\np sp " in text
    for number, line in enumerate(text.splitlines(), 1):
        words = line.replace(",", " ").split() if "," in line and " " not in line else line.split()
        if not words or words[0][0] in "#%" or (dimacs and words[0] in "cp"):
            continue
        if dimacs:
            words = words[1:] if words[0] == "a" else []
        if not 2 <= len(words) <= 3:
            raise _bad(name, text, number, "a line has two nodes and perhaps a weight")
        source, target = words[0], words[1]
        cost = _weight(words[2]) if len(words) == 3 else 1
        if cost is None:
            raise _bad(name, text, number, f"`{words[2]}` is no positive weight")
        nodes[source] = nodes[target] = None
        if source == target:
            continue
        key = (source, target) if directed or source < target else (target, source)
        if key not in links or cost < links[key].cost:
            first = links.get(key)
            ends = (first.source, first.target) if first else (source, target)
            links[key] = Link(*ends, cost, cost / 1000 if timed else DEFAULT_LATENCY)
    if not links:
        raise DataError(Diagnostic("W1403", f"`{name}` holds no link"))
    return Topology(Path(name).stem, tuple(nodes), tuple(links.values()), directed)


def as_edge_list(topology: Topology) -> Iterator[str]:
    """Yield a line for each link: its ends and its cost."""
    for link in topology.links:
        yield f"{link.source} {link.target} {link.cost}"


def as_facts(topology: Topology, relation: str = "link") -> dict[str, list[tuple[object, ...]]]:
    """Return the rows that programs see: `(source, target, cost)`, in both directions.

    Nodes that are somewhere also give `sensor(node, x, y)`.
    """
    found: dict[str, list[tuple[object, ...]]] = {
        relation: [(arc.source, arc.target, arc.cost) for arc in topology.arcs()]
    }
    if topology.positions:
        places = zip(topology.nodes, topology.positions, strict=True)
        found["sensor"] = [(node, x, y) for node, (x, y) in places]
    return found


def as_ndlog(rows: Iterable[tuple[object, ...]], relation: str) -> Iterator[str]:
    """Yield rows as facts of a program, located at their first column.

    >>> next(as_ndlog([("a", "b", 3)], "link"))
    'link(@"a", "b", 3).'
    """
    for row in rows:
        cells = ", ".join(_cell(value) for value in row)
        yield f"{relation}(@{cells})."


def _cell(value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    return repr(value)


def _weight(word: str) -> Cost | None:
    try:
        value = int(word)
    except ValueError:
        try:
            real = float(word)
        except ValueError:
            return None
        return real if math.isfinite(real) and real > 0 else None
    return value if 0 < value < 1 << 62 else None


def _bad(name: str, text: str, number: int, why: str) -> DataError:
    source = Source(name, text)
    span = Span(number, 1, number, max(2, len(source.line(number)) + 1), source)
    return DataError(Diagnostic("W1403", f"`{name}` is no edge list", span, why))
