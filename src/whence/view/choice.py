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

_HALF = 0.5
"""The share of a guess of recomputation from which on the guess is put to the test."""

_COLD = 0.1
"""Seconds that compiling rules may take."""

_FAR = 4.0
"""How many times as long is too far behind to be tried again."""


@dataclass(slots=True)
class _Record:
    """What ranked support of batches of one size has cost, None before the first."""

    seconds: float | None = None
    uses: int = 0


class Choice:
    """The record of one stratum; `recompute` is what its evaluation took, at first a guess."""

    def __init__(self, recompute: float) -> None:
        self.recompute = recompute
        self._guessed = True
        self._records: dict[tuple[int, int], _Record] = {}

    def pick(self, gone: int, new: int) -> tuple[str, float]:
        """Return the strategy for a batch of that size, and the seconds it may take."""
        record = self._record(gone, new)
        record.uses += 1
        ranked = record.seconds
        if ranked is None:
            return "ranked", _FIRST * self.recompute
        if self._guessed and ranked > _HALF * self.recompute:
            return "recompute", self.recompute
        if ranked <= self.recompute:
            # What has become much slower than it was is given up.
            return "ranked", max(2 * ranked, self.recompute)
        again = record.uses >= 8 and record.uses & (record.uses - 1) == 0
        if again and ranked < _FAR * self.recompute:
            return "ranked", self.recompute
        return "recompute", self.recompute

    def learn_recompute(self, seconds: float) -> None:
        """Note what recomputation took."""
        if self._guessed:
            self.recompute, self._guessed = seconds, False
        self.recompute += _LEARN * (seconds - self.recompute)

    def learn_ranked(self, gone: int, new: int, seconds: float, *, ended: bool, cold: bool) -> None:
        """Note what ranked support took; when it was not `ended`, it would have taken longer.

        What was `cold`, with rules to be compiled, tells only if it was far from that.
        """
        record = self._record(gone, new)
        if cold and self.recompute < seconds < self.recompute + _COLD:
            return
        seconds = seconds if ended else 2 * seconds
        before = record.seconds
        record.seconds = seconds if before is None else before + _LEARN * (seconds - before)

    def _record(self, gone: int, new: int) -> _Record:
        return self._records.setdefault((gone.bit_length(), new.bit_length()), _Record())
