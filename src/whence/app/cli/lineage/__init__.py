"""The commands `whence lineage …`, listed here: one module each, and one for both directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import typer

from whence.app.cli.lineage.compact import compact
from whence.app.cli.lineage.delete import delete
from whence.app.cli.lineage.demo import demo
from whence.app.cli.lineage.directions import backward, forward
from whence.app.cli.lineage.export import export
from whence.app.cli.lineage.import_ import import_
from whence.app.cli.lineage.reduce import reduce
from whence.app.cli.lineage.stats import stats

COMMANDS: Final[tuple[Callable[..., None], ...]] = (
    demo,
    reduce,
    backward,
    forward,
    import_,
    export,
    delete,
    compact,
    stats,
)

group = typer.Typer(
    name="lineage",
    help="Which inputs an output came from, and what an input touched: lineage of jobs.",
    no_args_is_help=True,
)
for _command in COMMANDS:
    # `import` is a word of Python's, so its function is `import_`.
    group.command(_command.__name__.rstrip("_"))(_command)
