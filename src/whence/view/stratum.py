"""One stratum of a live view, and the strategies that can bring it up to date."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from whence.engine.local.live import Delta
from whence.engine.local.selection import holds, holds_for
from whence.plan.nodes import Stratum
from whence.rewrite.materialise_aggregates import Grouping
from whence.syntax.nodes import Program
from whence.view.base import StratumWork
from whence.view.choice import Choice
from whence.view.counting import Counts
from whence.view.groups import Groups
from whence.view.program import why_recomputed
from whence.view.ranked import Endless, maintain
from whence.view.reading import reads
from whence.view.recompute import recompute
from whence.view.rules import Deltas, Machine, Rules, TooSlow

_SPARE = 10_000
"""Tuples that may be more than twice as many as the best ones need, before those are dropped."""

Strategy = Callable[["LiveStratum", Deltas, StratumWork], dict[str, Delta]]


class LiveStratum:
    """A stratum: of base facts, of an aggregate's groups, of rules, or one that is recomputed."""

    def __init__(
        self, stratum: Stratum, program: Program, grouping: Grouping | None, machine: Machine
    ) -> None:
        self.stratum = stratum
        self.machine = machine
        self.reads = reads(stratum)
        self.why_recomputed = why_recomputed(stratum, program) if grouping is None else None
        self.groups: Groups | None = None
        self.rules: Rules | None = None
        self.counts: Counts | None = None
        self.choice = Choice(0.0)
        self._select_at = 0
        scope = machine.evaluation.scope(machine.guard)
        if grouping is not None:
            values = machine.evaluation.values
            self.groups = Groups(grouping, machine.relations, scope, values)
        elif stratum.rules and self.why_recomputed is None:
            clock = sum(machine.relations[name].size for name in stratum.relations)
            self.rules = Rules(stratum, machine.relations, scope, machine, clock)
            if not stratum.recursive:
                relation = machine.relations[stratum.relations[0]]
                self.counts = Counts(stratum, scope, relation)
            self.select()

    def maintain(self, strategy: str, deltas: Deltas) -> tuple[dict[str, Delta], StratumWork]:
        """Bring the stratum up to date with the changes below; return its own, and the work."""
        started = time.perf_counter()
        work = StratumWork(self.stratum.number, self.stratum.relations, strategy)
        if self.groups is not None:
            work.strategy = "groups"
            delta = self.groups.maintain(deltas[self.groups.grouping.source], work)
            found = {self.groups.grouping.relation: delta} if delta else {}
        elif self.rules is None or not self._selection_stands(deltas):
            found = _recompute(self, deltas, work)
        else:
            found = BY_NAME[strategy](self, deltas, work)
            if self.rules.selected and self._tuples() > self._select_at:
                self.select()
                found = self.changed()
        work.seconds = time.perf_counter() - started
        return found, work

    def _selection_stands(self, deltas: Deltas) -> bool:
        """Say whether the rows that the recursion follows are those that an evaluation would.

        What comes may break an assumption; what goes may have been the last that did, and without
        a selection the recursion may have no end.
        """
        relations, assumes = self.machine.relations, self.stratum.assumes
        touched = [a for a in assumes if a.relation in deltas]
        assert self.rules is not None
        if self.rules.selected or not touched:
            return all(
                holds_for(a, relations[a.relation].rows[deltas[a.relation].came]) for a in touched
            )
        gone = any(deltas[a.relation].went.shape[0] for a in touched)
        return not gone or not all(holds(a, relations[a.relation]) for a in assumes)

    def select(self) -> None:
        """Follow only best rows where the evaluation did; drop what only others support."""
        rules, relations = self.rules, self.machine.relations
        assert rules is not None
        for name, selections in self.stratum.selections:
            if name in self.machine.evaluation.selected:
                relations[name].select(selections)
            else:
                relations[name].selector = None
        rules.selected = tuple(
            n for n in self.stratum.relations if relations[n].selector is not None
        )
        if rules.selected:
            suspects = {n: relations[n].living() for n in self.stratum.relations}
            work = StratumWork(self.stratum.number, self.stratum.relations, "ranked")
            maintain(rules, {}, work, ranked=True, suspects=suspects)
            self._select_at = 2 * self._tuples() + _SPARE

    def changed(self) -> dict[str, Delta]:
        """Return what the transaction has done so far, by looking at all rows."""
        relations = self.machine.relations
        changed = {name: relations[name].changed() for name in self.stratum.relations}
        return {name: delta for name, delta in changed.items() if delta}

    def _tuples(self) -> int:
        return sum(self.machine.relations[name].alive for name in self.stratum.relations)


# ── strategies ──

_LEAST = 0.01
"""Seconds that a strategy may take however quick others are: the first time it is compiled."""


def _ranked(live: LiveStratum, deltas: Deltas, work: StratumWork) -> dict[str, Delta]:
    return _by_rules(live, deltas, work)


def _by_rules(live: LiveStratum, deltas: Deltas, work: StratumWork) -> dict[str, Delta]:
    assert live.rules is not None
    if live.counts is not None:
        live.counts.valid = False
    try:
        return maintain(live.rules, deltas, work, ranked=work.strategy == "ranked")
    except Endless:  # evaluating it anew tells whether it is
        live.rules.abandon()
        return _recompute(live, deltas, work)


def _counting(live: LiveStratum, deltas: Deltas, work: StratumWork) -> dict[str, Delta]:
    if live.counts is None:  # recursive: a count may never reach zero
        work.strategy = "ranked"
        return _by_rules(live, deltas, work)
    return live.counts.maintain(deltas, work)


def _recompute(live: LiveStratum, deltas: Deltas, work: StratumWork) -> dict[str, Delta]:
    work.strategy = "recompute"
    machine = live.machine
    pool = machine.pool() if machine.threads > 1 else None
    found, clock = recompute(
        live.stratum, machine.evaluation, machine.guard, machine.threads, pool, work
    )
    if live.counts is not None:
        live.counts.valid = False
    if live.rules is not None:
        live.rules.clock = clock
        live.select()
        if live.rules.selected:
            found = live.changed()
    return found


def _auto(live: LiveStratum, deltas: Deltas, work: StratumWork) -> dict[str, Delta]:
    rules, choice = live.rules, live.choice
    assert rules is not None
    gone = sum(deltas[name].went.shape[0] for name in live.reads if name in deltas)
    new = sum(deltas[name].came.shape[0] for name in live.reads if name in deltas)
    started = time.perf_counter()
    work.strategy, allowed = choice.pick(gone, new)
    compiled, ended = rules.compilations, True
    if work.strategy == "ranked":
        rules.deadline = started + max(allowed, _LEAST)
        try:
            return _by_rules(live, deltas, work)
        except TooSlow:
            ended = False
            rules.abandon()
        finally:
            rules.deadline = None
            now = time.perf_counter()
            cold = rules.compilations > compiled
            choice.learn_ranked(gone, new, now - started, ended=ended, cold=cold)
        started = now
    found = _recompute(live, deltas, work)
    choice.learn_recompute(gone, new, time.perf_counter() - started)
    return found


BY_NAME: Final[Mapping[str, Strategy]] = {
    "auto": _auto,
    "ranked": _ranked,
    "dred": _by_rules,
    "counting": _counting,
    "recompute": _recompute,
}
