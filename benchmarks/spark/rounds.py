"""What a round over frames costs, beside a loop by hand; and what the whole closure takes."""

from __future__ import annotations

import time
from typing import Any, Final

from benchmarks.cases import BY_NAME
from benchmarks.measured import progress, tell
from benchmarks.spark.byhand import closure_by_hand
from benchmarks.spark.sessions import (
    Asked,
    asked,
    compiled,
    embedded,
    frames,
    program,
    started,
    tables,
    timed,
)
from whence.engine.base import Round

SIZES: Final = (300, 1000)
FULL: Final = 2000
"""Nodes of the random graph: what is repeated, and what is measured once for the totals."""


class Clock:
    """Notes when each round is over."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def on_round(self, event: Round) -> None:
        """Note the time after a round of the recursion."""
        if event.relations == ("path",):
            self.at.append(time.perf_counter())

    @property
    def rounds(self) -> list[float]:
        return [b - a for a, b in zip(self.at, self.at[1:], strict=False)]


def by_rounds(spark: Any, text: str, there: Any, tasks: int) -> tuple[int, list[float]]:
    """Evaluate by rounds; return the size of the closure and the seconds of each round."""
    from whence.engine.spark.rounds.loop import Options, evaluate_rounds

    clock = Clock()
    plan = compiled(text).plan
    options = Options(partitions=tasks, observer=clock)
    found = evaluate_rounds(spark, plan, there, ["path"], options)
    return found.frames["path"].count(), clock.rounds


def measure(given: Asked) -> dict[str, Any]:
    """Return the seconds per round of both at each size."""
    case, text = BY_NAME["tc_random"], program("tc_random")
    rows = []
    with started(given.threads) as spark:
        for size in (case.tiny,) if given.quick else (*SIZES, FULL):
            facts = tables(case.facts(size))
            there = frames(spark, facts)
            turns = {
                "hand": lambda there=there: closure_by_hand(spark, there["edge"], given.threads),
                "rounds": lambda there=there: by_rounds(spark, text, there, given.threads),
            }
            found: dict[str, Any] = {}
            for again in range(1 if given.quick or size == FULL else 3):
                for name, turn in turns.items():
                    seconds, (tuples, each) = timed(turn)
                    per_round = sum(each) / len(each)
                    progress(f"  {size} {name}: {seconds:.1f} s, {per_round:.3f} s a round")
                    known = found.get(name)
                    if again == 1 or known is None or per_round < known["per_round"]:
                        found[name] = {
                            "seconds": seconds,
                            "rounds": len(each),
                            "per_round": per_round,
                            "tuples": tuples,
                        }
            seconds, tuples = timed(lambda f=facts: embedded(text, f, ("path",), given.threads))
            exact = {one["tuples"] for one in found.values()} == {tuples}
            rows.append(
                {"nodes": size, "tuples": tuples, "exact": exact, "embedded": seconds, **found}
            )
            for frame in there.values():
                frame.unpersist()
    return {"rows": rows}


if __name__ == "__main__":
    tell(measure(asked()))
