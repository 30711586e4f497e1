"""The bars that the engine has to clear, and whether it did.

Soufflé's times were taken on a machine where DuckDB needs 1.03 s for tc_random; they are scaled by
what DuckDB needs here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from benchmarks.comparison import Result
from benchmarks.spelling import Spelling
from benchmarks.startup import RULES, Startup

CLOCK_SECONDS: Final = 1.03
SOUFFLE_SECONDS: Final = {"andersen": 2.70, "cspa": 4.31, "apsp": 0.41}
"""Compiled, two threads, with loading."""

CLOSURE_TIMES: Final[dict[Spelling, float]] = {"dense": 4.0, "sparse": 1.5, "symbols": 1.5}
SG_TIMES: Final = 2.0
BYTES_PER_TUPLE: Final = 40.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One promise; `met` is None when it could not be judged."""

    name: str
    needed: str
    measured: str
    met: bool | None


def judge(results: Iterable[Result], clock: float | None, startup: Startup | None) -> list[Bar]:
    """Return every bar about what was measured."""
    bars = [bar for result in results for bar in _of_result(result, clock)]
    bars.sort(key=lambda bar: "bytes" in bar.name)
    return [*bars, *(_of_startup(startup) if startup else ())]


def _of_result(result: Result, clock: float | None) -> Iterator[Bar]:
    name = f"{result.case} {result.spelling}"
    if result.case.startswith("tc_") or result.case == "sg":
        closure = result.case != "sg"
        needed = CLOSURE_TIMES[result.spelling] if closure else SG_TIMES
        yield _at_least(f"{name}, times DuckDB", needed, result.times_duckdb)
        if result.spelling == "dense":
            yield _memory(name, result)
    elif result.spelling == "dense":
        yield _beside_souffle(name, result, clock)


def _at_least(name: str, needed: float, measured: float | None) -> Bar:
    if measured is None:
        return Bar(name, f"≥ {needed:g} ×", "not measured", None)
    return Bar(name, f"≥ {needed:g} ×", f"{measured:.2f} ×", measured >= needed)


def _memory(name: str, result: Result) -> Bar:
    measured = result.bytes_per_tuple
    name, needed = f"{name}, bytes per tuple above idle", f"≤ {BYTES_PER_TUPLE:g}"
    if measured is None:
        return Bar(name, needed, "not measured", None)
    return Bar(name, needed, f"{measured:.1f}", measured <= BYTES_PER_TUPLE)


def _beside_souffle(name: str, result: Result, clock: float | None) -> Bar:
    allowed = SOUFFLE_SECONDS[result.case]
    tie = result.case == "apsp"  # no slower is enough there; the others must be faster
    name = f"{name}, times Soufflé compiled -j2"
    needed = f"{'≥' if tie else '>'} 1 ×"
    if result.whence is None or clock is None:
        return Bar(name, needed, "not measured", None)
    seconds = result.whence.evaluate_seconds * CLOCK_SECONDS / clock
    measured = f"{allowed / seconds:.2f} × ({seconds:.2f} s to its {allowed:.2f} s)"
    return Bar(name, needed, measured, seconds < allowed or (tie and seconds == allowed))


def _of_startup(startup: Startup) -> Iterator[Bar]:
    yield _below("example, empty kernel cache", 10.0, startup.cold)
    yield _below("example, warm", 1.0, startup.warm)
    yield _below(f"{RULES:,} rules parsed, checked, planned", 2.0, startup.parse + startup.compile)


def _below(name: str, limit: float, seconds: float) -> Bar:
    return Bar(name, f"< {limit:g} s", f"{seconds:.2f} s", seconds < limit)
