"""`whence lineage backward` and `forward`: which inputs rows came from, what they touched."""

from __future__ import annotations

from collections.abc import Callable

from whence.app.cli import options
from whence.app.cli.lineage import asking
from whence.app.cli.lineage.asking import AnswerForm
from whence.app.cli.outcome import reported


def _command(name: str, help: str, *, is_backward: bool) -> Callable[..., None]:
    """Return the command that asks in one direction; both take the same options."""

    def ask(
        repository: asking.Place,
        names: asking.Names = None,
        table: asking.Table = None,
        data: asking.Data = None,
        where: asking.Where = None,
        id: asking.IdColumn = None,
        job: asking.Job = None,
        workflow: asking.Workflow = None,
        since: asking.Since = None,
        until: asking.Until = None,
        everything: asking.Everything = False,
        limit: asking.Limit = None,
        format: asking.Form = AnswerForm.text,
        quiet: options.Quiet = False,
    ) -> None:
        with reported():
            found, answer = asking.ask(
                repository,
                names,
                table,
                data,
                where,
                id,
                backward=is_backward,
                job=job,
                workflow=workflow,
                since=since,
                until=until,
                quiet=quiet,
            )
            asking.show(found, answer, format, everything=everything, limit=limit)

    ask.__name__, ask.__doc__ = name, help
    return ask


backward = _command(
    "backward",
    """Print what rows came from: the inputs they depend on, through all jobs.

    Example:  whence lineage backward lineage categories/3
    """,
    is_backward=True,
)
forward = _command(
    "forward",
    """Print what rows touched: the outputs that depend on them, through all jobs.

    Example:  whence lineage forward lineage --table tweets --data tweets.csv --where "id < 9"
    """,
    is_backward=False,
)
