"""Options that the commands of networks share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

SchemeName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--scheme",
        metavar="NAME",
        help="How tuples are kept exact: auto, counting, dred, absorption or relative.",
    ),
]
Ship: TypeAlias = Annotated[
    str,
    typer.Option(
        "--ship", metavar="NAME", help="How derived tuples leave: auto, plain, eager or lazy."
    ),
]
Links: TypeAlias = Annotated[
    str,
    typer.Option(
        "--links", metavar="RELATION", help="The relation that gets the links of the topology."
    ),
]
Without: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="PASS", help="Leave out a rewrite; may be repeated."),
]
Rewrite: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--rewrite", metavar="WHAT", help="How it is rewritten, as period=0.5; may be repeated."
    ),
]
Seed: TypeAlias = Annotated[
    int, typer.Option("--seed", metavar="N", help="Decides everything that chance decides.")
]
