"""What the sections found, as tables and bars."""

from __future__ import annotations

from typing import Any, Final

from benchmarks.bars import Bar
from benchmarks.report import Table
from benchmarks.told import Told, at_least, at_most

MORE_SECONDS: Final = 1.5
"""What a whole Spark job may take above the embedded time."""
GANG_TIMES, GANG_SECONDS = 1.5, 2.0
SPEEDUP: Final = 1.4
TIMES_BY_HAND: Final = 1.5

Found = dict[str, Any]


def _s(value: float) -> str:
    return f"{value:.3f}"


# ── beside the embedded engine ──


def _beside(found: Found, bars: tuple[Bar, ...]) -> Told:
    seconds = found["seconds"]
    row = (
        found["case"],
        ", ".join(found["strategies"]),
        f"{found['facts']:,}",
        f"{found['tuples']:,}",
        _s(seconds["embedded"]),
        _s(seconds["tasks"]),
        _s(seconds["spark"]),
        _s(seconds["spark"] - seconds["embedded"]),
        f"{seconds['spark'] / seconds['embedded']:.2f}",
    )
    headers = ("case", "strategies", "facts", "tuples", "embedded s", "Spark s", "with frames s")
    wrong = () if found["exact"] else (f"{found['case']}: not the same tuples",)
    return Told(
        (
            Table(
                "Whole jobs on Spark, outputs counted, beside the embedded engine",
                (*headers, "more s", "×"),
                (row,),
                left=2,
                notes=(
                    "in turns in one process, warm; the best of several runs",
                    "tuples are counted by the tasks; with frames, once more by Spark, row by row",
                ),
            ),
            _tasks(found["groups"]),
        ),
        bars,
        wrong,
    )


def _tasks(groups: list[Found]) -> Table:
    rows = tuple(
        (
            f"{group['group']}",
            group["strategy"],
            f"{task}",
            f"{tuples:,}",
            _s(seconds),
        )
        for group in groups
        for task, (tuples, seconds) in enumerate(
            zip(group["tuples"], group["seconds"], strict=True)
        )
    )
    return Table("Who did the work", ("group", "strategy", "task", "tuples", "seconds"), rows, 2)


def closure(found: Found) -> Told:
    """The closure of a random graph."""
    return _beside(found, (_within(found, "closure of the random graph"),))


def samegen(found: Found) -> Told:
    """Same generation."""
    return _beside(found, (_within(found, "same generation"),))


def _within(found: Found, name: str) -> Bar:
    seconds = found["seconds"]
    more = seconds["spark"] - seconds["embedded"]
    return at_most(f"{name}: whole job above the embedded time", MORE_SECONDS, more, "s")


def cspa(found: Found) -> Told:
    """Pointer analysis, by tasks that exchange tuples."""
    seconds = found["seconds"]
    allowed = GANG_TIMES * seconds["embedded"] + GANG_SECONDS
    name = f"cspa by gang: {GANG_TIMES:g} × the embedded time and {GANG_SECONDS:g} s"
    bar = at_most(name, round(allowed, 3), seconds["spark"], "s")
    gang = Bar("cspa runs by gang", "gang", ", ".join(found["strategies"]), None)
    return _beside(found, (bar, Bar(gang.name, gang.needed, gang.measured, _by_gang(found))))


def _by_gang(found: Found) -> bool:
    return "gang" in found["strategies"]


# ── partitions ──


def scaling(found: Found) -> Told:
    """One partition and two."""
    rows, failures = [], []
    for row in found["rows"]:
        one, two = row["runs"]["1"], row["runs"]["2"]
        rows.append(
            (
                f"{row['size']:,}",
                f"{one['tuples']:,}",
                _s(one["seconds"]),
                _s(one["fixpoint"]),
                _s(two["seconds"]),
                _s(two["fixpoint"]),
                f"{one['fixpoint'] / two['fixpoint']:.2f}",
                f"{one['seconds'] / two['seconds']:.2f}",
            )
        )
        if one["tuples"] != two["tuples"]:
            failures.append(f"{row['size']:,}: two partitions give other tuples")
    last = found["rows"][-1]["runs"]
    long = last["1"]["fixpoint"] >= found["long"]
    bar = at_least("cspa: two partitions", SPEEDUP, last["1"]["fixpoint"] / last["2"]["fixpoint"])
    if not long:
        bar = Bar(bar.name, bar.needed, bar.measured, None)
    headers = ("variables", "tuples", "1: job s", "fixpoint s", "2: job s", "fixpoint s")
    return Told(
        (
            Table(
                "cspa by gang on one partition and on two",
                (*headers, "fixpoint ×", "job ×"),
                tuple(rows),
                notes=(f"the first size whose fixpoint takes {found['long']:g} s counts",),
            ),
        ),
        (bar,),
        tuple(failures),
    )


def growth(found: Found) -> Told:
    """Partitions by sizes."""
    rows = []
    for row in found["rows"]:
        for partitions, run in row["runs"].items():
            groups = run["groups"]
            rows.append(
                (
                    row["case"],
                    f"{row['size']:,}",
                    f"{row['tuples']:,}",
                    partitions,
                    _s(run["seconds"]),
                    _s(max((max(g["seconds"], default=0.0) for g in groups), default=0.0)),
                    f"{sum(g['rounds'] for g in groups)}",
                    f"{sum(g['sent_rows'] for g in groups):,}",
                    f"{sum(g['sent_bytes'] for g in groups) / 2**20:.1f}",
                    _s(row["embedded"]),
                )
            )
    headers = ("case", "size", "tuples", "partitions", "job s", "fixpoint s", "rounds")
    return Told(
        (
            Table(
                "How the cost grows with partitions and sizes",
                (*headers, "sent tuples", "sent MiB", "embedded s"),
                tuple(rows),
                notes=("partitions beyond the cores of the machine share them",),
            ),
        ),
        (),
        tuple(
            f"{row['case']} {row['size']:,}: not the same tuples"
            for row in found["rows"]
            if not row["exact"]
        ),
    )


# ── rounds ──


def rounds(found: Found) -> Told:
    """Rounds beside a loop by hand."""
    rows, bars = [], []
    for row in found["rows"]:
        ours, hand = row["rounds"], row["hand"]
        ratio = ours["per_round"] / hand["per_round"]
        rows.append(
            (
                f"{row['nodes']:,}",
                f"{row['tuples']:,}",
                f"{ours['rounds']}",
                _s(ours["per_round"]),
                _s(hand["per_round"]),
                f"{ratio:.2f}",
                _s(ours["seconds"]),
                _s(hand["seconds"]),
                _s(row["embedded"]),
            )
        )
        name = f"a round of {row['nodes']:,} nodes, by one of a loop by hand"
        bars.append(at_most(name, TIMES_BY_HAND, ratio, "×"))
    headers = ("nodes", "tuples", "rounds", "s a round", "by hand", "×", "total s", "by hand s")
    return Told(
        (
            Table(
                "Closure by rounds over frames, beside a loop by hand",
                (*headers, "embedded s"),
                tuple(rows),
                notes=("rounds are for what does not fit into memory: what fits runs otherwise",),
            ),
        ),
        tuple(bars),
        tuple(f"{r['nodes']:,} nodes: not the same" for r in found["rows"] if not r["exact"]),
    )


# ── graphs ──


def graphs(found: Found) -> Told:
    """Beside GraphX and GraphFrames."""
    rows, bars, failures, others = [], [], [], list[str]()
    for graph in found["graphs"]:
        edges = f"{graph['edges']:,}"
        for problem, one in graph["problems"].items():
            seconds = one["seconds"]
            others = [name for name in seconds if name not in _OURS]
            shown = (_s(seconds[name]) for name in (*_OURS, *others))
            rows.append((edges, problem, f"{one['tuples']:,}", *shown))
            what = f"{problem}, {edges} edges"
            bars += [
                at_least(f"{what}: faster than {name}", 1.0, seconds[name] / seconds["spark"])
                for name in others
            ]
            failures += [f"{what}: {n} differs" for n, same in one["agree"].items() if not same]
    title = f"Graphs of {found['nodes']:,} nodes"
    headers = ("edges", "problem", "tuples", "embedded s", "Spark s", *(f"{n} s" for n in others))
    notes: tuple[str, ...] = ("graphs and frames are in memory; the best of several runs",)
    if "GraphFrames" not in others:
        notes += ("GraphFrames is left out: its jar was not there",)
    return Told((Table(title, headers, tuple(rows), notes=notes),), tuple(bars), tuple(failures))


_OURS: Final = ("embedded", "spark")


# ── streams ──


def streaming(found: Found) -> Told:
    """A stream of link updates, beside batches that do nothing."""
    ours, empty = found["ours"], found["empty"]
    rows = tuple(
        (name, *(f"{one[key]:.1f}" for key in ("median", "p99", "max", "mean")))
        for name, one in (("views", ours), ("empty", empty))
    )
    states = [(at, size) for at, size in found["state"]]
    sizes = tuple((f"{at:,}", f"{size / 2**20:.2f}") for at, size in states)
    half = len(states) // 2
    early, late = max(s for _, s in states[: half or 1]), max(s for _, s in states[half:])
    return Told(
        (
            Table(
                f"{found['batches']} batches of {found['updates']} updates of links between "
                f"{found['nodes']:,} nodes",
                ("batches", "median ms", "p99 ms", "max ms", "mean ms"),
                rows,
                notes=(f"a batch costs {ours['median'] - empty['median']:.1f} ms above nothing",),
            ),
            Table("The state on disk", ("after batch", "MiB"), sizes),
        ),
        (at_most("state of the second half, by that of the first", 1.25, late / early, "×"),),
        () if found["exact"] else ("the views are not those of an evaluation from nothing",),
    )
