"""One workload after another, on Whence and beside it on the others; their counts must agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import ours, peers
from benchmarks.cases import BY_NAME, Case
from benchmarks.ours import Cost, Idle
from benchmarks.peers import PeerCost
from benchmarks.process import Failed
from benchmarks.spelling import Spelling, Workload, prepare


@dataclass(frozen=True, slots=True)
class Settings:
    """How everything is measured."""

    folder: Path
    runs: int
    threads: int
    quick: bool
    duckdb: bool
    souffle: bool
    write: bool
    say: Callable[[str], None]

    def size(self, case: Case) -> int:
        return case.tiny if self.quick else case.full


@dataclass(frozen=True, slots=True)
class Result:
    """What a workload cost on each system; None where there is nothing to tell."""

    case: str
    size: int
    spelling: Spelling
    idle: Idle | None
    whence: Cost | None
    duckdb: PeerCost | None
    souffle: PeerCost | None
    failures: tuple[str, ...]

    @property
    def bytes_per_tuple(self) -> float | None:
        """Peak memory above the idle command, per output tuple."""
        if self.whence is None or self.idle is None:
            return None
        return (self.whence.peak_bytes - self.idle.loaded_bytes) / self.whence.tuples

    @property
    def times_duckdb(self) -> float | None:
        """How many times the evaluation is faster than DuckDB's."""
        if self.whence is None or self.duckdb is None:
            return None
        return self.duckdb.seconds / self.whence.evaluate_seconds

    @property
    def times_souffle(self) -> float | None:
        """How many times loading and evaluation are faster than Soufflé's."""
        if self.whence is None or self.souffle is None:
            return None
        return self.souffle.seconds / (self.whence.load_seconds + self.whence.evaluate_seconds)


def compare(
    cases: Iterable[Case], spellings: Iterable[Spelling], settings: Settings
) -> list[Result]:
    """Measure every case in every spelling."""
    # At small sizes memory says nothing about tuples.
    idle = None if settings.quick else ours.measure_idle(settings.folder, threads=settings.threads)
    pairs = [(case, spelling) for case in cases for spelling in spellings]
    return [_compare_one(case, spelling, idle, settings) for case, spelling in pairs]


def _compare_one(case: Case, spelling: Spelling, idle: Idle | None, settings: Settings) -> Result:
    workload = prepare(case, settings.size(case), spelling, settings.folder, write=settings.write)
    failures: list[str] = []

    def attempt(
        system: str, measure: Callable[..., PeerCost | None], tuples: int | None
    ) -> PeerCost | None:
        try:
            cost = measure(workload, runs=settings.runs, threads=settings.threads)
        except Failed as failure:
            # Soufflé's numbers may be 32-bit: that it cannot read an id is no fault of ours.
            settings.say(f"{workload.label}: {system}: {failure}")
            return None
        if cost is not None and tuples is not None and cost.tuples != tuples:
            failures.append(f"{system} gives {cost.tuples:,} tuples, Whence {tuples:,}")
        return cost

    whence: Cost | None = None
    try:
        whence = ours.measure(workload, runs=settings.runs, threads=settings.threads)
    except Failed as failure:
        failures.append(f"whence: {failure}")
    tuples = whence.tuples if whence else None
    duckdb = attempt("DuckDB", peers.measure_duckdb, tuples) if settings.duckdb else None
    souffle = attempt("Soufflé", peers.measure_souffle, tuples) if settings.souffle else None
    result = Result(
        case.name, workload.size, spelling, idle, whence, duckdb, souffle, tuple(failures)
    )
    settings.say(_progress(workload, result))
    return result


def _progress(workload: Workload, result: Result) -> str:
    parts = list(result.failures)
    if result.whence is not None:
        cost = result.whence
        parts.append(f"{cost.tuples:,} tuples in {cost.evaluate_seconds:.3f} s")
    if result.duckdb is not None:
        parts.append(f"DuckDB {result.duckdb.seconds:.3f} s")
    if result.souffle is not None:
        parts.append(f"Soufflé {result.souffle.seconds:.3f} s")
    return f"{workload.label}: {', '.join(parts)}"


def clock_seconds(results: Iterable[Result], settings: Settings) -> float | None:
    """Return what DuckDB needs for tc_random here; None when that cannot be known."""
    if not settings.duckdb or settings.quick:
        return None
    for result in results:
        if (result.case, result.spelling) == ("tc_random", "dense") and result.duckdb:
            return result.duckdb.seconds
    case = BY_NAME["tc_random"]
    workload = prepare(case, case.full, "dense", settings.folder)
    cost = peers.measure_duckdb(workload, runs=settings.runs, threads=settings.threads)
    return cost.seconds if cost else None
