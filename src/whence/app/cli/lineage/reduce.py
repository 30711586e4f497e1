"""`whence lineage reduce`: a stream of PROV edges to what outputs depend on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whence.app.cli import options
from whence.app.cli.explaining import print_lines
from whence.app.cli.lineage.working import Working
from whence.app.cli.options import BadRow, Form
from whence.app.cli.outcome import reported
from whence.app.cli.terminal import report
from whence.diagnostics import Diagnostic, UsageError

if TYPE_CHECKING:
    from whence.lineage.log.base import Log
    from whence.lineage.reduce.local_global import Flow


class Mode(StrEnum):
    """How a stream is reduced."""

    exact = "exact"
    grouping = "grouping"
    window = "window"
    ordered = "ordered"


class Strategy(StrEnum):
    """How edges of a file go to partitions."""

    horizontal = "horizontal"
    vertical = "vertical"
    random = "random"


def reduce(
    source: Annotated[
        str, typer.Argument(metavar="FILE|LOG", help="JSON lines of PROV, or a log of edges.")
    ],
    topic: Annotated[
        str | None, typer.Option("--topic", metavar="NAME", help="The topic of the log.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="OUT", help="Write it here: .parquet or .arrow."),
    ] = None,
    mode: Annotated[
        Mode, typer.Option("--mode", help="How; only `exact` is always right.")
    ] = Mode.exact,
    partitions: Annotated[
        int, typer.Option("--partitions", metavar="N", min=1, help="Local reducers of a file.")
    ] = 1,
    strategy: Annotated[
        Strategy, typer.Option("--strategy", help="How edges of a file go to partitions.")
    ] = Strategy.random,
    local_batch: Annotated[
        int, typer.Option("--local-batch", metavar="N", min=1, help="Edges between local flushes.")
    ] = 20_000,
    global_batch: Annotated[
        int, typer.Option("--global-batch", metavar="N", min=1, help="And between global ones.")
    ] = 100_000,
    window: Annotated[
        int, typer.Option("--window", metavar="N", min=1, help="Past edges that `window` keeps.")
    ] = 1000,
    watermark: Annotated[
        float | None,
        typer.Option(
            "--watermark",
            metavar="TIME",
            parser=options.parse_duration,
            help="Forget executions so long after their end; else at the end of the stream.",
        ),
    ] = None,
    flush_time: Annotated[
        float | None,
        typer.Option(
            "--flush-time",
            metavar="TIME",
            parser=options.parse_duration,
            help="A log is over when nothing comes for so long.",
        ),
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            parser=options.parse_size,
            help="State above it is in files.",
        ),
    ] = None,
    attempts: Annotated[
        bool, typer.Option("--attempts", help="Only executions with an end marker count.")
    ] = False,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="TABLE", help="Its rows are inputs, even if generated."),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option("--output", metavar="TABLE", help="Its rows are outputs, even if used."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="DIR", help="Keep state here; go on after a kill."),
    ] = None,
    on_bad_row: options.OnBadRow = BadRow.stop,
    format: options.Format = Form.text,
    quiet: options.Quiet = False,
) -> None:
    """Reduce a stream of PROV edges to which output depends on which input.

    Example:  whence lineage reduce edges.jsonl -o reduced.parquet
    """
    with reported():
        from whence.lineage.reduce.files import FileReduction, check_place, write
        from whence.lineage.reduce.local_global import Settings
        from whence.lineage.reduce.resumed import LogReduction

        settings = Settings(
            mode=mode.value,
            attempts=attempts,
            inputs=tuple(inputs or ()),
            outputs=tuple(outputs or ()),
            local_batch=local_batch,
            global_batch=global_batch,
            watermark=watermark,
            window=window,
            flush_time=flush_time,
            memory=memory,
        )
        check_place(out)
        job: LogReduction | FileReduction
        with Working(enabled=False if quiet else None) as working:

            def progress(flow: Flow) -> None:
                working.say(f"{flow.edges:,} edges in, {flow.global_out:,} links out")

            if Path(source).is_dir() or "://" in source:
                log = _opened(source)
                job = LogReduction(log, topic or _only_topic(log, source), settings)
                if checkpoint is None:
                    batches = job.at_once(progress)
                else:
                    batches = job.in_steps(checkpoint, progress=progress)
            else:
                for option, given in (("--topic", topic), ("--checkpoint", checkpoint)):
                    if given is not None:
                        raise _not_a_log(option, source)
                job = FileReduction(
                    source,
                    settings,
                    partitions=partitions,
                    strategy=strategy.value,
                    on_bad_row=on_bad_row.value,
                )
                batches = job.at_once(progress)
            links = write(batches, out)
        bad = job.reading.bad if isinstance(job, FileReduction) else 0
        if not quiet:
            report(job.diagnostics)
        if format is Form.json:
            told = {"source": source, "mode": mode.value, **job.flow.as_json(), "bad_rows": bad}
            print_lines([json.dumps(told, indent=2, ensure_ascii=False)])
        else:
            print_lines(_as_text(job.flow, links, bad, out))


def _opened(source: str) -> Log:
    from whence.lineage.log import open_log

    return open_log(source)


def _only_topic(log: Log, source: str) -> str:
    topics = log.topics()
    if len(topics) == 1:
        return topics[0]
    told = f"`{source}` has {len(topics)} topics"
    names = ", ".join(f"`{name}`" for name in topics[:8])
    hint = f"give one with `--topic`: {names}" if topics else "is it a log of edges?"
    raise UsageError(Diagnostic("W1131", told, hint=hint))


def _not_a_log(option: str, source: str) -> UsageError:
    told = f"`{option}` is for logs, and `{source}` is none"
    return UsageError(Diagnostic("W1132", told, hint="a log is a folder, or `kafka://HOST:PORT`"))


def _as_text(flow: Flow, links: int, bad: int, out: Path | None) -> Iterator[str]:
    yield f"{flow.edges:,} edges in"
    if flow.flushes:
        yield f"{flow.local_out:,} edges from local reducers, in {flow.flushes:,} flushes"
    share = f", one for {flow.edges / links:.1f} edges" if links else ""
    where = f" in {out}" if out is not None else ""
    yield f"{links:,} links{where}{share}"
    counts = {"came too late": flow.late, "of attempts without an end": flow.uncommitted}
    for what, count in {**counts, "of lines that are wrong": bad}.items():
        if count:
            yield f"left out: {count:,} {what}"
