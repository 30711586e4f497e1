"""A real node: one processor on a socket that watches its neighbours and does as it is told.

Its links hold while their other ends answer. A neighbour that dies retracts nothing, so what came
over a link must be known to depend on it: by default tuples carry absorption provenance.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from whence.diagnostics import Diagnostic, UsageError, WhenceError
from whence.network.clock import RealClock
from whence.network.dissemination import (
    PROGRAM,
    Announcement,
    Disseminator,
    RidingTransport,
)
from whence.network.model import Control, Gate, Row, Scheme, Value
from whence.network.monitor import Monitor
from whence.network.node import Node
from whence.network.program import node_program
from whence.network.rewrite.passes import Options, prepare
from whence.network.rewrite.share_messages import shared_columns
from whence.network.schemes import SCHEMES, shipper_for
from whence.network.sharing import Delayed, SharedCodec
from whence.network.simulation import gates_of
from whence.network.transport.auth import AuthenticatedTransport
from whence.network.transport.book import Book
from whence.network.transport.reliable import ReliableTransport
from whence.network.transport.udp import UdpTransport, run
from whence.network.transport.wire import WireCodec
from whence.syntax.ndlog import parse_ndlog
from whence.syntax.nodes import Program

_BORN: Final = 1_700_000_000
"""Seconds; variables of provenance are numbered from here, so that no two lives share any."""


class RealNode:
    """One node of a network, in a process of its own or with others."""

    def __init__(
        self,
        name: str,
        book: Book,
        secret: bytes,
        *,
        scheme: str = "auto",
        ship: str = "auto",
        links: str = "link",
        options: Options | None = None,
        seed: int = 0,
        beat: float = 0.5,
        silence: float = 2.5,
        ride: bool = False,
        opened: Mapping[str, socket.socket] | None = None,
    ) -> None:
        """Take who it is, where all are, and the relation that holds its `links`.

        Programs are flooded along links, or `ride` ahead of the first tuples to each peer.
        """
        self.name = name
        self.clock = RealClock()
        self.udp = UdpTransport(book.places, opened)
        self.sealed = AuthenticatedTransport(self.udp, secret, time.time_ns)
        self.transport = ReliableTransport(
            self.sealed,
            self.clock,
            epochs=time.time_ns,
            restarted=self._restarted,
            knows=book.places.__contains__,
        )
        self.stopped = False
        self._relation = links
        self._options = options or Options()
        self._links: dict[str, Row] = {link[1]: link for link in book.links_of(name)}
        self._gates: dict[str, Gate | None] = {}
        made = _scheme(scheme)
        self._riding = RidingTransport(self.transport, WireCodec()) if ride else None
        self._own_columns: dict[str, int] = {}
        shared, shipper = self._options.share, shipper_for(fitting_ship(ship, made))()
        codec = None
        # Whoever looks into messages, to send programs ahead, wants to find tuples there.
        if shared is not None and not ride:
            shipper = shipper or Delayed(shared)
            codec = SharedCodec(WireCodec(made), self._own_columns)
        self.node = Node(
            name,
            self.clock,
            self._riding or self.transport,
            scheme=made,
            shipper=shipper,
            codec=codec,
            gates=self._gates.get,
            peers=[other for other in book.places if other != name],
            seed=seed,
        )
        self.node.host(name)
        self.programs = Disseminator(
            self._tell,
            lambda: list(self._links),
            self._prepare,
            self.node.cancel,
            key=secret,
            flood=not ride,
            now=lambda: time.time_ns() // 1000,
            met=self._met,
        )
        if self._riding is not None:
            self._riding.programs = self.programs
        self.node.controls[PROGRAM] = self.programs.receive
        self.monitor = Monitor(
            self.clock,
            self.transport,
            name,
            self._links,
            self._up,
            self._down,
            beat=beat,
            silence=silence,
        )

    def run(self, stop: Callable[[], bool] | None = None) -> None:
        """Live until told to stop."""
        run(self.clock, self.udp, lambda: self.stopped or (stop is not None and stop()))

    def close(self) -> None:
        """Close the socket and end all activity."""
        self.monitor.stop()
        self.node.stop()
        self.transport.close()

    def do(self, command: Mapping[str, Any]) -> dict[str, object]:
        """Do what a line of JSON asks for; return what there is to say."""
        try:
            return self._do(command)
        except WhenceError as error:
            return {"error": [d.as_json() for d in error.diagnostics]}
        except (KeyError, TypeError, ValueError) as error:
            return {"error": [{"message": f"no such command: {error!r}"}]}

    def _do(self, command: Mapping[str, Any]) -> dict[str, object]:
        match command["do"]:
            case "rows":
                return {"rows": [list(row) for row in self.node.rows(command["relation"])]}
            case "stats":
                return self.stats()
            case "insert":
                self.node.insert(command["relation"], self._checked(command))
            case "delete":
                self.node.delete(command["relation"], self._checked(command))
            case "announce":
                self.programs.announce(command["name"], command["text"])
            case "withdraw":
                self.programs.withdraw(command["name"])
            case "stop":
                self.stopped = True
            case other:
                raise ValueError(other)
        return {}

    def _checked(self, command: Mapping[str, Any]) -> Row:
        """Return the row of a command, which must have room in its relation."""
        row, known = _row(command["row"]), self.node.relations.get(command["relation"])
        if known is None or len(row) != known.arity:
            raise ValueError(f"no relation {command['relation']} of {len(row)} columns")
        return row

    def stats(self) -> dict[str, object]:
        """Return what there is to count."""
        return {
            **self.node.snapshot().as_json(),
            "idle": self.node.idle(),
            "alive": sorted(peer for peer, alive in self.monitor.alive.items() if alive),
            "datagrams": self.udp.counters.as_json(),
            "messages": self.transport.counters.as_json(),
            "strangers": self.udp.strangers,
            "forged": self.sealed.seal.forged,
            "replayed": self.sealed.seal.replayed,
        }

    def _tell(self, target: str, message: Control) -> None:
        self.node.send(target, message)

    def _prepare(self, name: str, text: str) -> Callable[[], None]:
        """Look at a program; return what installs it."""
        return self.prepared(name, parse_ndlog(text, f"{name}.ndlog"))

    def prepared(self, name: str, program: Program) -> Callable[[], None]:
        """Return what installs a program, with the links that are up."""
        made = node_program(prepare(program, self._options), name)
        maker = gates_of(made.source)
        self._own_columns.update(shared_columns(made.source))

        def install() -> None:
            for relation in made.relations:
                self._gates[relation] = maker(relation) if maker is not None else None
            self.node.add(made)
            for peer, alive in self.monitor.alive.items():
                if alive:
                    self._insert(peer)

        return install

    def _insert(self, peer: str) -> None:
        row = self._row(peer)
        if row is not None and row not in self.node.rows(self._relation):
            self.node.insert(self._relation, row)

    def _row(self, peer: str) -> Row | None:
        """Return a link as programs here know links: with its cost or without."""
        known = self.node.relations.get(self._relation)
        if known is None or known.arity not in (2, 3):
            return None
        return self._links[peer][: known.arity]

    def _met(self, source: str, known: Announcement) -> None:
        if self._riding is not None:
            self._riding.heard(source, known)

    def _up(self, peer: str) -> None:
        if self._riding is None:
            self.programs.greet(peer)
        self._insert(peer)

    def _down(self, peer: str) -> None:
        row = self._row(peer)
        if row is not None and row in self.node.rows(self._relation):
            self.node.delete(self._relation, row)

    def _restarted(self, here: str, peer: str) -> None:
        if self._riding is not None:
            self._riding.forget(peer)
        self.monitor.restarted(peer)


def fitting_ship(ship: str, scheme: Scheme) -> str:
    """Return how tuples leave: `auto` is lazy where they have provenance, as more is too much."""
    fits = scheme.annotated and not scheme.retracting
    if ship == "auto":
        return "lazy" if fits else "plain"
    shipper_for(ship)
    if ship != "plain" and not fits:
        message = f"tuples cannot leave `{ship}` with the scheme `{scheme.name}`"
        hint = "use `absorption` or `relative`, or `--ship plain`"
        raise UsageError(Diagnostic("W1425", message, hint=hint))
    return ship


def _scheme(name: str) -> Scheme:
    """Return a scheme whose variables are not those of an earlier life."""
    made = max(0, int((time.time() - _BORN) * 1024))
    if name in ("auto", "absorption"):
        from whence.network.provenance.absorption import Absorption

        return Absorption(made=made)
    if name == "relative":
        from whence.network.provenance.relative import Relative

        return Relative(made=made)
    if name not in SCHEMES:
        hint = "one of " + ", ".join(("auto", *SCHEMES))
        raise UsageError(Diagnostic("W1359", f"there is no scheme `{name}`", hint=hint))
    return SCHEMES[name]()


def _row(values: object) -> Row:
    if not isinstance(values, list):
        raise ValueError("a row is a list")
    return tuple(_value(value) for value in values)


def _value(value: object) -> Value:
    if isinstance(value, list):
        return _row(value)
    if isinstance(value, int | float | str):
        return value
    raise ValueError(f"{value!r} is no value of programs")
