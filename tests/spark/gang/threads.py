"""A gang in one process: a thread for each task, with Arrow Flight between them."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from whence.analysis.kinds import relation_kinds
from whence.engine.base import Limits
from whence.engine.local.engine import LocalEngine
from whence.engine.local.records import ExactRecordText
from whence.engine.spark.gang.endpoint import Access, Tls
from whence.engine.spark.gang.exchange import Exchange, Patience
from whence.engine.spark.gang.task import GangEvaluation
from whence.engine.spark.model import EVERYWHERE, By, Copy, Group, Ship, Strategy
from whence.engine.spark.shuffle import empty_table, share
from whence.functor.user import UserFunctors
from whence.plan.build import build_plan
from whence.rewrite.resolve_types import resolve_types
from whence.syntax.souffle import parse


def hand_made(
    text: str,
    *,
    reads: Sequence[Copy],
    writes: Sequence[Copy],
    ships: Sequence[Ship] = (),
) -> Group:
    """Return a group whose program is written by hand, copying rules and all."""
    program = resolve_types(parse(text))
    return Group(0, Strategy.GANG, (0,), program, tuple(reads), tuple(writes), tuple(ships))


def copy(name: str, placement: str | int) -> Copy:
    """Return a copy that is called `<relation>_<placement>` in the program."""
    located = By(placement) if isinstance(placement, int) else EVERYWHERE
    return Copy(f"{name}_{placement}", name, located)


@dataclass
class Outcome:
    """What all tasks came to."""

    evaluations: list[GangEvaluation]

    def rows(self, relation: Copy) -> list[tuple[object, ...]]:
        """Return the tuples of all tasks, sorted, duplicates and all."""
        shown = self.evaluations if relation.placement is not EVERYWHERE else self.evaluations[:1]
        return sorted(row for e in shown for row in rows_of(e.table(relation.name)))


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    """Return a table as tuples."""
    if not table.num_columns:
        return [()] * table.num_rows
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def located(
    group: Group, inputs: Mapping[str, pa.Table], task: int, tasks: int
) -> dict[str, pa.Table]:
    """Return what a task of a group is given of the inputs."""
    kinds = relation_kinds(group.program)
    return {
        c.name: share(
            inputs.get(c.relation, empty_table(kinds[c.name])),
            c.placement,
            kinds[c.name],
            task,
            tasks,
        )
        for c in group.reads
    }


def run_gang(
    group: Group,
    inputs: Mapping[str, pa.Table],
    tasks: int,
    *,
    limits: Limits = Limits(),
    patience: Patience | None = None,
    functors: UserFunctors | None = None,
    tls: Tls | None = None,
) -> Outcome:
    """Evaluate a group by several threads; the first mistake of any of them is raised."""
    functors = functors or UserFunctors()
    if tasks == 1:
        only = GangEvaluation(group, located(group, inputs, 0, 1), functors, None)
        only.evaluate(limits)
        return Outcome([only])
    access = Access(secrets.token_bytes(16), tls)
    exchanges = [
        Exchange(i, tasks, host="127.0.0.1", access=access, patience=patience) for i in range(tasks)
    ]
    found: dict[int, GangEvaluation] = {}
    errors: list[Exception] = []

    def work(task: int) -> None:
        exchange = exchanges[task]
        try:
            exchange.connect([e.location for e in exchanges], "here")
            given = located(group, inputs, task, tasks)
            found[task] = GangEvaluation(group, given, functors, exchange)
            found[task].evaluate(limits)
        except Exception as error:
            errors.append(error)
            exchange.stop(str(error), mistake=True)
        finally:
            exchange.close()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(tasks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    if errors:
        raise errors[0]
    return Outcome([found[i] for i in range(tasks)])


def judged(
    group: Group, inputs: Mapping[str, pa.Table], relation: Copy
) -> list[tuple[object, ...]]:
    """Return what the embedded engine makes of the group's program, copying rules included."""
    whole = located(group, inputs, 0, 1)
    plan = build_plan(group.program, asked=group.asked, inputs=whole)
    evaluation = LocalEngine(records=ExactRecordText).evaluate(plan, whole)
    return sorted(rows_of(evaluation.table(relation.name)))
