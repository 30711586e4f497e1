"""What the sections found, as tables and bars."""

from __future__ import annotations

from typing import Any, Final

from benchmarks.bars import Bar
from benchmarks.report import Table
from benchmarks.told import Told, at_least, at_most, ms

MEDIAN_MS: Final = 1.5
P99_MS: Final = 15.0
TIMES_RECOMPUTE: Final = 10.0
GROWTH: Final = 1.1
TIMES_PATHWAY: Final = 20.0
AUTO: Final = 1.3

Found = dict[str, Any]


def _wrong(found: Found, what: str) -> tuple[str, ...]:
    return () if found["exact"] else (f"{what} is not what evaluation from nothing gives",)


# ── one edge at a time ──


def closure(found: Found) -> Told:
    """One edge at a time, and a hundred."""
    rows, bars = [], []
    for way, name in (("view", "View.apply"), ("database", "Database")):
        for what in ("deletes", "inserts"):
            times = found[way][what]
            figures = (f"{times[key]:.3f}" for key in ("median", "p99", "max", "mean"))
            rows.append((name, what, *figures, f"{found[way][f'{what}_read']:,}"))
            label = f"closure, one of {times['count']} {what}, {name}"
            bars.append(at_most(f"{label}, median", MEDIAN_MS, times["median"], "ms"))
            bars.append(at_most(f"{label}, 99 %", P99_MS, times["p99"], "ms"))
    headers = ("through", "what", "median ms", "99 % ms", "max ms", "mean ms", "tuples read")
    hundred = found["hundred"]
    for name, who in (("view", "never deleted before"), ("again", "deleted before")):
        for rival, what in (("recompute", "recomputing"), ("evaluate", "evaluating only")):
            label = f"closure, 100 edges {who}, times {what}"
            bars.append(at_least(label, TIMES_RECOMPUTE, hundred[rival] / hundred[name]))
    title = (
        f"Closure of {found['nodes']:,} nodes and {found['edges']:,} edges: {found['tuples']:,} "
        f"pairs, made in {found['made_seconds']:.2f} s"
    )
    others = tuple((name, ms(seconds)) for name, seconds in hundred.items())
    return Told(
        (
            Table(title, headers, tuple(rows), left=2, notes=("the change is read in the time",)),
            Table(
                "A batch of 100 deletes",
                ("by", "ms"),
                others,
                notes=(
                    "view: edges never deleted before; again: edges deleted before",
                    "recompute: the strategy, change and all; evaluate: the engine, from nothing",
                ),
            ),
        ),
        tuple(bars),
        _wrong(found, "the closure"),
    )


def steady(found: Found) -> Told:
    """Memory and time over many updates."""
    names = ("after the warm-up", "in the middle", "at the end")
    times = (found["first"], None, found["last"])
    rows = tuple(
        (name, f"{size / 2**20:.0f}", *_some(time))
        for name, size, time in zip(names, found["bytes"], times, strict=True)
    )
    title = (
        f"{found['updates']:,} alternating updates of {found['tuples']:,} pairs, after "
        f"{found['before']:,} to warm up"
    )
    growth = found["bytes"][-1] / found["bytes"][0]
    return Told(
        (Table(title, ("when", "resident MiB", "median ms", "99 % ms"), rows),),
        (at_most("steady, memory at the end by that at the start", GROWTH, growth, "×"),),
        _wrong(found, "the closure"),
    )


def _some(times: Found | None) -> tuple[str, str]:
    return ("", "") if times is None else (f"{times['median']:.3f}", f"{times['p99']:.3f}")


# ── beside Pathway ──


def pathway(found: Found) -> Told:
    """The same stream through both."""
    delete = found["delete"]["mean"] / 1e3
    deletes = found["deletes"]
    rows = [("Whence", ms(found["load_seconds"]), ms(delete), ms(delete))]
    title = (
        f"Closure of {found['nodes']:,} nodes and {found['edges']:,} edges under "
        f"{deletes:,} deletes, beside Pathway"
    )
    headers = ("system", "load ms", "mean ms per delete, answered", "known beforehand")
    names = (
        "load, times Pathway",
        "one delete, each answered before the next, times Pathway",
        "one delete, Pathway's all known beforehand, times Pathway",
    )
    if "missing" in found:
        notes = (f"Pathway is left out: {found['missing']}",)
        bars = tuple(Bar(n, f"≥ {TIMES_PATHWAY:g} ×", "not measured", None) for n in names)
        return Told((Table(title, headers, tuple(rows), notes=notes),), bars, ())
    other = found["pathway"]
    seconds = tuple(other[f"{key}_seconds"] for key in ("load", "answered", "known"))
    rows.append((f"Pathway {other['version']}", *map(ms, seconds)))
    ratios = (seconds[0] / found["load_seconds"], seconds[1] / delete, seconds[2] / delete)
    rows.append(("times", *(f"{ratio:.1f}" for ratio in ratios)))
    notes = (
        "Pathway: best of one thread and as many as ours; every delete is a commit.",
        "answered: a delete is sent when the one before has been answered, as ours always are;",
        "known beforehand: none waits; the time of the run less that of a run that only loads",
    )
    failures = () if other["same"] else ("Pathway and the view do not change alike",)
    bars = tuple(at_least(n, TIMES_PATHWAY, r) for n, r in zip(names, ratios, strict=True))
    return Told((Table(title, headers, tuple(rows), notes=notes),), bars, failures)


# ── strategies ──


def strategies(found: list[Found]) -> Told:
    """Every cell, and how far `auto` is from the best of the others."""
    rows: list[tuple[str, ...]] = []
    failures: list[str] = []
    worst, where = 0.0, ""
    for graph, name in dict.fromkeys((row["graph"], row["batch"]) for row in found):
        cell = [row for row in found if (row["graph"], row["batch"]) == (graph, name)]
        best = min(row["seconds"] for row in cell if row["strategy"] != "auto")
        for row in cell:
            auto = row["strategy"] == "auto"
            ratio = row["seconds"] / best
            if auto and ratio > worst:
                worst, where = ratio, f"{graph}, {name}"
            keys = ("asked", "removed", "restored", "deleted")
            counts = ("" if row["stopped"] else f"{row[key]:,}" for key in keys)
            strategy = f"auto ({row['chosen']})" if auto else row["strategy"]
            last = f"{ratio:.2f}" if auto else ""
            cost = f"> {ms(row['seconds'])}" if row["stopped"] else ms(row["seconds"])
            rows.append((graph, name, strategy, cost, *counts, last))
            if not row["exact"]:
                failures.append(f"{graph}, {name}, {row['strategy']}: wrong pairs")
    headers = ("graph", "batch", "strategy", "median ms", "asked", "removed", "restored", "gone")
    notes = (
        "each batch is applied and taken back, the strategies in random turns; the median of at",
        "least two times after a first; brief ones right after the same untimed; >: stopped",
    )
    table = Table("Strategies", (*headers, "auto/best"), tuple(rows), left=3, notes=notes)
    bar = Bar("auto by the best strategy, worst cell", f"≤ {AUTO:g} ×", "", worst <= AUTO)
    measured = f"{worst:.2f} × ({where})"
    bars = (Bar(bar.name, bar.needed, measured, bar.met),) if rows else ()
    return Told((table,), bars, tuple(failures))


# ── links ──


def links(found: Found) -> Told:
    """The stream, and the two ways to grow."""
    stream, times = found["stream"], found["stream"]["batch"]
    title = (
        f"{stream['updates']:,} updates in batches of {stream['size']:,} of {stream['links']:,} "
        f"links between {stream['nodes']:,} nodes; {stream['reached']:,} pairs reached"
    )
    low, high = (size / 2**20 for size in stream["bytes"])
    row = (f"{stream['updates_per_second']:,.0f}", f"{times['median']:.3f}", f"{times['p99']:.3f}")
    notes = (
        ()
        if stream["updates"] == stream["asked_for"]
        else (f"stopped early: {stream['asked_for']:,} were to come",)
    )
    headers = ("updates/s", "batch median ms", "99 % ms", "MiB before", "after")
    tables = [Table(title, headers, ((*row, f"{low:.0f}", f"{high:.0f}"),), left=0, notes=notes)]
    for key, first, note in (
        ("touched", "updates a batch", "time grows as touched tuples to the power"),
        (
            "view_size",
            "pairs in the view",
            "time grows as the view, for like changes, to the power",
        ),
    ):
        rows = tuple((f"{a:,}", f"{b:,.0f}", ms(c)) for a, b, c in found[key]["rows"])
        power = found[key]["exponent"]
        tables.append(
            Table(
                f"Cost by {first}, strategy ranked",
                (first, "touched", "median ms"),
                rows,
                left=0,
                notes=(f"{note} {power:.2f}" if power is not None else "too few to tell",),
            )
        )
    return Told(tuple(tables), (), _wrong(stream, "the network"))
