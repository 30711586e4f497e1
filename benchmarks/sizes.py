"""Cost at three sizes: whether the time follows the size of the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log

from benchmarks import ours
from benchmarks.cases import Case
from benchmarks.comparison import Settings
from benchmarks.ours import Cost
from benchmarks.process import Failed
from benchmarks.spelling import prepare


@dataclass(frozen=True, slots=True)
class Growth:
    """One case at each of its sizes; `exponent` is that of evaluation time against tuples."""

    case: str
    sizes: tuple[int, ...]
    costs: tuple[Cost, ...]
    exponent: float | None
    failures: tuple[str, ...] = ()


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the slope of the least-squares line through the points, both axes logarithmic."""
    if len(points) < 2 or min(value for point in points for value in point) <= 0:
        return None
    xs, ys = [log(x) for x, _ in points], [log(y) for _, y in points]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - x_mean) ** 2 for x in xs)
    if spread == 0:
        return None
    return sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)) / spread


def measure_growth(cases: Iterable[Case], settings: Settings) -> list[Growth]:
    """Measure every case at its three sizes, with dense ids."""
    return [_grow(case, settings) for case in cases]


def _grow(case: Case, settings: Settings) -> Growth:
    sizes = (case.tiny, case.tiny * 3 // 2, case.tiny * 2) if settings.quick else case.sizes
    costs: list[Cost] = []
    for size in sizes:
        workload = prepare(case, size, "dense", settings.folder)
        try:
            cost = ours.measure(workload, runs=settings.runs, threads=settings.threads)
        except Failed as failure:
            settings.say(f"{workload.label}: {failure}")
            return Growth(case.name, sizes, tuple(costs), None, (f"whence: {failure}",))
        costs.append(cost)
        settings.say(f"{workload.label}: {cost.tuples:,} tuples in {cost.evaluate_seconds:.3f} s")
    found = exponent([(cost.tuples, cost.evaluate_seconds) for cost in costs])
    return Growth(case.name, sizes, tuple(costs), found)
