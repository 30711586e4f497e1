"""Cutting a plan into groups: as few Spark jobs as can be, none with more talk than it needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from whence.engine.spark.known import BROADCAST_BYTES, Known, know
from whence.engine.spark.located import locate
from whence.engine.spark.model import (
    ALONE,
    Copy,
    Group,
    SparkPlan,
    Strategy,
)
from whence.engine.spark.placement import place
from whence.engine.spark.sites import Draft
from whence.engine.spark.together import kept_together
from whence.engine.spark.why import why_apart, why_exchanged
from whence.plan.build import build_plan
from whence.plan.nodes import Plan, Stratum
from whence.syntax.nodes import Atom, Program


def cut(
    plan: Plan,
    *,
    sizes: Mapping[str, int] | None = None,
    tasks: int,
    forced: Strategy | None = None,
    inputs: Collection[str],
    asked: Collection[str] | None = None,
    broadcast: int = BROADCAST_BYTES,
) -> SparkPlan:
    """Return the groups that evaluate a plan with this many tasks, in the order they run.

    `sizes` are numbers of tuples, where they are known; `inputs` the relations that are given
    facts; `asked` those whose tuples somebody reads, None when that may be any. What has more
    than `broadcast` bytes is not sent to every task if there is another way.
    """
    known = know(plan, inputs=inputs, sizes=sizes, tasks=tasks, broadcast=broadcast)
    return _Cutting(known, asked).run(forced)


def task_plan(group: Group) -> Plan:
    """Return the plan of a group's program, which a task evaluates."""
    names = [copy.name for copy in group.reads]
    return build_plan(group.program, asked=group.asked, inputs=names)


@dataclass(slots=True)
class _Part:
    """Strata that go into one group."""

    strategy: Strategy
    strata: list[Stratum]
    draft: Draft | None
    why: str = ""


@dataclass(slots=True)
class _Cutting:
    known: Known
    asked: Collection[str] | None
    parts: list[_Part] = field(default_factory=list)

    def run(self, forced: Strategy | None) -> SparkPlan:
        todo = [s for s in self.known.plan.strata if self.known.is_defined(s)]
        reasons = kept_together(self.known)
        while todo:
            todo = todo[self._take(todo, reasons) :]
        facts = {fact: None for s in self.known.plan.strata for fact in s.facts}
        groups: list[Group] = []
        for part in self.parts:
            group, stated = self._group(len(groups), part)
            groups.append(group)
            facts.update(dict.fromkeys(stated))
        return SparkPlan(tuple(groups), tuple(facts))

    def _take(self, todo: Sequence[Stratum], reasons: Mapping[int, str]) -> int:
        """Take the next part from what is to do, and return how many strata it has."""
        alone = [s.number in reasons for s in todo]
        if alone[0]:
            count = alone.index(False) if False in alone else len(todo)
            strata = list(todo[:count])
            self.parts.append(_Part(Strategy.ALONE, strata, None, reasons[strata[0].number]))
            return count
        end = alone.index(True) if True in alone else len(todo)
        count = self._apart(todo, end)
        if count:
            strata = list(todo[:count])
            draft = place(self.known, strata, self._outputs(strata), ships=False)
            assert draft is not None
            why = why_apart(self.known, strata, draft)
            self.parts.append(_Part(Strategy.DECOMPOSED, strata, draft, why))
            return count
        strata = list(todo[:1])
        draft = place(self.known, strata, self._outputs(strata), ships=True)
        if draft is None:
            self.parts.append(_Part(Strategy.ALONE, strata, None, "its rules fit no placement"))
        else:
            why = why_exchanged(self.known, strata, draft)
            self.parts.append(_Part(Strategy.GANG, strata, draft, why))
        return 1

    def _apart(self, todo: Sequence[Stratum], end: int) -> int:
        """Return how many strata can be derived together without shipping."""

        def fits(count: int) -> bool:
            strata = todo[:count]
            return place(self.known, strata, self._outputs(strata), ships=False) is not None

        if fits(end):
            return end
        low, high = 0, end  # fits(low) holds, fits(high) does not
        while high - low > 1:
            middle = (low + high) // 2
            if fits(middle):
                low = middle
            else:
                high = middle
        return low

    def _outputs(self, strata: Sequence[Stratum]) -> set[str]:
        """Return the relations of the strata that are read elsewhere."""
        numbers = {s.number for s in strata}
        names = {name for s in strata for name in s.relations}
        found = {n for n in names if self._is_asked(n)}
        for stratum in self.known.plan.strata:
            if stratum.number in numbers:
                continue
            for name in stratum.relations:
                statements = [
                    *self.known.rules.get(name, ()),
                    *(s for _, s in self.known.subsumptions.get(name, ())),
                ]
                found |= names & {r.relation for s in statements for r in s.readings}
        return found

    def _is_asked(self, name: str) -> bool:
        return not name.startswith("@") if self.asked is None else name in self.asked

    def _group(self, number: int, part: _Part) -> tuple[Group, tuple[Atom, ...]]:
        if part.draft is None:
            return self._whole(number, part), ()
        return locate(
            self.known,
            part.draft,
            part.strata,
            number=number,
            strategy=part.strategy,
            why=part.why,
            everything=self.asked is None,
        )

    def _whole(self, number: int, part: _Part) -> Group:
        """Return a group that has the rules as they are, over the relations themselves."""
        known, whole = self.known, self.known.program
        own = [name for s in part.strata for name in s.relations]
        rules = tuple(rule for s in part.strata for rule in s.rules)
        subsumptions = tuple(one for s in part.strata for one in s.subsumptions)
        used = dict.fromkeys(own)
        for name in own:
            for statement in known.rules.get(name, ()):
                used.update((r.relation, None) for r in statement.readings)
            for _, statement in known.subsumptions.get(name, ()):
                used.update((r.relation, None) for r in statement.readings)
        program = Program(
            whole.types,
            whole.functors,
            tuple(known.decls[name] for name in used),
            rules,
            subsumptions,
            tuple(d for d in whole.directives if d.action == "limitsize" and d.relation in own),
            whole.pragmas,
        )
        reads = tuple(
            Copy(name, name, ALONE) for name in used if name not in own or name in known.given
        )
        outputs = self._outputs(part.strata)
        writes = tuple(Copy(name, name, ALONE) for name in own if name in outputs)
        asked = None if self.asked is None else tuple(copy.name for copy in writes)
        strata = tuple(s.number for s in part.strata)
        return Group(
            number, part.strategy, strata, program, reads, writes, why=part.why, asked=asked
        )
