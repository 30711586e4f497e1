"""`whence net run`: a program on the nodes of a topology, until it is quiet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whence.app.cli import options
from whence.app.cli.explaining import print_lines
from whence.app.cli.net import options as net
from whence.app.cli.options import Form, parse_duration
from whence.app.cli.outcome import reported
from whence.app.cli.terminal import report
from whence.app.net.needed import check_libraries
from whence.diagnostics import Diagnostic, UsageError

if TYPE_CHECKING:
    from whence.app.net.outcome import Outcome
    from whence.network.rewrite.passes import Options


def run(
    program: Annotated[
        str, typer.Argument(metavar="PROGRAM", help="A file of NDlog, or a protocol by name.")
    ],
    topology: Annotated[
        str,
        typer.Option(
            "--topology",
            metavar="SPEC",
            help="A topology by name, as `ring` or `gnm:links=300`, or a file.",
        ),
    ] = "transit-stub",
    nodes: Annotated[
        int | None, typer.Option("--nodes", metavar="N", min=1, help="How many nodes there are.")
    ] = None,
    processors: Annotated[
        int | None,
        typer.Option("--processors", metavar="N", min=1, help="Processors that share the nodes."),
    ] = None,
    facts: Annotated[
        Path | None,
        typer.Option("--facts", metavar="FILE", help="More facts, written as in a program."),
    ] = None,
    links: net.Links = "link",
    seed: net.Seed = 0,
    until: Annotated[
        float | None,
        typer.Option(
            "--until",
            metavar="TIME",
            parser=parse_duration,
            help="Stop after this time of the network, as 90s; else when it is quiet.",
        ),
    ] = None,
    real: Annotated[
        bool, typer.Option("--real", help="Real time and UDP on loopback, in this process.")
    ] = False,
    processes: Annotated[
        bool, typer.Option("--processes", help="The same with a process for each node.")
    ] = False,
    scheme: net.SchemeName = "auto",
    ship: net.Ship = "auto",
    without: net.Without = None,
    rewrite: net.Rewrite = None,
    latency: Annotated[
        float | None,
        typer.Option(
            "--latency",
            metavar="TIME",
            parser=parse_duration,
            help="Between processors that share nodes, as 1ms; links have their own.",
        ),
    ] = None,
    jitter: Annotated[
        float | None,
        typer.Option(
            "--jitter",
            metavar="TIME",
            parser=parse_duration,
            help="How much longer datagrams may take, at random.",
        ),
    ] = None,
    loss: Annotated[
        float, typer.Option("--loss", metavar="SHARE", help="Share of datagrams that get lost.")
    ] = 0.0,
    show: Annotated[
        list[str] | None,
        typer.Option("--show", metavar="RELATION", help="What to print; else what is queried."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="Rows to print of each relation.")
    ] = 20,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Draw convergence and traffic (.png, .svg)."),
    ] = None,
    format: options.Format = Form.text,
    quiet: options.Quiet = False,
) -> None:
    """Run a program on the nodes of a topology, simulated or over UDP, and print what it finds.

    Example:  whence net run path_vector --topology transit-stub --nodes 50 --plot run.png
    """
    with reported():
        check_libraries()
        from whence.app.cli.net.live import LiveNetwork
        from whence.app.net.asked import (
            chosen_ship,
            one_way,
            read_facts,
            read_program,
            shown_relations,
        )
        from whence.app.net.outcome import draw
        from whence.app.net.run import Wanted, run_network
        from whence.network.simulation import Settings
        from whence.network.topology.catalogue import make
        from whence.network.transport.quality import Quality

        _check(loss, plot, real=real or processes, processors=processors if processes else None)
        asked = read_program(program)
        if not quiet:
            report(asked.warnings)
        made = make(topology, nodes, seed)
        if not quiet:
            report(one_way(made, asked.program, links))
        more = {} if facts is None else read_facts(facts)
        chosen = chosen_passes(without, rewrite)
        if latency is None:
            latency = 0.001 if processors is not None else Quality().latency
        wanted = Wanted(
            asked.path.stem,
            asked.program,
            made,
            Settings(
                scheme=scheme,
                ship=chosen_ship(ship, scheme, asked.program, chosen),
                options=chosen,
                seed=seed,
            ),
            facts=more,
            links=links,
            processors=processors,
            quality=Quality(latency=latency, jitter=jitter or 0.0, loss=loss, fifo=not jitter),
            until=until,
            real=real,
        )
        with LiveNetwork(len(made.nodes), enabled=False if quiet else None) as live:
            if processes:
                from whence.app.net.spread import run_processes

                passed = [f"--without={name}" for name in sorted(without or ())]
                passed += [f"--rewrite={word}" for word in rewrite or ()]
                passed += [f"--scheme={scheme}", f"--ship={ship}", f"--links={links}"]
                outcome = run_processes(asked.path, wanted, show or (), passed, live.on_point)
            else:
                outcome = run_network(
                    wanted, lambda built: shown_relations(built.program, show or ()), live.on_point
                )
        if plot is not None:
            draw(outcome, plot)
        if format is Form.json:
            print_lines([json.dumps(outcome.as_json(), ensure_ascii=False)])
        else:
            print_lines(_text(outcome, limit))


def _check(loss: float, plot: Path | None, *, real: bool, processors: int | None) -> None:
    if not 0 <= loss < 1:
        hint = "a share is 0 or more and below 1"
        raise UsageError(Diagnostic("W1419", f"`--loss {loss:g}` is no share", hint=hint))
    if loss and real:
        message = "real links lose what they lose"
        raise UsageError(Diagnostic("W1419", message, hint="`--loss` is for simulated links"))
    if processors is not None:
        message = "each process is one node"
        raise UsageError(Diagnostic("W1419", message, hint="leave `--processors` out"))
    if plot is not None and plot.suffix not in (".png", ".svg"):
        message = f"`{plot}` is no name of a picture"
        raise UsageError(Diagnostic("W1418", message, hint="it ends with .png or .svg"))


def chosen_passes(without: list[str] | None, rewrite: list[str] | None = None) -> Options:
    """Return the rewrites that run."""
    from whence.network.rewrite.options import parse_options
    from whence.network.rewrite.passes import NAMES

    known = [name for name in NAMES if name != "localize"]
    for name in without or ():
        if name not in known:
            message = f"there is no rewrite `{name}` that could be left out"
            raise UsageError(Diagnostic("W1420", message, hint="one of " + ", ".join(known)))
    chosen = parse_options(rewrite or (), known)
    return replace(chosen, without=chosen.without | frozenset(without or ()))


def _text(outcome: Outcome, limit: int) -> Iterator[str]:
    from whence.explain.text import harmless

    for name, rows in outcome.rows.items():
        yield f"{name}: {len(rows):,} tuples"
        for row in rows[:limit]:
            yield harmless("  " + "  ".join(_cell(value) for value in row))
        if len(rows) > limit:
            yield f"  … and {len(rows) - limit:,} more"
    yield ""
    on = "" if outcome.processors == outcome.nodes else f" on {outcome.processors} processors"
    yield f"{outcome.topology}: {outcome.nodes:,} nodes, {outcome.links:,} links{on}"
    took = f"converged after {outcome.converged:,.3f} s ({outcome.clock})"
    yield f"{took}, {outcome.time:,.3f} s in all"
    per_node = outcome.bytes / 1000 / max(outcome.processors, 1)
    yield f"{outcome.messages:,} messages, {outcome.bytes:,} bytes, {per_node:,.1f} KB per node"
    yield f"{sum(outcome.firings.values()):,} firings of rules in {outcome.wall:,.2f} s"


def _cell(value: object) -> str:
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_cell(item) for item in value) + "]"
    return "true" if value is True else "false" if value is False else str(value)
