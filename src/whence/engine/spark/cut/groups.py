"""Cutting a plan into groups: as few Spark jobs as can be, none with more talk than it needs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from whence.diagnostics import Diagnostic, UsageError
from whence.engine.spark.cut.known import BROADCAST_BYTES, Known, know
from whence.engine.spark.cut.located import keep, locate
from whence.engine.spark.cut.placement import place
from whence.engine.spark.cut.sites import Draft
from whence.engine.spark.cut.splitting import split_joins
from whence.engine.spark.cut.together import kept_together, why_unshipped
from whence.engine.spark.cut.why import why_apart, why_exchanged, why_not_apart
from whence.engine.spark.model import ALONE, Group, SparkPlan, Strategy
from whence.engine.spark.rounds.supported import why_not as why_not_by_rounds
from whence.plan.build import build_plan
from whence.plan.nodes import Plan, Stratum
from whence.syntax.nodes import Atom, Rule, Subsumption


def cut(
    plan: Plan,
    *,
    sizes: Mapping[str, int] | None = None,
    tasks: int,
    forced: Strategy | None = None,
    inputs: Collection[str],
    asked: Collection[str] | None = None,
    broadcast: int = BROADCAST_BYTES,
    memory: int | None = None,
) -> SparkPlan:
    """Return the groups that evaluate a plan with this many tasks, in the order they run.

    `sizes` are numbers of tuples, where they are known; `inputs` the relations that are given
    facts; `asked` those whose tuples somebody reads, None when that may be any. What has more
    than `broadcast` bytes is not sent to every task if there is another way; what has more than
    `memory` bytes does not fit into the tasks at all and is evaluated in rounds.
    """
    known = know(plan, inputs=inputs, sizes=sizes, tasks=tasks, broadcast=broadcast)
    return _Cutting(known, asked, memory, forced).run()


def task_plan(group: Group) -> Plan:
    """Return the plan of a group's program, which a task evaluates."""
    names = [copy.name for copy in group.reads]
    return build_plan(group.program, asked=group.asked, inputs=names)


@dataclass(slots=True)
class _Part:
    """Strata that go into one group; without a draft, their rules stay as they are."""

    strategy: Strategy
    strata: list[Stratum]
    why: str
    draft: Draft | None = None


@dataclass(slots=True)
class _Cutting:
    known: Known
    asked: Collection[str] | None
    memory: int | None
    forced: Strategy | None
    parts: list[_Part] = field(default_factory=list)
    tried: dict[tuple[tuple[int, ...], bool], tuple[Sequence[Stratum], Draft | None]] = field(
        default_factory=dict
    )

    def run(self) -> SparkPlan:
        todo = [s for s in self.known.plan.strata if self.known.is_defined(s)]
        if self.forced in (Strategy.ALONE, Strategy.ROUNDS):
            if todo:
                self.parts.append(_Part(self.forced, todo, "asked for"))
            todo = []
        reasons = kept_together(self.known)
        if self.known.tasks == 1 and self.forced is None:
            reasons = {s.number: reasons.get(s.number, "there is only one task") for s in todo}
        while todo:
            todo = self._take(todo, reasons)
        self._refuse()
        facts = {fact: None for s in self.known.plan.strata for fact in s.facts}
        groups: list[Group] = []
        for part in self.parts:
            group, stated = self._group(len(groups), part)
            groups.append(group)
            facts.update(dict.fromkeys(stated))
        return SparkPlan(tuple(groups), tuple(facts))

    # ── parts ──

    def _take(self, todo: list[Stratum], reasons: Mapping[int, str]) -> list[Stratum]:
        """Take the next part from what is to do, and return what is left."""
        if self.memory is not None and self._is_too_much(todo):
            count = _leading(todo, lambda s: why_not_by_rounds(self.known.plan, s) is None)
            if count:
                why = f"what is given has more than the {self.memory:,} bytes that tasks may hold"
                self.parts.append(_Part(Strategy.ROUNDS, list(todo[:count]), why))
                return todo[count:]
        free = _leading(todo, lambda s: s.number not in reasons)
        if not free:
            count = _leading(todo, lambda s: s.number in reasons)
            return todo[self._alone(todo, count, reasons[todo[0].number]) :]
        if self.forced is not Strategy.GANG:
            count = self._most(todo[:free], ships=False)
            if count:
                self._apart(todo[:count])
                return todo[count:]
        return self._exchanged(todo, free)

    def _apart(self, strata: Sequence[Stratum]) -> None:
        draft = self._place(strata, ships=False)
        assert draft is not None
        sites = [s for found in draft.local.values() for s in found]
        if sites and all(site.whole is ALONE for site in sites):
            why = "its rules read whole relations"
            self.parts.append(_Part(Strategy.ALONE, list(strata), why, draft))
        else:
            why = why_apart(self.known, strata, draft)
            self.parts.append(_Part(Strategy.DECOMPOSED, list(strata), why, draft))

    def _exchanged(self, todo: list[Stratum], free: int) -> list[Stratum]:
        """Take strata whose tuples are shipped, and those around them that may as well be there."""
        whole = self.forced is Strategy.GANG
        why = None if whole else why_unshipped(self.known, todo[0])
        count = 0
        if why is None:
            end = free if whole else self._reach(todo[:free])
            self.known, split = split_joins(self.known, todo[:end])
            todo = [*split, *todo[end:]]
            count = self._most(split, ships=True)
        if not count:
            why = why or why_unshipped(self.known, todo[0])
            why = why or "no task would have all that its rules read"
            return todo[self._alone(todo, 1, why) :]
        strata = todo[:count]
        if self.parts and self.parts[-1].strategy is Strategy.DECOMPOSED:
            before = self.parts[-1].strata
            if not any(s.recursive for s in before) and self._place(before + strata, ships=True):
                self.parts.pop()
                strata = before + strata
        draft = self._place(strata, ships=True)
        assert draft is not None
        said = why_exchanged(self.known, strata, draft)
        self.parts.append(_Part(Strategy.GANG, strata, said, draft))
        return todo[count:]

    def _reach(self, strata: Sequence[Stratum]) -> int:
        """Return how far those go who ship: to the last recursion that must be, and what follows.

        A recursion after that which falls apart is better off by itself.
        """
        last = max(
            place
            for place, stratum in enumerate(strata)
            if not place or (stratum.recursive and self._place([stratum], ships=False) is None)
        )
        return last + 1 + _leading(strata[last + 1 :], lambda s: not s.recursive)

    def _alone(self, todo: Sequence[Stratum], count: int, why: str) -> int:
        """Take strata for one task, and as many more as what they follow depends on."""
        while count < len(todo) and not self._selects(
            _Part(Strategy.ALONE, list(todo[:count]), why)
        ):
            count += 1
        self.parts.append(_Part(Strategy.ALONE, list(todo[:count]), why))
        return count

    def _most(self, strata: Sequence[Stratum], *, ships: bool) -> int:
        """Return how many strata, from the first on, can be derived together."""
        if self._place(strata, ships=ships) is not None:
            return len(strata)
        low, high = 0, len(strata)  # `low` can, `high` cannot
        while high - low > 1:
            middle = (low + high) // 2
            if self._place(strata[:middle], ships=ships) is not None:
                low = middle
            else:
                high = middle
        return low

    def _place(self, strata: Sequence[Stratum], *, ships: bool) -> Draft | None:
        key = (tuple(map(id, strata)), ships)
        if key not in self.tried:
            draft = place(self.known, strata, self._outputs(strata), ships=ships)
            part = _Part(Strategy.DECOMPOSED, list(strata), "", draft)
            # Strata are kept with the answer: the next ones must not get their addresses.
            kept = draft if draft is not None and self._selects(part) else None
            self.tried[key] = (strata, kept)
        return self.tried[key][1]

    def _selects(self, part: _Part) -> bool:
        """Say whether a recursion that would grow for ever still follows only what is best."""
        growing = {
            name: found
            for s in part.strata
            if s.growths
            for name, found in s.selections
            if any(g.relation == name for g in s.growths)
        }
        if not growing:
            return True
        group, _ = self._group(0, part)
        found = {name: s for stratum in task_plan(group).strata for name, s in stratum.selections}
        located = part.draft.local if part.draft is not None else {}
        names = {n: {f"{n}@{p}" for m, p in located if m == n} or {n} for n in growing}
        return all(name in found for n in growing for name in names[n])

    def _is_too_much(self, strata: Sequence[Stratum]) -> bool:
        names = {name for s in strata for name in s.relations}
        read = {r.relation for n in names for s in self.known.statements(n) for r in s.readings}
        given = (read | names) & self.known.given
        return sum(map(self.known.bytes, given)) > (self.memory or 0)

    def _outputs(self, strata: Sequence[Stratum]) -> set[str]:
        """Return the relations of the strata that are read elsewhere."""
        numbers = {s.number for s in strata}
        return {
            name
            for s in strata
            for name in s.relations
            if self._is_asked(name) or not self.known.readers.get(name, frozenset()) <= numbers
        }

    def _is_asked(self, name: str) -> bool:
        return not name.startswith("@") if self.asked is None else name in self.asked

    # ── groups ──

    def _group(self, number: int, part: _Part) -> tuple[Group, tuple[Atom, ...]]:
        everything = self.asked is None
        if part.draft is None:
            outputs = self._outputs(part.strata)
            group = keep(
                self.known,
                part.strata,
                outputs,
                number=number,
                strategy=part.strategy,
                why=part.why,
                everything=everything,
            )
            return group, ()
        return locate(
            self.known,
            part.draft,
            part.strata,
            number=number,
            strategy=part.strategy,
            why=part.why,
            everything=everything,
        )

    def _refuse(self) -> None:
        """Refuse a strategy that was asked for and that some stratum does not allow."""
        found: list[Diagnostic] = []
        for part in self.parts:
            if self.forced is Strategy.ROUNDS:
                reasons = [(s, why_not_by_rounds(self.known.plan, s)) for s in part.strata]
            elif self.forced in (None, part.strategy):
                continue
            elif self.forced is Strategy.DECOMPOSED and part.strategy is Strategy.GANG:
                reasons = [(part.strata[0], why_not_apart(self.known, part.strata))]
            else:
                reasons = [(part.strata[0], part.why)]
            found.extend(_refusal(self.forced, s, why) for s, why in reasons if why is not None)
        if found:
            raise UsageError(*found)


def _leading(strata: Sequence[Stratum], test: Callable[[Stratum], bool]) -> int:
    """Return how many strata, from the first on, pass the test."""
    return next((i for i, stratum in enumerate(strata) if not test(stratum)), len(strata))


def _refusal(forced: Strategy | None, stratum: Stratum, why: str) -> Diagnostic:
    assert forced is not None
    written: list[Rule | Subsumption] = [*stratum.rules, *stratum.subsumptions]
    return Diagnostic(
        "W1000",
        f"`{stratum.relations[0]}` cannot be evaluated by the strategy `{forced.value}`",
        written[0].span,
        why,
        hint="leave the strategy out, so that each part of the program gets one that suits it",
    )
