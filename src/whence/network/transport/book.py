"""What real nodes share: an address book (who is where, which links there are) and a secret."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from whence.diagnostics import DataError, Diagnostic, UsageError
from whence.network.topology.model import Topology
from whence.network.transport.auth import LEAST_SECRET
from whence.network.transport.udp import Place

SECRET_VARIABLE: Final = "WHENCE_NETWORK_SECRET"

LinkRow = tuple[str, str, int | float]


@dataclass(frozen=True, slots=True)
class Book:
    """Places of nodes by name, and links `(source, target, cost)` in the directions they lead."""

    places: Mapping[str, Place]
    links: tuple[LinkRow, ...] = ()

    def links_of(self, node: str) -> list[LinkRow]:
        """Return the links that leave a node."""
        return [link for link in self.links if link[0] == node]

    def as_json(self) -> dict[str, object]:
        """Return the book as its file has it."""
        return {
            "nodes": {name: f"{host}:{port}" for name, (host, port) in self.places.items()},
            "links": [list(link) for link in self.links],
        }


def book_of(topology: Topology, places: Mapping[str, Place]) -> Book:
    """Return the book of a topology whose nodes are at these places."""
    return Book(places, tuple((arc.source, arc.target, arc.cost) for arc in topology.arcs()))


def write_book(book: Book, path: Path) -> None:
    """Write a book as JSON."""
    path.write_text(json.dumps(book.as_json(), indent=1), encoding="utf-8")


def read_book(path: Path) -> Book:
    """Read a book: `{"nodes": {"a": "127.0.0.1:4001"}, "links": [["a", "b", 1]]}`."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise _bad(path, f"it is no JSON ({str(error)[:80]})") from None
    match data:
        case {"nodes": dict(nodes), **rest} if nodes and rest.keys() <= {"links"}:
            links = rest.get("links", [])
        case _:
            raise _bad(path, "it has no `nodes`, or something besides `nodes` and `links`")
    places = {name: _place(path, name, where) for name, where in nodes.items()}
    if len(set(places.values())) < len(places):
        raise _bad(path, "two nodes have one place")
    if not isinstance(links, list):
        raise _bad(path, "`links` is no list")
    return Book(places, tuple(_link(path, link, places) for link in links))


def _place(path: Path, name: str, where: object) -> Place:
    if isinstance(where, str):
        host, colon, port = where.rpartition(":")
        if host and colon and port.isascii() and port.isdigit() and 0 < int(port) < 65536:
            return host, int(port)
    raise _bad(path, f"`{name}` has no place such as 127.0.0.1:4001")


def _link(path: Path, link: object, places: Mapping[str, Place]) -> LinkRow:
    match link:
        case [str(source), str(target), int() | float() as cost] if {source, target} <= set(places):
            return source, target, cost
        case _:
            raise _bad(path, f"`{json.dumps(link)[:80]}` is no link [from, to, cost] of nodes")


def read_secret(path: Path | None) -> bytes:
    """Return the network's secret: from a file, or else from the environment, never an argument."""
    if path is not None:
        secret = path.read_bytes().strip()
        where = f"`{path}`"
    else:
        secret = os.environ.get(SECRET_VARIABLE, "").encode("utf-8", "surrogateescape")
        where = f"${SECRET_VARIABLE}"
    if len(secret) < LEAST_SECRET:
        what = "is too short" if secret else "is missing"
        raise UsageError(
            Diagnostic(
                "W1412",
                f"the secret of the network {what}: {where}",
                hint=f"give a file of {LEAST_SECRET} bytes or more with `--secret`, "
                f"or set {SECRET_VARIABLE}",
            )
        )
    return secret


def _bad(path: Path, why: str) -> DataError:
    return DataError(Diagnostic("W1411", f"`{path}` is no address book: {why}"))
