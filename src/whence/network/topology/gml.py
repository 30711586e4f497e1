"""Topologies in GML, as the Internet Topology Zoo has them.

Latencies follow from distances on the globe at the speed of light in glass, where both ends are
somewhere; of several links between two nodes the quickest counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from whence.diagnostics import DataError, Diagnostic, Source, Span
from whence.network.topology.model import DEFAULT_LATENCY, Link, Topology

METRES_PER_SECOND: Final = 2e8
LEAST_LATENCY: Final = 0.0001
_RADIUS: Final = 6_371_000.0
_DEPTH: Final = 50

_Value: TypeAlias = "int | float | str | _Block"
_Block: TypeAlias = "list[tuple[str, _Value]]"

_TOKEN = re.compile(
    r"""\s+|\#[^\n]*
    |(?P<open>\[)|(?P<close>\])
    |"(?P<text>[^"]*)"
    |(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?=[\s\]\[]|$)
    |(?P<key>[A-Za-z_][\w.-]*)""",
    re.VERBOSE,
)


def read_gml(text: str, name: str = "graph") -> Topology:
    """Read the nodes and edges of a graph in GML."""
    graphs = [v for k, v in _parse(text, name) if k.lower() == "graph" and isinstance(v, list)]
    if not graphs:
        raise _bad(name, text, 0, "no `graph [ … ]`")
    graph = graphs[0]
    directed = ("directed", 1) in graph
    called: dict[object, str] = {}
    places: dict[str, tuple[float, float]] = {}
    blocks = [dict(v) for k, v in graph if k == "node" and isinstance(v, list)]
    labels = [str(block.get("label", block.get("id"))) for block in blocks]
    for block, label in zip(blocks, labels, strict=True):
        if "id" not in block or isinstance(block["id"], list) or block["id"] in called:
            raise _bad(name, text, 0, "nodes need an `id` of their own")
        # Labels are what people know nodes by, but some stand for several nodes.
        unique = label if labels.count(label) == 1 else f"{label}#{block['id']}"
        called[block["id"]] = unique
        lat, lon = block.get("Latitude"), block.get("Longitude")
        if isinstance(lat, int | float) and isinstance(lon, int | float):
            places[unique] = (math.radians(lat), math.radians(lon))
    links: dict[tuple[str, str], Link] = {}
    for edge in (dict(v) for k, v in graph if k == "edge" and isinstance(v, list)):
        ends = [edge.get("source"), edge.get("target")]
        if any(isinstance(end, list) or end not in called for end in ends):
            raise _bad(name, text, 0, f"no nodes `{ends[0]}` and `{ends[1]}` for an edge")
        source, target = called[ends[0]], called[ends[1]]
        if source == target:
            continue
        key = (source, target) if directed or source < target else (target, source)
        link = _link(source, target, places, edge.get("LinkSpeedRaw"))
        if key not in links or (link.bandwidth or 0) > (links[key].bandwidth or 0):
            links[key] = link
    if not links:
        raise _bad(name, text, 0, "no links")
    return Topology(Path(name).stem, tuple(called.values()), tuple(links.values()), directed)


def _link(source: str, target: str, places: dict[str, tuple[float, float]], speed: object) -> Link:
    delay = DEFAULT_LATENCY
    if source in places and target in places:
        delay = max(_globe(places[source], places[target]) / METRES_PER_SECOND, LEAST_LATENCY)
    bandwidth = float(speed) if isinstance(speed, int | float) and speed > 0 else None
    return Link(source, target, max(1, round(delay * 1000)), delay, bandwidth)


def _globe(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return metres between two places in radians, by the haversine formula."""
    up, side = math.sin((a[0] - b[0]) / 2) ** 2, math.sin((a[1] - b[1]) / 2) ** 2
    return 2 * _RADIUS * math.asin(min(1.0, math.sqrt(up + math.cos(a[0]) * math.cos(b[0]) * side)))


def _tokens(text: str, name: str) -> Iterator[tuple[str, str, int]]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise _bad(name, text, at, "neither a key nor a value")
        if found.lastgroup:
            yield found.lastgroup, found.group(found.lastgroup), at
        at = found.end()


def _parse(text: str, name: str) -> _Block:
    stack: list[_Block] = [[]]
    key = ""
    for kind, word, at in _tokens(text, name):
        if kind == "close":
            if key or len(stack) == 1:
                raise _bad(name, text, at, "nothing ends here")
            stack.pop()
        elif not key:
            if kind != "key":
                raise _bad(name, text, at, "a key was expected")
            key = word
            continue
        elif kind == "open":
            block: _Block = []
            stack[-1].append((key, block))
            stack.append(block)
            if len(stack) > _DEPTH:
                raise _bad(name, text, at, "too deep")
        else:
            stack[-1].append((key, _value(kind, word)))
        key = ""
    if key or len(stack) > 1:
        raise _bad(name, text, len(text), "ends too early")
    return stack[0]


def _value(kind: str, word: str) -> int | float | str:
    if kind != "number":
        return word
    if word.lstrip("+-").isdigit() and len(word) < 20:
        return int(word)
    return float(word)


def _bad(name: str, text: str, at: int, why: str) -> DataError:
    number = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    span = Span(number, column, number, column + 1, Source(name, text))
    return DataError(Diagnostic("W1403", f"`{name}` is no graph in GML", span, why))
