"""The embedded engine: load, evaluate stratum by stratum, hand out the relations."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa

from whence.analysis.kinds import record_fields, relation_kinds, type_kinds
from whence.diagnostics import Diagnostic, LimitError
from whence.engine.base import Limits, Observer, RelationStats, Stats
from whence.engine.local.arrow import decode_columns, encode_table
from whence.engine.local.codec import Codec
from whence.engine.local.columns import Columns
from whence.engine.local.compile import WORK_WORTH_COMPILING
from whence.engine.local.expressions import Context
from whence.engine.local.fixpoint import Fixpoint, Shown, relation_sizes
from whence.engine.local.folds import Folds
from whence.engine.local.guard import Guard, peak_bytes
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.keyed import KeyedRelation, Unordered
from whence.engine.local.live import LiveRelation
from whence.engine.local.records import RecordText
from whence.engine.local.relation import MAX_ROWS, Relation, TooManyRows
from whence.engine.local.rounds import Rounds
from whence.engine.local.rules import Scope
from whence.engine.local.selection import holds
from whence.engine.local.values import NIL, Values
from whence.engine.local.warm import prepare_kernels
from whence.functor.user import UserFunctors
from whence.functor.values import Array
from whence.plan.build import plan_stratum
from whence.plan.classes import column_classes
from whence.plan.nodes import Plan, Stratum, StratumPlan
from whence.syntax.nodes import Atom, Constant, Kind, Program, RelationDecl

MAX_THREADS = 256
"""More than this are not started, however many are asked for."""


class LocalEngine:
    """Evaluates in this process; `values` may be shared with other evaluations.

    `records` is how records are written in the tables that come and go.
    """

    name = "local"

    def __init__(
        self,
        *,
        values: Values | None = None,
        functors: UserFunctors | None = None,
        records: type[RecordText] = RecordText,
    ) -> None:
        self._values = values
        self._functors = functors or UserFunctors()
        self._records = records

    def evaluate(
        self,
        plan: Plan,
        inputs: Mapping[str, pa.Table],
        *,
        limits: Limits = Limits(),
        threads: int | None = None,
        observer: Observer | None = None,
    ) -> LocalEvaluation:
        """Return the relations of the plan over the inputs."""
        values = self._values if self._values is not None else Values()
        evaluation = LocalEvaluation(plan, inputs, values, self._functors, self._records)
        workers = min(max(1, threads if threads is not None else os.cpu_count() or 1), MAX_THREADS)
        with limits_told():
            evaluation.run(limits, workers, observer)
        return evaluation


@contextmanager
def limits_told() -> Iterator[None]:
    """Turn what an evaluation cannot hold into errors that say so."""
    try:
        yield
    except TooManyRows as error:
        raise LimitError(
            Diagnostic("W0705", f"`{error}` would have more than {MAX_ROWS:,} tuples")
        ) from None
    except MemoryError:
        raise LimitError(
            Diagnostic(
                "W0703",
                "the machine has no more memory for this evaluation",
                hint="ask for less with `whence query`, or use a machine with more memory",
            )
        ) from None


class LocalEvaluation:
    """The relations of one evaluation, as rows of codes."""

    def __init__(
        self,
        plan: Plan,
        inputs: Mapping[str, pa.Table],
        values: Values,
        functors: UserFunctors,
        records: type[RecordText] = RecordText,
    ) -> None:
        started = time.perf_counter()
        program = plan.program
        self.stats = Stats()
        self.selected: frozenset[str] = frozenset()
        self._plan = plan
        self.values = values
        self._decls: dict[str, RelationDecl] = {d.name: d for d in program.relations}
        self._kinds = relation_kinds(program)
        kinds, fields = type_kinds(program), record_fields(program)
        self._records = records(values, kinds, fields)
        rows = {
            name: encode_table(table, self._decls[name], self._kinds[name], values, self._records)
            for name, table in inputs.items()
            if name in self._decls
        }
        if sum(map(len, rows.values())) > WORK_WORTH_COMPILING:
            self.stats.prepare_seconds = prepare_kernels()
        self._columns = Columns(column_classes(program), self._kinds, values, rows)
        self.codec = Codec(self._decls, kinds, fields, self._columns, values)
        self._inputs = rows
        self.relations: dict[str, Relation] = {d.name: self._relation(d) for d in program.relations}
        self.loaded: dict[str, int] = {}
        """How many rows of each relation are base facts: the first ones."""
        self.rounds: dict[str, list[int]] = {}
        """How many rows each relation had after each round of its stratum."""
        declared = {f.name: f for f in program.functors}
        self._context = Context(values, declared, kinds, functors)
        self.stats.load_seconds = time.perf_counter() - started - self.stats.prepare_seconds

    def _relation(self, decl: RelationDecl) -> Relation:
        return Relation(decl.name, decl.arity, self._columns.ranges(decl.name, decl.arity))

    def run(self, limits: Limits, threads: int, observer: Observer | None) -> None:
        """Evaluate all strata."""
        started = time.perf_counter()
        guard = Guard(limits)
        self.stats.threads = threads
        pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        try:
            for stratum in self._plan.strata:
                self.run_stratum(stratum, guard, threads, pool, observer)
        finally:
            guard.stopped = True
            if pool is not None:
                pool.shutdown(wait=True)
        self.stats.evaluate_seconds = time.perf_counter() - started - guard.prepared
        self.stats.prepare_seconds += guard.prepared
        self.stats.peak_memory_bytes = peak_bytes()

    def run_stratum(
        self,
        stratum: Stratum,
        guard: Guard,
        threads: int,
        pool: ThreadPoolExecutor | None,
        observer: Observer | None,
    ) -> None:
        """Evaluate one stratum over those below."""
        tuples = guard.tuples
        try:
            plan = plan_stratum(
                stratum,
                self._sizes(stratum),
                selected=all(holds(a, self.relations[a.relation]) for a in stratum.assumes),
            )
            self._run_plan(stratum, plan, guard, threads, pool, observer)
        except Unordered:  # rare enough to begin again
            guard.tuples, guard.stopped = tuples, False
            for name in stratum.relations:
                self.relations[name] = self._relation(self._decls[name])
            plan = plan_stratum(stratum, self._sizes(stratum), keyed=False)
            self._run_plan(stratum, plan, guard, threads, pool, observer)
        for name in stratum.relations:
            self._inputs.pop(name, None)

    def _run_plan(
        self,
        stratum: Stratum,
        plan: StratumPlan,
        guard: Guard,
        threads: int,
        pool: ThreadPoolExecutor | None,
        observer: Observer | None,
    ) -> None:
        self.selected |= {name for name, _ in plan.selections}
        for name, keyed in plan.keyed:
            self.relations[name] = KeyedRelation(name, self._decls[name].arity, keyed)
        self._load(stratum, guard)
        scope = Scope(self.relations, self._context, self._columns.code, Folds(self.values), guard)
        sizes = {
            d.relation: int(d.get("n"))
            for d in self._plan.program.directives
            if d.action == "limitsize"
        }
        refusals = {name: why.message for name, why in self._plan.refusals}
        shown = Shown(self._decls, self._kinds, self._values_of, refusals)
        fixpoint = Fixpoint(
            plan, scope, guard, threads=threads, pool=pool, limits=sizes, shown=shown
        )
        watched = Rounds(self.relations, self.rounds, observer)
        rounds = fixpoint.run(watched, len(self._plan.strata))
        for name in stratum.relations:
            self.stats.relations[name] = RelationStats(self.relations[name].alive, rounds)

    def _sizes(self, stratum: Stratum) -> dict[str, int]:
        """Return the sizes below the stratum; those of its own relations are not known yet."""
        sizes = relation_sizes(self.relations)
        for name in stratum.relations:
            if stratum.recursive:
                sizes.pop(name, None)
        return sizes

    def _load(self, stratum: Stratum, guard: Guard) -> None:
        facts: dict[str, list[Atom]] = {}
        for fact in stratum.facts:
            facts.setdefault(fact.relation, []).append(fact)
        for name in stratum.relations:
            relation = self.relations[name]
            rows = self._inputs.get(name)
            if rows is not None:
                guard.tuples += relation.insert(rows, rows.shape[0])
            if name in facts:
                rows = self.fact_rows(name, facts[name])
                guard.work += rows.shape[0]
                guard.check()
                guard.tuples += relation.insert(rows, rows.shape[0])
            relation.settle()
            self.loaded[name] = relation.size
        guard.check()

    def fact_rows(self, name: str, facts: Sequence[Atom]) -> Rows:
        """Return facts of constants as rows of the relation's codes."""
        code = self._columns.code
        rows = np.empty((len(facts), self._decls[name].arity), dtype=np.int64)
        for i, fact in enumerate(facts):
            for column, term in enumerate(fact.args):
                rows[i, column] = code(name, column, term) if isinstance(term, Constant) else NIL
        return rows

    # ── for views ──

    def encode(self, relation: str, table: pa.Table, columns: Sequence[int] | None = None) -> Rows:
        """Return facts as rows of the relation's codes, or only these columns of facts."""
        decl, kinds = self._decls[relation], self._kinds[relation]
        if columns is not None:
            decl = replace(decl, attributes=tuple(decl.attributes[c] for c in columns))
            kinds = tuple(kinds[c] for c in columns)
        rows = encode_table(table, decl, kinds, self.values, self._records)
        self._columns.renumber(relation, rows, range(decl.arity) if columns is None else columns)
        return rows

    def decode(self, relation: str, rows: Rows) -> pa.Table:
        """Return rows of the relation's codes as a table; further columns are left out."""
        decl, kinds = self._decls[relation], self._kinds[relation]
        if decl.arity == 0:
            return pa.table({"": pa.nulls(rows.shape[0])}).select([])
        columns = self._columns.restore(relation, rows, range(decl.arity))
        return decode_columns(columns, decl, kinds, self.values, self._records)

    @property
    def interned(self) -> int:
        """How many values have got a number, whether they are still there or not."""
        return self.values.size + self._columns.size

    def scope(self, guard: Guard) -> Scope:
        """Return what rules over the relations are compiled against."""
        return Scope(self.relations, self._context, self._columns.code, Folds(self.values), guard)

    def fresh(self, relation: str) -> Relation:
        """Return an empty relation of that name."""
        return self._relation(self._decls[relation])

    def live(self, relation: str) -> LiveRelation:
        """Return an empty live relation of that name."""
        arity = self._decls[relation].arity
        return LiveRelation(relation, arity, self._columns.ranges(relation, arity))

    def _values_of(self, relation: str, rows: Rows) -> list[tuple[object, ...]]:
        """Return rows as people read them."""
        columns = self.decode(relation, rows).columns
        return list(zip(*(column.to_pylist() for column in columns), strict=True))

    # ── results ──

    @property
    def program(self) -> Program:
        """The program that was evaluated, as it was rewritten."""
        return self._plan.program

    def size(self, relation: str) -> int:
        """Return the number of tuples."""
        return self.relations[relation].alive

    def table(self, relation: str, *, ordered: bool = False) -> pa.Table:
        """Return the tuples, decoded."""
        decl, kinds = self._decls[relation], self._kinds[relation]
        rows = self.relations[relation].live_rows()
        columns = self._columns.restore(relation, rows, range(decl.arity))
        if decl.arity == 0:
            return pa.table({"": pa.nulls(rows.shape[0])}).select([])
        if ordered and rows.shape[0] > 1:
            order = self._ordering(columns, kinds)
            columns = [c[order] for c in columns]
        return decode_columns(columns, decl, kinds, self.values, self._records)

    def ordering(self, relation: str) -> Ints:
        """Return the places of the relation's rows in the order of an ordered table."""
        rows = self.relations[relation].live_rows()
        if rows.shape[0] < 2 or rows.shape[1] == 0:
            return np.arange(rows.shape[0])
        columns = self._columns.restore(relation, rows, range(rows.shape[1]))
        return self._ordering(columns, self._kinds[relation])

    def _ordering(self, columns: Sequence[Ints], kinds: Sequence[Kind]) -> Ints:
        keys = [self._order(c, k) for c, k in zip(columns, kinds, strict=True)]
        return np.lexsort(keys[::-1])

    def _order(self, codes: Ints, kind: Kind) -> Array:
        """Return keys that sort as the values do."""
        if kind is Kind.SYMBOL:
            unique = np.unique(codes)
            rank: Ints = np.empty(int(unique[-1]) + 1, dtype=np.int64)
            rank[unique[np.argsort(self.values.symbols.texts(unique))]] = np.arange(len(unique))
            return rank[codes]
        return self.values.decode(codes, kind)

    def method(self, relation: str) -> str:
        """Return how duplicates of the relation are found."""
        return self.relations[relation].method
