"""Ranked support or recomputation: what is quicker for a batch, by what batches of its size cost.

Each size of batch, by powers of two, has its own record. The first of its kind is maintained by
ranked support, unless that takes far longer than recomputation; then the quicker one is taken. Now
and then, ever less often, ranked support is tried again where it was slower. DRed is not among the
choices: on graphs with cycles it takes out nearly everything, and elsewhere it gains little.
"""

from __future__ import annotations

from dataclasses import dataclass

_LEARN = 0.5
"""The weight of the latest cost in the average."""

_FIRST = 4.0
"""How many times as long as recomputation a first try may take: ranks that it leaves pay later."""

_DOUBT = 0.3
"""The share of a guess of recomputation from which on the guess is put to the test."""

_COLD = 0.1
"""Seconds that compiling rules may take."""

_FAR = 4.0
"""How many times as long is too far behind to be tried again."""


@dataclass(slots=True)
class _Record:
    """What batches of one size have cost, None where that was not tried."""

    ranked: float | None = None
    recompute: float | None = None
    uses: int = 0


class Choice:
    """The record of one stratum; `recompute` is what its evaluation took at first, as a guess."""

    def __init__(self, recompute: float) -> None:
        self.recompute = recompute
        self._records: dict[tuple[int, int], _Record] = {}

    def pick(self, gone: int, new: int) -> tuple[str, float]:
        """Return the strategy for a batch of that size, and the seconds it may take."""
        record = self._record(gone, new)
        record.uses += 1
        ranked = record.ranked
        recompute = self.recompute if record.recompute is None else record.recompute
        if ranked is None:
            return "ranked", _FIRST * recompute
        if record.recompute is None and ranked > _DOUBT * recompute:
            return "recompute", recompute
        if ranked <= recompute:
            # What has become much slower than it was is given up.
            return "ranked", max(2 * ranked, recompute)
        again = record.uses >= 8 and record.uses & (record.uses - 1) == 0
        if again and ranked < _FAR * recompute:
            return "ranked", recompute
        return "recompute", recompute

    def learn_recompute(self, gone: int, new: int, seconds: float) -> None:
        """Note what recomputation took."""
        record = self._record(gone, new)
        record.recompute = _average(record.recompute, seconds)

    def learn_ranked(self, gone: int, new: int, seconds: float, *, ended: bool, cold: bool) -> None:
        """Note what ranked support took; when it was not `ended`, it would have taken longer.

        What was `cold`, with rules to be compiled, tells only if it was far from that.
        """
        record = self._record(gone, new)
        guess = self.recompute if record.recompute is None else record.recompute
        if cold and guess < seconds < guess + _COLD:
            return
        record.ranked = _average(record.ranked, seconds if ended else 2 * seconds)

    def _record(self, gone: int, new: int) -> _Record:
        return self._records.setdefault((gone.bit_length(), new.bit_length()), _Record())


def _average(before: float | None, seconds: float) -> float:
    return seconds if before is None else before + _LEARN * (seconds - before)
