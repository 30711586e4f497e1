"""Figures 7.10 and 7.11 of Loo (2006): lookups on a Chord ring whose nodes come and go."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from whence.network.experiments.base import Experiment, Found, Say, Table, distribution, mean
from whence.network.experiments.rings import EVERY, GIVE_UP, Ring, ring
from whence.plotting import Panel, Picture

_PAPER: Final = {8: 79, 16: 95, 47: 96, 90: 99}


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """Replace nodes at random for 20 minutes, at the pace that sessions of some length mean."""
    nodes, minutes, rest = (12, 2, 120.0) if quick else (100, 20, 300.0)
    runs = {}
    for session in (8,) if quick else (8, 16, 47, 90):
        say(f"Chord under churn, {nodes} nodes, sessions of {session} minutes")
        runs[str(session)] = _one(nodes, minutes * 60.0, session * 60.0, rest)
    return {"nodes": nodes, "minutes": minutes, "runs": runs}


def _one(nodes: int, seconds: float, session: float, rest: float) -> dict[str, Any]:
    spare = [f"n{i}" for i in range(nodes + int(seconds * nodes / session) + 2)]
    made = ring(spare[:nodes], later=spare[nodes:])
    made.network.run(rest)
    begun = made.clock.now()
    pace, newcomer = session / nodes, nodes
    next_change, next_ask = begun + pace, begun + EVERY
    while made.clock.now() < begun + seconds:
        due = min(next_change, next_ask, begun + seconds)
        made.network.run(due - made.clock.now())
        if due == next_change:
            made.fail(made.rng.choice(made.alive[1:]))
            made.join(spare[newcomer])
            newcomer += 1
            next_change += pace
        if due == next_ask:
            made.ask()
            next_ask += EVERY
    made.network.run(EVERY)
    return _found(made)


def _found(made: Ring) -> dict[str, Any]:
    groups: dict[int, list[str | None]] = {}
    for one in made.lookups.values():
        in_time = one.answer is not None and one.seconds < GIVE_UP
        groups.setdefault(one.group, []).append(one.answer if in_time else None)
    parts = []
    for answers in groups.values():
        known = Counter(answer for answer in answers if answer is not None)
        parts.append(max(known.values(), default=0) / len(answers))
    answered = [one.seconds for one in made.lookups.values() if one.answer is not None]
    answered = [each for each in answered if each < GIVE_UP]
    places, late = [i / 10 for i in range(1, 11)], [i / 4 for i in range(17)]
    return {
        "consistent": mean(parts),
        "majority": mean([part > 0.5 for part in parts]),
        "answered": len(answered) / len(made.lookups),
        "seconds": mean(answered),
        "places": places,
        "below": [mean([part < place for part in parts]) for place in places],
        "latency_places": late,
        "latency": distribution(answered, late),
    }


def table(found: Found) -> Table:
    """Return one row for each length of sessions."""
    rows = [
        (
            f"{session} min",
            100 * run["consistent"],
            100 * run["majority"],
            100 * run["answered"],
            run["seconds"],
            _PAPER[int(session)],
        )
        for session, run in found["runs"].items()
    ]
    headers = (
        "sessions",
        "consistent %",
        "groups with a majority %",
        "answered %",
        "s",
        "consistent in the paper %",
    )
    return Table(headers, rows)


def picture(found: Found) -> Picture:
    """Return consistency and latencies."""
    runs = found["runs"]
    first = next(iter(runs.values()))
    below = {f"{session} min": run["below"] for session, run in runs.items()}
    late = {f"{session} min": run["latency"] for session, run in runs.items()}
    return Picture(
        "",
        (
            Panel(
                "7.10 consistency",
                "consistent part of a group",
                first["places"],
                below,
                beside="part of groups below",
            ),
            Panel("7.11 latency", "s", first["latency_places"], late, beside="part of lookups"),
        ),
        shared=False,
    )


EXPERIMENT = Experiment(
    "lookups on a Chord ring whose nodes come and go",
    ("7.10", "7.11"),
    "99, 96, 95 and 79 % consistent lookups with sessions of 90, 47, 16 and 8 minutes",
    measure,
    table,
    picture,
)
