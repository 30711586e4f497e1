"""Edges as documents that others read: PROV-JSON, PROV-N and DOT, for answers of some size."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from whence.lineage.events import EDGES, NO_GROUP, Edge, Kind, edges_of, make_batch
from whence.lineage.formats.importing import unknown_format
from whence.lineage.names import NAMESPACE, PREFIX, print_name
from whence.lineage.reduced import Link
from whence.lineage.statements import ATTEMPT, GROUP, RELATIONS, TIME, WORKER

_BY_KIND: Final = {
    kind: (name, source, target) for name, (kind, source, target) in RELATIONS.items()
}
_SCHEMES: Final = frozenset({"http", "https", "urn", "file", "ftp", "info", "tag"})
_PREFIX: Final = re.compile(r"[A-Za-z]([\w.-]*[\w-])?", re.ASCII)
_ESCAPED: Final = re.compile(r"[='(),:;\[\].-]")
_PLAIN: Final = "/@~&+*?#$!_='(),:;[].-"


def export(
    edges: pa.RecordBatch, form: str, prefixes: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Give the text of a document, in pieces; reduced edges are told as derivations and members.

    `prefixes` says what the prefixes of names mean, where that is known.
    """
    write = EXPORTS.get(form)
    if write is None:
        raise unknown_format(form, EXPORTS)
    batch = edges if edges.schema.equals(EDGES) else of_reduced(edges)
    return write(list(edges_of(batch)), prefixes or {})


def of_reduced(reduced: pa.RecordBatch) -> pa.RecordBatch:
    """Return a reduced graph as edges of which it is the reduction.

    A group is a collection: outputs are derived from it, its members are inputs and other groups.
    """
    told = np.zeros(len(Link), np.uint8)
    told[[Link.PAIR, Link.OUT]] = Kind.DERIVED
    told[[Link.IN, Link.NEST]] = Kind.MEMBER
    columns = {name: reduced.column(name) for name in reduced.schema.names if name != "kind"}
    return make_batch(kind=told[reduced.column("kind").to_numpy()], **columns)


def _prefixes(edges: Iterable[Edge], given: Mapping[str, str]) -> dict[str, str]:
    """Return what prefixes mean: a scheme itself, else what is given, else a place of our own."""
    names = {_name(node) for edge in edges for node in _nodes(edge)}
    found = sorted({name.partition(":")[0] for name in names} - {PREFIX})
    own = {p: f"{p}:" if p in _SCHEMES else f"{NAMESPACE}prefix:{p}:" for p in found}
    return {PREFIX: NAMESPACE, **{p: given.get(p, uri) for p, uri in own.items()}}


def _name(node: tuple[str, int]) -> str:
    """Return the name of a node; one with a prefix that PROV does not allow is in ours."""
    name = print_name(*node)
    prefix = name.partition(":")[0]
    return name if _PREFIX.fullmatch(prefix) else f"{PREFIX}:{quote(name, safe='/')}"


def _nodes(edge: Edge) -> list[tuple[str, int]]:
    return [edge.source] if edge.target is None else [edge.source, edge.target]


def _elements(edges: Iterable[Edge]) -> tuple[dict[str, None], dict[str, None]]:
    """Return the names of entities and of activities, in the order in which they are met."""
    entities: dict[str, None] = {}
    activities: dict[str, None] = {}
    for edge in edges:
        source_is = edge.kind in (Kind.USED, Kind.END)
        (activities if source_is else entities)[_name(edge.source)] = None
        if edge.target is not None:
            target_is = edge.kind is Kind.GENERATED
            (activities if target_is else entities)[_name(edge.target)] = None
    return entities, activities


def _attributes(edge: Edge) -> dict[str, int]:
    if edge.kind is Kind.MEMBER:  # which PROV allows none
        return {}
    found = {GROUP: edge.group, ATTEMPT: edge.attempt, WORKER: edge.worker}
    usual = {GROUP: NO_GROUP, ATTEMPT: -1 if edge.kind is Kind.END else 0, WORKER: 0}
    return {key: value for key, value in found.items() if value != usual[key]}


def _time(edge: Edge) -> str | None:
    if edge.time is None or edge.kind in (Kind.DERIVED, Kind.MEMBER):
        return None
    return edge.time.isoformat().replace("+00:00", "Z")


# ── PROV-JSON ──


def _prov_json(edges: list[Edge], prefixes: Mapping[str, str]) -> Iterator[str]:
    entities, activities = _elements(edges)
    sections: dict[str, dict[str, object]] = {
        "prefix": dict(_prefixes(edges, prefixes)),
        "entity": {name: {} for name in entities},
        "activity": {name: {} for name in activities},
    }
    for number, edge in enumerate(edges, 1):
        name, source, target = _BY_KIND[edge.kind]
        record: dict[str, object] = {source: _name(edge.source)}
        if edge.target is not None and target is not None:
            record[target] = _name(edge.target)
        if (time := _time(edge)) is not None:
            record[TIME] = time
        record.update(_attributes(edge))
        sections.setdefault(name, {})[f"_:{number}"] = record
    found = {name: content for name, content in sections.items() if content}
    yield from json.JSONEncoder(indent=2).iterencode(found)
    yield "\n"


# ── PROV-N ──


def _prov_n(edges: list[Edge], prefixes: Mapping[str, str]) -> Iterator[str]:
    yield "document\n"
    for prefix, uri in _prefixes(edges, prefixes).items():
        yield f"  prefix {prefix} <{quote(uri, safe=_URI)}>\n"
    entities, activities = _elements(edges)
    for kind, names in (("entity", entities), ("activity", activities)):
        for name in names:
            yield f"  {kind}({_qualified(name)})\n"
    for edge in edges:
        yield f"  {_statement(edge)}\n"
    yield "endDocument\n"


_URI: Final = "/:?#[]@!$&'()*+,;=-._~%"


def _statement(edge: Edge) -> str:
    ends = [_qualified(_name(node)) for node in _nodes(edge)]
    if edge.kind in (Kind.USED, Kind.GENERATED):
        ends.append(_time(edge) or "-")
    elif edge.kind is Kind.END:  # no trigger, no ender
        ends += ["-", "-", _time(edge) or "-"]
    attributes = ", ".join(f"{key}={value}" for key, value in _attributes(edge).items())
    more = f", [{attributes}]" if attributes else ""
    return f"{_BY_KIND[edge.kind][0]}({', '.join(ends)}{more})"


def _qualified(name: str) -> str:
    """Return a name by PROV-N's grammar; what that has no sign for is percent-encoded."""
    prefix, _, local = name.partition(":")
    return f"{prefix}:{_ESCAPED.sub(_escape, quote(local, safe=_PLAIN))}"


def _escape(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


# ── DOT ──


def _dot(edges: list[Edge], prefixes: Mapping[str, str]) -> Iterator[str]:
    entities, activities = _elements(edges)
    yield "digraph lineage {\n  rankdir=BT;\n"
    # PROV allows no name to be both, but a file may.
    for name in entities:
        yield f"  {_quoted('e ' + name)} [label={_quoted(name)}, shape=ellipse];\n"
    for name in activities:
        yield f"  {_quoted('a ' + name)} [label={_quoted(name)}, shape=box];\n"
    for edge in edges:
        if edge.target is None:
            continue
        source = ("a " if edge.kind is Kind.USED else "e ") + _name(edge.source)
        target = ("a " if edge.kind is Kind.GENERATED else "e ") + _name(edge.target)
        label = _BY_KIND[edge.kind][0]
        yield f"  {_quoted(source)} -> {_quoted(target)} [label={_quoted(label)}];\n"
    yield "}\n"


def _quoted(text: str) -> str:
    shown = "".join(c if c.isprintable() else "�" for c in text)
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'


EXPORTS: Final[Mapping[str, Callable[[list[Edge], Mapping[str, str]], Iterator[str]]]] = {
    "prov-json": _prov_json,
    "prov-n": _prov_n,
    "dot": _dot,
}
"""The formats that are written."""
