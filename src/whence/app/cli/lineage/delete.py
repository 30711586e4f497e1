"""`whence lineage delete`: rows and all that is derived from them, listed and then deleted."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from whence.app.cli.explaining import print_lines
from whence.app.cli.lineage import asking
from whence.app.cli.lineage.working import Working, remark
from whence.app.cli.options import Form, Format
from whence.app.cli.outcome import reported


def delete(
    repository: asking.Place,
    names: asking.Names = None,
    table: asking.Table = None,
    data: asking.Data = None,
    where: asking.Where = None,
    id: asking.IdColumn = None,
    only: Annotated[
        bool, typer.Option("--only", help="These rows alone, not what is derived from them.")
    ] = False,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept with what is deleted.")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it, only list.")] = False,
    limit: asking.Limit = None,
    format: Format = Form.text,
) -> None:
    """List rows and everything derived from them, and with --yes delete them from the repository.

    Example:  whence lineage delete lineage --table customers --data customers.csv --where "id = 7"
    """
    with reported():
        from whence.lineage.repository.entities import NONE
        from whence.lineage.repository.repository import Repository

        kept = Repository(repository, create=False)
        with Working() as working:
            working.say("looking for what is derived")
            asked = asking.asked_for(kept, names, table, data, where, id)
            if yes:
                gone = kept.delete(asked, derived=not only, reason=reason)
            else:
                derived = NONE if only else kept.forward(asked).entities
                gone = asked.join(derived).minus(kept.deleted())
        if format is Form.json:
            tables = [
                {"table": space, "count": len(numbers), "rows": numbers[:limit].tolist()}
                for space, numbers in gone.by_space.items()
            ]
            shown = {"deleted": yes, "count": len(gone), "tables": tables}
            print_lines([json.dumps(shown, ensure_ascii=False)])
            return
        print_lines(asking.as_text(gone, asking.SHOWN if limit is None else limit))
        if not yes and len(gone):
            remark("nothing is deleted yet: `--yes` does it")
