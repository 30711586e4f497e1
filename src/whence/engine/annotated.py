"""Annotated evaluation in any semiring: evaluate plainly, ground every rule, solve the instances.

Chains of numbers have a quicker way, as columns that keep the best; this is the way of all others.
It goes stratum by stratum: a fact whose annotation turns out zero is not there for those above.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from whence.analysis.convergence import check_convergence
from whence.diagnostics import raise_errors
from whence.engine.base import Limits, Observer, RelationStats, Stats
from whence.engine.endless import endless
from whence.engine.local.base_facts import BaseFacts
from whence.engine.local.engine import MAX_THREADS, LocalEvaluation, limits_told
from whence.engine.local.ground import Grounding, dropping, is_annotated, join_instances
from whence.engine.local.guard import Guard, peak_bytes
from whence.engine.local.values import Values
from whence.functor.user import UserFunctors
from whence.rewrite.annotate import COLUMN, check_subsumptions
from whence.semiring.base import Cell, Semiring
from whence.semiring.hypergraph import Hypergraph, Ints
from whence.semiring.solve import Endless, solve

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.plan.nodes import Plan, Stratum

T = TypeVar("T")


def evaluate_annotated(
    plan: Plan,
    inputs: Mapping[str, pa.Table],
    semiring: Semiring[Any],
    *,
    functors: UserFunctors | None = None,
    limits: Limits = Limits(),
    threads: int | None = None,
    observer: Observer | None = None,
) -> AnnotatedEvaluation[Any]:
    """Return the relations of the plan over the inputs, annotated in the semiring.

    The plan is of a program after `run_passes(..., derivations=True)`, made by `build_plan` with
    `asked=None`. The table of an input has the relation's columns, or one more: its annotations,
    null for a fact that comes without. Facts of the program's text have that of their rule
    (`Rule.annotation`). What comes without is annotated with `semiring.variable`.
    """
    program = plan.program
    raise_errors(check_convergence(program, semiring))
    names = [decl.name for decl in program.relations if is_annotated(decl.name)]
    check_subsumptions(program, names)
    evaluation = AnnotatedEvaluation(plan, inputs, semiring, functors or UserFunctors())
    workers = min(max(1, threads if threads is not None else os.cpu_count() or 1), MAX_THREADS)
    with limits_told():
        evaluation.run(limits, workers, observer)
    return evaluation


class AnnotatedEvaluation(Generic[T]):
    """The relations after evaluation, each fact with its annotation."""

    def __init__(
        self,
        plan: Plan,
        inputs: Mapping[str, pa.Table],
        semiring: Semiring[T],
        functors: UserFunctors,
    ) -> None:
        self.semiring = semiring
        self.selected: frozenset[str] = frozenset()
        self._plan = plan
        self._base = BaseFacts(plan.program, inputs, semiring)
        self._local = LocalEvaluation(plan, self._base.tables, Values(), functors)
        self._values: list[T] = []
        """The annotations of all rows, relation after relation in the order of strata."""
        self._first: dict[str, int] = {}
        """Where those of each relation begin."""

    @property
    def stats(self) -> Stats:
        """What the evaluation cost."""
        return self._local.stats

    # ── evaluation ──

    def run(self, limits: Limits, threads: int, observer: Observer | None) -> None:
        """Evaluate and annotate all strata."""
        started = time.perf_counter()
        guard = Guard(limits)
        local, stats = self._local, self._local.stats
        stats.threads = threads
        grounding = Grounding(local, guard, dropping(self._plan))
        pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        try:
            for stratum in self._plan.strata:
                local.run_stratum(stratum, guard, threads, pool, observer)
                self._annotate(stratum, grounding, guard)
        finally:
            guard.stopped = True
            if pool is not None:
                pool.shutdown(wait=True)
        stats.evaluate_seconds = time.perf_counter() - started - guard.prepared
        stats.prepare_seconds += guard.prepared
        stats.peak_memory_bytes = peak_bytes()

    def _annotate(self, stratum: Stratum, grounding: Grounding, guard: Guard) -> None:
        """Annotate the facts of a stratum, given the annotations of those below."""
        names = [name for name in stratum.relations if is_annotated(name)]
        lowest = highest = len(self._values)
        for name in names:
            self._first[name] = highest
            highest += self._local.relations[name].size
        leaves = [v for name in names for v in self._base.annotations(name, self._local, grounding)]
        rules = [r for r in stratum.rules if r.body and is_annotated(r.head.relation)]
        if rules:
            parts = [(grounding.instances(rule), rule) for rule in rules]
            whole = join_instances(parts, self._first, highest)
            graph, below = _apart(whole, lowest)
            try:
                found = solve(
                    graph, self.semiring, leaves + [self._values[n] for n in below], guard.check
                )
            except Endless as error:
                self._values += leaves
                raise endless(
                    [self.fact_text(lowest + node) for node in error.cycle.nodes],
                    [rules[int(graph.rules[i])] for i in error.cycle.instances],
                    self.semiring,
                ) from None
            leaves = found[: highest - lowest]
        self._values += leaves
        for name in names:
            self._bury_zeros(name, grounding)

    def _bury_zeros(self, name: str, grounding: Grounding) -> None:
        """Leave out the facts whose annotation says that they are not there."""
        zero, at = self.semiring.zero, self._first[name]
        relation = self._local.relations[name]
        values = self._values[at : at + relation.size]
        gone = [row for row, value in enumerate(values) if value == zero]
        if gone:
            relation.bury(np.array(gone, dtype=np.int64))
            grounding.forget(name)
            rounds = self.stats.relations[name].rounds
            self.stats.relations[name] = RelationStats(relation.alive, rounds)

    # ── results ──

    def fact_text(self, node: int) -> str:
        """Return the fact whose annotation is kept at this place, as text."""
        name, at = [item for item in self._first.items() if item[1] <= node][-1]
        return self._base.text(name, self._local.relations[name].rows[node - at], self._local)

    def size(self, relation: str) -> int:
        """Return the number of tuples."""
        return self._local.size(relation)

    def annotations(self, relation: str, *, ordered: bool = False) -> list[T]:
        """Return the annotations as values of the semiring, in the order of `table`."""
        found, at = self._local.relations[relation], self._first[relation]
        values = self._values[at : at + found.size]
        if found.dead.shape[0]:
            values = [v for v, dead in zip(values, found.dead, strict=False) if not dead]
        return [values[i] for i in self._local.ordering(relation)] if ordered else values

    def table(self, relation: str, *, ordered: bool = False) -> pa.Table:
        """Return the tuples with one more last column, `@prov`: what the semiring shows.

        It is int64, double or string by `semiring.column`; numbers that are too large for int64
        come as text. `ordered` sorts by the tuple's columns.
        """
        import pyarrow as pa

        plain = self._local.table(relation, ordered=ordered)
        shown: dict[T, Cell] = {}
        cells = []
        for value in self.annotations(relation, ordered=ordered):
            cell = shown.get(value)
            if cell is None:
                cell = shown[value] = self.semiring.show(value)
            cells.append(cell)
        column = annotation_column(cells, self.semiring)
        if plain.num_columns == 0:
            return pa.table({COLUMN: column})
        return plain.append_column(COLUMN, column)


def annotation_column(cells: Sequence[Cell], semiring: Semiring[Any]) -> pa.Array:
    """Return what a semiring shows as a column."""
    import pyarrow as pa

    match semiring.column:
        case "number":
            if all(-(1 << 63) <= int(cell) < 1 << 63 for cell in cells):
                return pa.array(cells, pa.int64())
            return pa.array(map(str, cells), pa.string())
        case "float":
            return pa.array(map(float, cells), pa.float64())
        case "symbol":
            return pa.array(map(str, cells), pa.string())


def _apart(graph: Hypergraph, lowest: int) -> tuple[Hypergraph, Ints]:
    """Number nodes from `lowest` on first, then those below that are premises; return these."""
    own = graph.nodes - lowest
    inside = graph.premises >= lowest
    below = np.unique(graph.premises[~inside])
    premises = np.where(
        inside, graph.premises - lowest, own + np.searchsorted(below, graph.premises)
    )
    heads = graph.heads - lowest
    return Hypergraph(own + len(below), heads, graph.rules, graph.start, premises), below
