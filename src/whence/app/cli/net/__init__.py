"""The commands `whence net …`: one module per command, listed here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import typer

from whence.app.cli.net.experiment import experiment
from whence.app.cli.net.node import node
from whence.app.cli.net.run import run

COMMANDS: Final[tuple[Callable[..., None], ...]] = (run, node, experiment)

group = typer.Typer(
    name="net",
    help="NDlog programs as running protocols: simulated, over UDP, or as processes.",
    no_args_is_help=True,
)
for _command in COMMANDS:
    group.command()(_command)
