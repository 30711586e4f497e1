"""`whence net node`: one real node, which talks to others over UDP."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whence.app.cli.net import options as net
from whence.app.cli.options import parse_duration
from whence.app.cli.outcome import reported
from whence.app.net.needed import check_libraries
from whence.diagnostics import Diagnostic, UsageError, nearest

if TYPE_CHECKING:
    from whence.network.model import Row
    from whence.network.real import RealNode


def node(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Which node of the address book this is.")
    ],
    book: Annotated[
        Path,
        typer.Option("--book", metavar="FILE", help="The address book: nodes, places and links."),
    ],
    program: Annotated[
        str | None,
        typer.Option(
            "--program", metavar="PROGRAM", help="A file of NDlog or a protocol; else it is told."
        ),
    ] = None,
    secret: Annotated[
        Path | None,
        typer.Option(
            "--secret",
            metavar="FILE",
            help="The network's secret; else it is in WHENCE_NETWORK_SECRET.",
        ),
    ] = None,
    announce: Annotated[
        bool, typer.Option("--announce", help="Tell the program to all other nodes.")
    ] = False,
    ride: Annotated[
        bool,
        typer.Option("--ride", help="Tell programs with the first tuples, not along all links."),
    ] = False,
    links: net.Links = "link",
    scheme: net.SchemeName = "auto",
    ship: net.Ship = "auto",
    without: net.Without = None,
    rewrite: net.Rewrite = None,
    seed: net.Seed = 0,
    silence: Annotated[
        float | None,
        typer.Option(
            "--silence",
            metavar="TIME",
            parser=parse_duration,
            help="After this time without a word a neighbour is dead; 2.5s if not given.",
        ),
    ] = None,
    commands: Annotated[
        bool,
        typer.Option("--commands", help="Take commands on stdin as lines of JSON, and answer."),
    ] = False,
    opened: Annotated[
        int | None,
        typer.Option("--socket", metavar="FD", help="Use this socket, opened by the parent."),
    ] = None,
) -> None:
    """Start one node of a network; it runs until it is interrupted and prints what it finds.

    Example:  whence net node a --book book.json --program path_vector --secret secret.txt
    """
    with reported():
        check_libraries()
        import socket

        from whence.app.cli.net.run import chosen_passes
        from whence.network.real import RealNode
        from whence.network.transport.book import read_book, read_secret

        places = read_book(book)
        if name not in places.places:
            near = nearest(name, places.places)
            hint = f"did you mean `{near}`?" if near else ""
            message = f"`{book}` has no node `{name}`"
            raise UsageError(Diagnostic("W1422", message, hint=hint))
        patience = 2.5 if silence is None else max(silence, 0.05)
        given = None if opened is None else {name: socket.socket(fileno=opened)}
        here = RealNode(
            name,
            places,
            read_secret(secret),
            scheme=scheme,
            ship=ship,
            links=links,
            options=chosen_passes(without, rewrite),
            seed=seed,
            beat=patience / 5,
            silence=patience,
            ride=ride,
            opened=given,
        )
        try:
            if program is not None:
                _install(here, program, announce=announce, told=None if commands else _print)
            if commands:
                _listen(here)
            else:
                host, port = here.udp.book[name]
                print(f"{name} is at {host}:{port}", file=sys.stderr)
            here.run()
        finally:
            here.close()


def _install(
    here: RealNode, program: str, *, announce: bool, told: Callable[[int, str, Row], None] | None
) -> None:
    from whence.app.net.asked import read_program, shown_relations

    asked = read_program(program)
    name = asked.path.stem
    if announce:
        here.programs.announce(name, str(asked.program))
    else:
        here.prepared(name, asked.program)()
    if told is not None:
        for relation in shown_relations(here.node.installed.programs[name], ()):
            here.node.relations[relation].watchers.append(told)


def _print(sign: int, relation: str, row: Row) -> None:
    cells = ", ".join(json.dumps(value, ensure_ascii=False) for value in row)
    print(f"{'+' if sign > 0 else '-'}{relation}({cells}).", flush=True)


def _listen(here: RealNode) -> None:
    """Do what lines on stdin say; their end is the end of the node."""
    stdin = sys.stdin.buffer
    unread = b""

    def read() -> None:
        nonlocal unread
        part = os.read(stdin.fileno(), 1 << 16)
        unread += part
        *lines, unread = unread.split(b"\n")
        for line in lines:
            print(json.dumps(here.do(_command(line))), flush=True)
        if not part:
            here.stopped = True

    here.udp.watch(stdin, read)


def _command(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"do": ""}
