"""Which strategy is quickest for a stratum and a batch, from what batches of that size have cost.

Each size of batch, by powers of two, has its own record. The first of its kind is maintained by
ranked support, unless that takes far longer than recomputation; then the quickest is taken. Now
and then, ever less often, another one is tried again, because the data may have changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.view.base import StratumWork

_LEARN = 0.5
"""The weight of the latest cost in the average."""

_FIRST = 4.0
"""How many times the best cost a first try may take: ranks that it leaves make the next cheaper."""

_FAR = 4.0
"""How many times the best cost is too far behind to be tried again."""

_MOSTLY = 0.4
"""The share of asked tuples that have to go for asking to be doubtful: then DRed is tried."""

_AFFORDABLE = 4.0
"""How many times the cost of ranked support a recomputation may take for DRed to be tried."""

_WORTH = 64
"""Tuples asked below which the difference between ranked support and DRed does not matter."""


@dataclass(slots=True)
class _Record:
    """What batches of one size have cost, by strategy; None is a strategy to be tried."""

    seconds: dict[str, float | None] = field(default_factory=lambda: {"ranked": None})
    uses: int = 0


class Choice:
    """The record of one stratum; `recompute` is what its evaluation took, at first a guess."""

    def __init__(self, recompute: float) -> None:
        self.recompute = recompute
        self._records: dict[tuple[int, int], _Record] = {}

    def pick(self, gone: int, new: int) -> tuple[str, float]:
        """Return the strategy for a batch of that size, and the seconds it may take."""
        record = self._record(gone, new)
        record.uses += 1
        known = {name: s for name, s in record.seconds.items() if s is not None}
        best = min([*known.values(), self.recompute])
        for name, seconds in record.seconds.items():
            if seconds is None:
                return name, _FIRST * best
        ranking = sorted({**known, "recompute": self.recompute}.items(), key=lambda item: item[1])
        name, seconds = ranking[0]
        other, behind = ranking[1]
        if _is_power_of_two(record.uses) and record.uses >= 8 and behind < _FAR * best:
            return other, best if other != "recompute" else self.recompute
        # What has become much slower than it was is given up, and recomputation learnt about.
        return name, max(2 * seconds, self.recompute)

    def learn(
        self, gone: int, new: int, work: StratumWork, seconds: float, *, ended: bool, cold: bool
    ) -> None:
        """Note what a strategy took; when it was not `ended`, it would have taken longer.

        What was `cold`, with rules to be compiled, says nothing, unless it was quick.
        """
        record = self._record(gone, new)
        if work.strategy == "recompute":
            self.recompute += _LEARN * (seconds - self.recompute)
            return
        if cold and (not ended or seconds > self.recompute) and record.uses < 3:
            return
        seconds = seconds if ended else 2 * seconds
        before = record.seconds.get(work.strategy)
        record.seconds[work.strategy] = (
            seconds if before is None else before + _LEARN * (seconds - before)
        )
        doubtful = work.asked > _WORTH and work.removed > _MOSTLY * work.asked
        # Where DRed takes out far too much, recomputation has to mend it: that must not be dear.
        affordable = self.recompute < _AFFORDABLE * seconds
        if work.strategy == "ranked" and doubtful and affordable and "dred" not in record.seconds:
            record.seconds["dred"] = None

    def _record(self, gone: int, new: int) -> _Record:
        return self._records.setdefault((gone.bit_length(), new.bit_length()), _Record())


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
