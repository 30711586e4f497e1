"""What the sections found, as tables and bars."""

from __future__ import annotations

from typing import Any, Final

from benchmarks.report import Table
from benchmarks.told import Told, at_least, at_most, ms

TIMES_SCIPY: Final = 2.5
TIMES_PLAIN: Final = 2.0
TIMES_RECOMPUTE: Final = 100.0
KEPT_TIME: Final = 1.2
KEPT_MEMORY: Final = 1.3
WHY_MS: Final = 5.0

Found = dict[str, Any]


def _seconds(value: float) -> str:
    return f"{value:.3f}"


def _power(value: float | None, of: str) -> str:
    return "too few to tell" if value is None else f"time grows as {of} to the power {value:.2f}"


# ── shortest ways ──


def roads(found: Found) -> Told:
    """All pairs beside SciPy, at three sizes, and other programs."""
    full, sizes, general = found["all_pairs"], found["sizes"], found["general"]
    threads = full["threads"]
    counted = f"{threads} threads" if threads > 1 else "1 thread"
    headers = ("network", "nodes", "arcs", "tuples", f"{counted} s", "1 thread s", "SciPy s")
    ratios = (f"{counted} / SciPy", "1 thread / SciPy")
    beside = tuple(_beside(row) for row in (full, *sizes["rows"]))
    bars = tuple(
        at_most(f"all pairs of {full['network']}, {name}, by SciPy's time", TIMES_SCIPY, ratio, "×")
        for name, ratio in zip((counted, "1 thread"), _ratios(full), strict=True)
    )
    others = tuple(
        (
            row["program"],
            f"{row['nodes']:,}",
            f"{row['arcs']:,}",
            f"{row['tuples']:,}",
            _seconds(row["seconds"]),
        )
        for row in general
    )
    wrong = [
        f"{r['network']}, {r['nodes']} nodes" for r in (full, *sizes["rows"]) if not r["exact"]
    ]
    wrong += [row["program"] for row in general if not row["exact"]]
    return Told(
        (
            Table(
                "All pairs' shortest ways, tropical, beside SciPy's Dijkstra",
                (*headers, *ratios),
                beside,
                notes=(
                    "in turns in one process; the best of several runs",
                    f"of the roads made up: {_power(sizes['exponent'], 'tuples')}",
                ),
            ),
            Table(
                "Other programs over roads made up, tropical",
                ("program", "nodes", "arcs", "tuples", "seconds"),
                others,
                notes=("the best of several runs; answers are compared with SciPy's",),
            ),
        ),
        bars,
        tuple(f"{name}: not the shortest ways that SciPy finds" for name in wrong),
    )


def _ratios(row: Found) -> tuple[float, float]:
    seconds = row["seconds"]
    return seconds["threads"] / seconds["scipy"], seconds["one"] / seconds["scipy"]


def _beside(row: Found) -> tuple[str, ...]:
    counts = (f"{row[key]:,}" for key in ("nodes", "arcs", "tuples"))
    seconds = (_seconds(row["seconds"][key]) for key in ("threads", "one", "scipy"))
    return (row["network"], *counts, *seconds, *(f"{ratio:.2f}" for ratio in _ratios(row)))


# ── patterns ──


def patterns(found: list[Found]) -> Told:
    """Each pattern at each size, plain and annotated."""
    rows, bars = [], []
    for row in found:
        plain, tropical = (row["seconds"][key] for key in ("plain", "tropical"))
        a, b = row["edges"]
        rows.append(
            (
                row["pattern"],
                f"{row['nodes']:,}",
                f"{a:,}",
                f"{b:,}",
                f"{row['tuples']:,}",
                _seconds(plain),
                _seconds(tropical),
                f"{tropical / plain:.2f}",
                f"{row['tuples'] / tropical / 1e6:.2f}",
            )
        )
        name = f"{row['pattern']}, {row['tuples']:,} tuples, annotated by plain"
        bars.append(at_most(name, TIMES_PLAIN, tropical / plain, "×"))
    headers = (
        "pattern",
        "nodes",
        "a",
        "b",
        "tuples",
        "plain s",
        "tropical s",
        "times",
        "Mtuples/s",
    )
    table = Table(
        "Patterns, the same program plain and annotated",
        headers,
        tuple(rows),
        notes=("in turns in one process, the best of several runs; Mtuples/s: annotated",),
    )
    wrong = (row for row in found if not row["exact"])
    return Told(
        (table,),
        tuple(bars),
        tuple(f"{row['pattern']}, {row['nodes']} nodes: other tuples annotated" for row in wrong),
    )


# ── repair ──


def repair(found: Found) -> Told:
    """One change at a time, by kind and by what it changed."""
    recompute = found["recompute_seconds"]
    kinds = {**found["kinds"], "either": found["all"]}
    rows, bars = [], []
    for kind, times in kinds.items():
        ratio = recompute * 1e3 / times["median"]
        figures = (f"{times[key]:.3f}" for key in ("median", "p99", "max", "mean"))
        read = f"{times['read']:,.0f}" if "read" in times else ""
        rows.append((kind, f"{times['count']:,}", *figures, read, f"{ratio:.0f}"))
        bars.append(at_least(f"{kind}, times recomputing", TIMES_RECOMPUTE, ratio))
    headers = ("change", "count", "median ms", "99 % ms", "max ms", "mean ms", "tuples read")
    title = (
        f"Shortest ways of {found['network']} as a view: {found['nodes']:,} nodes, "
        f"{found['arcs']:,} arcs, {found['tuples']:,} pairs, made in {found['made_seconds']:.2f} s"
    )
    touched = found["by_tuples"]
    cells = tuple(
        (f"{below:,}", f"{count:,}", f"{tuples:,.0f}", ms(seconds))
        for below, count, tuples, seconds in touched["rows"]
    )
    failures = () if found["exact"] else ("the view is not what evaluation from nothing gives",)
    return Told(
        (
            Table(
                title,
                (*headers, "× recomputing"),
                tuple(rows),
                notes=(
                    f"recomputing: evaluation from nothing, {ms(recompute)} ms (median)",
                    "the change is read in the time; each is taken back, untimed",
                ),
            ),
            Table(
                "Cost by tuples changed",
                ("tuples read below", "changes", "median tuples", "median ms"),
                cells,
                left=0,
                notes=(_power(touched["exponent"], "tuples read"),),
            ),
        ),
        tuple(bars),
        failures,
    )


# ── explanations ──


def explain(found: Found) -> Told:
    """What a run that can be explained costs, and what its explanations do."""
    idle, plain, kept = (found["kept"][name] for name in ("idle", "plain", "explained"))
    above = [cost["peak_bytes"] - idle["peak_bytes"] for cost in (plain, kept)]
    later = kept["later_bytes"] - idle["peak_bytes"]
    time_ratio = kept["seconds"] / plain["seconds"]
    # Where next to nothing is kept, a page is much.
    memory_ratio = above[1] / max(above[0], 1)
    mib = [f"{size / 2**20:.1f}" for size in (*above, later)]
    rows = (
        ("plain", _seconds(plain["seconds"]), mib[0]),
        ("with what explanations need", _seconds(kept["seconds"]), mib[1]),
        ("and after a first proof, with indexes", "", mib[2]),
        ("times", f"{time_ratio:.2f}", f"{memory_ratio:.2f}"),
    )
    bars = [
        at_most("closure kept for explanations, time by plain", KEPT_TIME, time_ratio, "×"),
        at_most("closure kept for explanations, memory by plain", KEPT_MEMORY, memory_ratio, "×"),
    ]
    answers, failures = [], []
    for state, name in (("evaluated", "after evaluation"), ("view", "of a view, after changes")):
        for question in ("why", "why_not"):
            told = found[state][question]
            times = told["others"]
            figures = (f"{times[key]:.3f}" for key in ("median", "p99", "max"))
            answers.append((question, name, f"{told['first_ms']:.1f}", *figures))
            if question == "why":
                label = f"why {name}, median of {times['count']}"
                bars.append(at_most(label, WHY_MS, times["median"], "ms"))
            if told["wrong"]:
                failures.append(f"{question} {name}: {told['wrong']} answers are wrong")
    if plain["tuples"] != kept["tuples"]:
        failures.append(f"{plain['tuples']:,} pairs, but {kept['tuples']:,} to be explained")
    title = f"Closure of {found['nodes']:,} nodes: {found['tuples']:,} pairs"
    return Told(
        (
            Table(
                f"{title}, in fresh processes",
                ("run", "seconds", "peak MiB above idle"),
                rows,
                notes=("the best time and the highest peak of several runs; kernels are loaded",),
            ),
            Table(
                "Explanations of random pairs",
                ("question", "asked", "first ms", "median ms", "99 % ms", "max ms"),
                tuple(answers),
                left=2,
                notes=("median and others without the first; every answer is checked",),
            ),
        ),
        tuple(bars),
        tuple(failures),
    )
