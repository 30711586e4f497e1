"""What was measured as tables: aligned text, or drawn by rich on a terminal; and as JSON."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version

from benchmarks.bars import Bar
from benchmarks.comparison import Result
from benchmarks.sizes import Growth
from benchmarks.startup import RULES, Startup


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a title; the first `left` columns are words, the others figures."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1
    notes: tuple[str, ...] = ()


def show(table: Table) -> None:
    """Print a table."""
    print()
    text = plain(table)
    # A box that does not fit would be squeezed until its figures are cut off.
    width = max(map(len, text.splitlines())) + len(table.headers) + 2
    if sys.stdout.isatty() and width <= shutil.get_terminal_size().columns:
        _show_rich(table)
    else:
        print(text, flush=True)


def plain(table: Table) -> str:
    """Return a table as aligned text."""
    lines = [table.headers, *table.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if i < table.left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(padded).rstrip()

    body = [line(table.headers), "  ".join("-" * width for width in widths)]
    return "\n".join([table.title, "", *body, *map(line, table.rows), *table.notes])


def _show_rich(table: Table) -> None:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(title=table.title, title_justify="left")
    for i, header in enumerate(table.headers):
        drawn.add_column(header, justify="left" if i < table.left else "right")
    for row in table.rows:
        missed = any("NOT" in cell for cell in row)
        drawn.add_row(*map(Text, row), style="red" if missed else None)
    console = Console()
    console.print(drawn)
    for note in table.notes:
        console.print(Text(note))


PACKAGES = ("whence", "numba", "numpy", "duckdb")


def machine(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Return where this was measured."""
    found = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(os.cpu_count()),
    }
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _millions(count: float) -> str:
    return f"{count / 1e6:.2f}"


def case_table(results: Sequence[Result]) -> Table:
    """Return what each workload cost, beside the others."""
    souffle = any(result.souffle for result in results)
    headers = ["case", "nodes", "tuples", "command s", "load s", "prepare s"]
    headers += ["evaluate s", "write s", "Mtuples/s", "peak MiB", "bytes/tuple", "DuckDB s"]
    headers += ["× DuckDB"]
    headers += ["Soufflé s", "× Soufflé"] if souffle else []
    rows: list[tuple[str, ...]] = []
    for result in results:
        row = [result.case, result.spelling, *_whence_cells(result)]
        row += [_seconds(result.duckdb.seconds if result.duckdb else None)]
        row += [_times(result.times_duckdb)]
        if souffle:
            row += [_seconds(result.souffle.seconds if result.souffle else None)]
            row += [_times(result.times_souffle)]
        rows.append(tuple(row))
    notes = [f"FAILED: {r.case} {r.spelling}: {why}" for r in results for why in r.failures]
    if results and (idle := results[0].idle):
        loaded, bare = idle.loaded_bytes / 2**20, idle.bare_bytes / 2**20
        notes.append("prepare: loading Numba and the machine code of the kernels from its cache")
        notes.append(
            f"bytes/tuple: peak memory above the idle command, {loaded:.0f} MiB with its kernels "
            f"loaded ({bare:.0f} MiB before)"
        )
    return Table("Cases", tuple(headers), tuple(rows), left=2, notes=tuple(notes))


def _whence_cells(result: Result) -> list[str]:
    cost = result.whence
    if cost is None:
        return ["failed", *[""] * 8]
    weight = result.bytes_per_tuple
    return [
        f"{cost.tuples:,}",
        _seconds(cost.wall_seconds),
        _seconds(cost.load_seconds),
        _seconds(cost.prepare_seconds),
        _seconds(cost.evaluate_seconds),
        _seconds(cost.write_seconds),
        _millions(cost.tuples_per_second),
        f"{cost.peak_bytes / 2**20:.0f}",
        "" if weight is None else f"{weight:.1f}",
    ]


def growth_table(growths: Iterable[Growth]) -> Table:
    """Return the cost at each size; the exponent stands in the last row of its case."""
    headers = ("case", "size", "tuples", "evaluate s", "Mtuples/s", "peak MiB", "exponent")
    rows: list[tuple[str, ...]] = []
    notes: list[str] = []
    for growth in growths:
        for size, cost in zip(growth.sizes, growth.costs, strict=False):
            figures = (_seconds(cost.evaluate_seconds), _millions(cost.tuples_per_second))
            peak = f"{cost.peak_bytes / 2**20:.0f}"
            last = size == growth.sizes[-1]
            exponent = _times(growth.exponent) if last else ""
            rows.append((growth.case, f"{size:,}", f"{cost.tuples:,}", *figures, peak, exponent))
        notes += [f"FAILED: {growth.case}: {why}" for why in growth.failures]
    notes.append("exponent: evaluation time grows as tuples to this power")
    return Table("Cost at three sizes", headers, tuple(rows), notes=tuple(notes))


def startup_table(startup: Startup) -> Table:
    """Return the times to the first answer."""
    rows = (
        ("the example, empty kernel cache", startup.cold),
        ("the example, warm", startup.warm),
        ("a closure that needs kernels, empty cache", startup.kernels_cold),
        ("a closure that needs kernels, warm", startup.kernels_warm),
        (f"{RULES:,} rules: parse", startup.parse),
        (f"{RULES:,} rules: check, rewrite, plan", startup.compile),
        (f"{RULES:,} rules: the command `whence plan`", startup.plan_command),
    )
    cells = tuple((name, f"{seconds:.2f}") for name, seconds in rows)
    return Table("Start-up", ("what", "seconds"), cells)


VERDICTS = {True: "met", False: "NOT met", None: "not judged"}


def bar_table(bars: Sequence[Bar], clock: float | None, *, quick: bool) -> Table:
    """Return the bars with their verdicts."""
    judged = [bar.met for bar in bars]
    rows = tuple((bar.name, bar.needed, bar.measured, VERDICTS[bar.met]) for bar in bars)
    counts = f"{judged.count(True)} met, {judged.count(False)} NOT met"
    notes = [f"{counts}, {judged.count(None)} not judged"]
    if quick:
        notes.append("quick: sizes too small to judge by")
    if clock is not None:
        notes.append(f"DuckDB needs {clock:.3f} s for tc_random dense here; Soufflé's 1.03 s clock")
    return Table("Bars", ("bar", "needed", "measured", "verdict"), rows, notes=tuple(notes))


def as_json(
    results: Sequence[Result],
    growths: Sequence[Growth],
    startup: Startup | None,
    bars: Sequence[Bar],
    clock: float | None,
) -> dict[str, object]:
    """Return everything that was measured."""
    cases = [
        {
            **asdict(result),
            "bytes_per_tuple": result.bytes_per_tuple,
            "times_duckdb": result.times_duckdb,
            "times_souffle": result.times_souffle,
        }
        for result in results
    ]
    return {
        "machine": machine(),
        "clock_seconds": clock,
        "cases": cases,
        "sizes": [asdict(growth) for growth in growths],
        "startup": asdict(startup) if startup else None,
        "bars": [asdict(bar) for bar in bars],
    }
