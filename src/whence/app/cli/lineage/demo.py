"""`whence lineage demo`: hashtags of generated tweets counted by two traced jobs, and asked for."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whence.app.cli import options
from whence.app.cli.explaining import print_lines
from whence.app.cli.lineage.asking import as_json, as_text
from whence.app.cli.lineage.working import Working
from whence.app.cli.options import Form
from whence.app.cli.outcome import reported
from whence.diagnostics import Diagnostic, UsageError

if TYPE_CHECKING:
    from whence.lineage.demo import Shown


def demo(
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", min=1, help="Tweets to be generated.")
    ] = 10_000,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="DIR", help="Keep everything in this new folder."),
    ] = None,
    rdds: Annotated[bool, typer.Option("--rdds", help="Run the jobs with RDDs.")] = False,
    sample: Annotated[
        float, typer.Option("--sample", metavar="SHARE", help="Share of input rows to follow.")
    ] = 1.0,
    format: options.Format = Form.text,
    quiet: options.Quiet = False,
) -> None:
    """Trace two PySpark jobs that count hashtags and categories, and ask where totals come from.

    Example:  whence lineage demo --rows 100000 --out demo
    """
    with reported(), tempfile.TemporaryDirectory(prefix="whence-demo-") as temporary:
        from whence.engine.spark.session import session
        from whence.lineage.demo import show

        if out is not None and out.exists():
            message = f"`{out}` is there already"
            hint = "give a folder that is not there yet"
            raise UsageError(Diagnostic("W1181", message, hint=hint))
        folder = Path(temporary) / "demo" if out is None else out.absolute()
        with Working(enabled=False if quiet else None) as working:
            working.say("starting Spark")
            spark = session()
            try:
                found = show(spark, folder, rows, rdds=rdds, sample=sample, say=working.say)
            finally:
                spark.stop()
        if format is Form.json:
            print_lines([json.dumps(_json(found), ensure_ascii=False)])
        else:
            print_lines(_text(found, None if out is None else out))


def _json(found: Shown) -> dict[str, object]:
    return {
        "tweets": found.tweets,
        "edges": found.edges,
        "reduced": found.reduced,
        "backward": as_json(found.backward, found.backward.ends, 20),
        "forward": as_json(found.forward, found.forward.ends, 20),
    }


def _text(found: Shown, out: Path | None) -> list[str]:
    asked = found.backward.asked.names()[0]
    back = found.forward.asked.names()[0]
    lines = [
        f"{found.tweets:,} tweets: {found.edges:,} edges captured, {found.reduced:,} reduced",
        "",
        f"backward from {asked}, {found.total}:",
        *as_text(found.backward.ends, 3),
        "",
        f"forward from {back}:",
        *as_text(found.forward.ends, 3),
    ]
    if out is not None:
        lines += ["", f"ask for more: whence lineage backward {out}/repository {asked}"]
    return lines
