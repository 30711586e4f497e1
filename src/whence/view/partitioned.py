"""What one task holds of the views of a program: its part of every group, brought up to date.

The tasks of a program go through its groups in the same order. Base facts come to all of them, and
each takes its share; what a group changes goes on to the groups that read it, to other tasks where
those need it there. Tables are as tasks exchange them, with records written so that any symbol in
them is read as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from whence.analysis.kinds import relation_kinds
from whence.engine.base import Limits
from whence.engine.local.records import ExactRecordText
from whence.engine.spark.model import EVERYWHERE, Copy, Placement
from whence.engine.spark.shuffle import empty_table, share, shares
from whence.facts.directives import concat_facts
from whence.functor.user import UserFunctors
from whence.syntax.nodes import Kind
from whence.view.base import STRATEGIES, Batch, Update
from whence.view.live import LiveView
from whence.view.partitioned_exchange import Parcel, Post
from whence.view.partitioned_part import Moved, SharedPart
from whence.view.partitioned_plan import Kept, Part


@dataclass(slots=True)
class _Held:
    """One part of a group, as this task has it: a view, once there are facts."""

    part: Part
    reads: frozenset[str]
    given: frozenset[str]
    """Those of them that come from outside the group; some may have rules as well."""
    wanted: frozenset[str]
    """The copies whose changes somebody waits for."""
    view: LiveView | SharedPart | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """How views are kept."""

    strategy: str = STRATEGIES[0]
    threads: int = 1
    limits: Limits = field(default_factory=Limits)
    functors: UserFunctors | None = None


class Partition:
    """The views of one task."""

    def __init__(
        self,
        groups: Sequence[Kept],
        outputs: Collection[str],
        *,
        task: int,
        tasks: int,
        settings: Settings | None = None,
    ) -> None:
        self.task, self.tasks = task, tasks
        self._groups = groups
        self._settings = settings or Settings()
        self._outputs = frozenset(outputs)
        read_later = {copy.relation for group in groups for copy in group.reads}
        self._held = [self._holding(group, self._outputs | read_later) for group in groups]
        self._kinds: dict[str, tuple[Kind, ...]] = {}
        for group in groups:
            for part in group.parts:
                self._kinds |= relation_kinds(part.program)

    def _holding(self, group: Kept, relations: Collection[str]) -> list[_Held]:
        found: list[_Held] = []
        wanted = {copy.name for copy in group.writes if copy.relation in relations}
        for part in reversed(group.parts):
            declared = frozenset(d.name for d in part.program.relations)
            given = declared & {copy.name for copy in group.reads}
            reads = (declared - {*part.derives} - {*part.external}) | given
            found.insert(0, _Held(part, reads, given, frozenset(wanted & declared)))
            wanted |= reads
        return found

    def apply(self, batch: Batch, post: Post) -> Moved:
        """Apply base facts that come and go, with all tasks; return the changes of the outputs.

        The first batch makes the views, and returns all that they hold.
        """
        moved: Moved = {}
        placed: dict[str, Placement] = {}
        for group, parts in zip(self._groups, self._held, strict=True):
            fed = self._fed(group, batch, moved, placed, post)
            changes: Moved = {}
            for held in parts:
                changes |= self._part(held, {**changes, **fed}, post)
            for copy in group.writes:
                placed[copy.relation] = copy.placement
                if copy.name in changes:
                    moved[copy.relation] = changes[copy.name]
        return {
            name: change
            for name, change in moved.items()
            if name in self._outputs and (placed[name] is not EVERYWHERE or self.task == 0)
        }

    # ── from group to group ──

    def _fed(
        self,
        group: Kept,
        batch: Batch,
        moved: Moved,
        placed: Mapping[str, Placement],
        post: Post,
    ) -> Moved:
        """Return the changes of the copies that a group reads."""
        changes: Moved = {}
        parcels = [Parcel() for _ in range(self.tasks)]
        speaks = False
        for copy in group.reads:
            if copy.relation not in placed:
                update = batch.get(copy.relation)
                if update is not None:
                    changes[copy.name] = self._share(copy, update.inserted, update.deleted)
                continue
            came, went = moved.get(copy.relation, (None, None))
            if placed[copy.relation] in (copy.placement, EVERYWHERE):
                changes[copy.name] = self._share(copy, came, went)
                continue
            speaks = self.tasks > 1
            for sign, table in (("+", came), ("-", went)):
                if table is not None:
                    parts = shares(table, copy.placement, self._kinds[copy.name], self.tasks)
                    for parcel, part in zip(parcels, parts, strict=True):
                        parcel.add(sign + copy.name, part)
        incoming = post.swap(parcels) if speaks else parcels[:1] if self.tasks == 1 else None
        arrived: dict[str, list[pa.Table]] = {}
        for parcel in incoming or ():
            for name, tables in parcel.tables.items():
                arrived.setdefault(name, []).extend(tables)
        for name in {name[1:] for name in arrived}:
            changes[name] = tuple(  # type: ignore[assignment]
                concat_facts(arrived[sign + name]) if sign + name in arrived else None
                for sign in "+-"
            )
        return changes

    def _share(
        self, copy: Copy, came: pa.Table | None, went: pa.Table | None
    ) -> tuple[pa.Table | None, pa.Table | None]:
        kinds = self._kinds[copy.name]
        found = [
            None if table is None else share(table, copy.placement, kinds, self.task, self.tasks)
            for table in (came, went)
        ]
        return found[0], found[1]

    # ── within a group ──

    def _part(self, held: _Held, changes: Moved, post: Post) -> Moved:
        """Bring one part up to date with the changes of what it reads; return its own."""
        batch = {
            name: Update(*changes[name])
            for name in held.reads
            if name in changes and any(t is not None and t.num_rows for t in changes[name])
        }
        if held.part.ships:
            found = self._shared(held).apply(batch, post)
            return {name: change for name, change in found.items() if name in held.wanted}
        if held.view is None:
            return self._begun(held, batch)
        assert isinstance(held.view, LiveView)
        if not batch:
            return {}
        told = held.view.apply(batch)
        return {
            name: (told[name].inserted, told[name].deleted) for name in held.wanted if name in told
        }

    def _shared(self, held: _Held) -> SharedPart:
        settings = self._settings
        if held.view is None:
            held.view = SharedPart(
                held.part,
                held.given,
                task=self.task,
                tasks=self.tasks,
                threads=settings.threads,
                limits=settings.limits,
                functors=settings.functors,
            )
        assert isinstance(held.view, SharedPart)
        return held.view

    def _begun(self, held: _Held, batch: Batch) -> Moved:
        """Make a view of its first facts; all that it holds has come."""
        settings = self._settings
        given = {name: empty_table(self._kinds[name]) for name in held.given}
        given |= {name: u.inserted for name, u in batch.items() if u.inserted is not None}
        view = held.view = LiveView(
            held.part.program,
            given,
            strategy=settings.strategy,
            limits=settings.limits,
            threads=settings.threads,
            functors=settings.functors,
            records=ExactRecordText,
        )
        return {
            name: (table, table.slice(0, 0))
            for name in held.wanted
            if (table := view.table(name)).num_rows
        }

    def table(self, relation: str) -> pa.Table | None:
        """Return this task's tuples of an output, None if others have them."""
        for group, parts in zip(self._groups, self._held, strict=True):
            for copy in group.writes:
                if copy.relation != relation:
                    continue
                if copy.placement is EVERYWHERE and self.task:
                    return None
                for held in parts:
                    declared = {*held.part.derives} or {d.name for d in held.part.program.relations}
                    if held.view is not None and copy.name in declared:
                        return held.view.table(copy.name)
        return None
