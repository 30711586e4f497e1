"""`whence lineage forward`: which outputs rows touched."""

from __future__ import annotations

from whence.app.cli import options
from whence.app.cli.lineage import asking
from whence.app.cli.lineage.asking import AnswerForm
from whence.app.cli.outcome import reported


def forward(
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
    """Print what rows touched: the outputs that depend on them, through all jobs.

    Example:  whence lineage forward lineage --table tweets --data tweets.csv --where "id < 9"
    """
    with reported():
        found, answer = asking.ask(
            repository,
            names,
            table,
            data,
            where,
            id,
            backward=False,
            job=job,
            workflow=workflow,
            since=since,
            until=until,
            quiet=quiet,
        )
        asking.show(found, answer, format, everything=everything, limit=limit)
