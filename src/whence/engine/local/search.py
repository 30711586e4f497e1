"""A linear recursion run as a search: number the states, sort the steps, search from each seed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.engine.local.buffers import grown
from whence.engine.local.columns import is_sparse
from whence.engine.local.dictionary import Dictionary
from whence.engine.local.guard import Guard, Stopped
from whence.engine.local.kernels import search as kernels
from whence.engine.local.kernels.hashing import Ints, Rows, Small
from whence.engine.local.keyed import KeyedRelation, Unordered
from whence.engine.local.operators import CHUNK, Chunks
from whence.engine.local.parallel import together
from whence.engine.local.relation import MAX_ROWS, TooManyRows
from whence.engine.local.rules import Scope, compile_plan
from whence.plan.nodes import Combine, Keyed, RulePlan, Search
from whence.syntax.nodes import Constant, Kind

_PATIENCE = 64, 1 << 20
"""A search that makes so many times as many steps as there are, and so many more, is broken off."""

_BLOCK = 1 << 17
"""Rows that a thread writes before it hands them over."""

_SHARES = 16
"""Parts per thread into which the searches are cut."""

Numbers = NDArray[Any]


class Endless(Exception):
    """A search may not end, or not with the best: it is left to rounds, which tell."""


@dataclass(frozen=True, slots=True)
class Graph:
    """States by number, and the steps between them in the order of the states they leave."""

    states: Rows
    start: Ints
    target: Small
    weight: Numbers

    @property
    def size(self) -> int:
        return int(self.states.shape[0])


class States:
    """Numbers for the states of a search: the value itself where values are dense."""

    def __init__(self, width: int, parts: Sequence[Rows]) -> None:
        self.width = width
        self._low: int | None = None
        self._count = 0
        rows = sum(part.shape[0] for part in parts)
        if width == 1 and rows:
            filled = [part for part in parts if part.shape[0]]
            low, high = min(int(p.min()) for p in filled), max(int(p.max()) for p in filled)
            if not is_sparse(low, high, rows):
                self._low, self._count = low, high - low + 1
        self._dictionary = Dictionary(width)

    def number(self, rows: Rows) -> Ints:
        """Return the number of each state."""
        if self._low is not None:
            return rows[:, 0] - self._low
        return self._dictionary.encode(np.ascontiguousarray(rows))

    def rows(self) -> Rows:
        """Return all states by number."""
        if self._low is not None:
            return np.arange(self._low, self._low + self._count, dtype=np.int64).reshape(-1, 1)
        return self._dictionary.rows[: self._dictionary.size]


def run_search(
    search: Search,
    steps: Sequence[RulePlan],
    scope: Scope,
    guard: Guard,
    threads: int,
    pool: ThreadPoolExecutor | None,
) -> None:
    """Complete the relation, which holds the seeds, with everything that searches reach."""
    relation = scope.relations[search.relation]
    assert isinstance(relation, KeyedRelation)
    seeds = relation.rows[: relation.size].copy()
    found = step_rows(search, steps, scope)
    guard.work += seeds.shape[0] + found.shape[0]
    guard.check()
    width = len(search.state)
    ends = seeds[:, search.state]
    states = States(width, [found[:, :width], found[:, width : 2 * width], ends])
    leaves, reaches = states.number(found[:, :width]), states.number(found[:, width : 2 * width])
    seed_state = states.number(ends)
    weights = _values(found[:, 2 * width], search)
    _check_order(search, weights, _values(seeds[:, _keyed(search).value], search))
    graph = sort_graph(states.rows(), leaves, reaches, weights)
    relation.rows, relation.size = _Searches(search, graph, seeds, seed_state, guard).run(
        threads, pool
    )
    relation.forget_keys()


def step_rows(search: Search, steps: Sequence[RulePlan], scope: Scope) -> Rows:
    """Return the tuples of all steps: the state left, the state reached, and the weight."""
    width = len(search.state)

    def code(relation: str, column: int, constant: Constant) -> int:
        if relation != steps[0].head.relation:
            return scope.code(relation, column, constant)
        if column == 2 * width:
            return scope.context.values.code(constant)
        return scope.code(search.relation, search.state[column % width], constant)

    parts: list[Rows] = []
    inner = replace(scope, code=code)
    for plan in steps:
        runner = compile_plan(plan, inner, Chunks(), lambda rows, n: parts.append(rows[:n].copy()))
        source = runner.source()
        for begin in range(0, source.shape[0], CHUNK):
            chunk = source[begin : begin + CHUNK]
            runner.push(chunk, chunk.shape[0])
            scope.guard.work += chunk.shape[0]
            scope.guard.check()
    empty = np.empty((0, 2 * width + 1), dtype=np.int64)
    return np.concatenate(parts) if parts else empty


def sort_graph(states: Rows, leaves: Ints, reaches: Ints, weights: Numbers) -> Graph:
    """Return the graph of these steps."""
    start = np.zeros(states.shape[0] + 1, dtype=np.int64)
    order = np.empty(leaves.shape[0], dtype=np.int32)
    kernels.sort_steps(leaves, leaves.shape[0], start, order)
    return Graph(states, start, reaches[order].astype(np.int32), weights[order])


def _values(codes: Ints, search: Search) -> Numbers:
    """Return numbers to compute with; a NaN is neither better nor worse than any."""
    codes = np.ascontiguousarray(codes)
    if _keyed(search).kind is not Kind.FLOAT:
        return codes
    numbers = codes.view(np.float64)
    if bool(np.isnan(numbers).any()):
        raise Unordered
    return numbers


def _keyed(search: Search) -> Keyed:
    assert search.keyed is not None  # only what keeps the best is searched by an evaluation
    return search.keyed


def _check_order(search: Search, weights: Numbers, seeds: Numbers) -> None:
    """Refuse numbers with which a better value may lead to a worse one, or to none at all."""
    if search.combine is Combine.PRODUCT and min(_least(weights), _least(seeds)) < 0:
        raise Endless
    infinite = _keyed(search).kind is Kind.FLOAT and search.combine in (
        Combine.SUM,
        Combine.PRODUCT,
        Combine.BOUNDED,
    )
    if infinite and not (np.isfinite(weights).all() and np.isfinite(seeds).all()):
        raise Endless


def _least(numbers: Numbers) -> float:
    return float(numbers.min()) if numbers.shape[0] else 0.0


class _Searches:
    """The searches of one stratum, one for each value of the pivot columns."""

    def __init__(
        self, search: Search, graph: Graph, seeds: Rows, seed_state: Ints, guard: Guard
    ) -> None:
        self._search = search
        self._graph = graph
        self._seeds = seeds
        self._state = seed_state
        self._value = _values(seeds[:, _keyed(search).value], search)
        self._guard = guard
        self._start, self._order = _groups(seeds, search.pivot)
        self._lock = threading.Lock()
        self._rows: Rows = np.empty((16, seeds.shape[1]), dtype=np.int64)
        self._size = 0
        self._most = _PATIENCE[0] * (graph.size + graph.target.shape[0]) + _PATIENCE[1]

    def run(self, threads: int, pool: ThreadPoolExecutor | None) -> tuple[Rows, int]:
        groups = self._start.shape[0] - 1
        shares = min(groups, threads * _SHARES)
        cuts = [groups * i // shares for i in range(shares + 1)] if shares else [0]
        ticket = pairwise(cuts)
        workers = min(threads, shares) if pool is not None else 1
        tasks = [partial(self._work, ticket) for _ in range(workers)]
        if workers > 1:
            assert pool is not None
            together(pool, self._guard, tasks)
        elif tasks:
            tasks[0]()
        return self._rows, self._size

    def _work(self, ticket: Any) -> None:
        graph, search = self._graph, self._search
        n = graph.size
        value = np.empty(n, dtype=graph.weight.dtype)
        flag = np.zeros(n, dtype=np.uint8)
        touched, far = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        near = np.empty(1 << n.bit_length(), dtype=np.int32)
        sample = np.empty(kernels.SAMPLE, dtype=graph.weight.dtype)
        out = np.empty((max(_BLOCK, n), self._seeds.shape[1]), dtype=np.int64)
        out_value = out.view(np.float64) if value.dtype == np.float64 else out
        pivot = np.array(search.pivot, dtype=np.int64)
        state = np.array(search.state, dtype=np.int64)
        work = np.zeros(1, dtype=np.int64)
        while True:
            with self._lock:
                share = next(ticket, None)
            if share is None:
                return
            at, end = share
            while at < end:
                at, m = kernels.search(
                    at,
                    end,
                    self._start,
                    self._order,
                    self._state,
                    self._value,
                    graph.start,
                    graph.target,
                    graph.weight,
                    kernels.WAYS[search.combine],
                    _keyed(search).greatest,
                    value,
                    flag,
                    touched,
                    near,
                    far,
                    sample,
                    self._most,
                    pivot,
                    state,
                    _keyed(search).value,
                    self._seeds,
                    graph.states,
                    out,
                    out_value,
                    work,
                )
                if at < 0:
                    raise Endless
                self._hand_over(out, m, work)

    def _hand_over(self, out: Rows, m: int, work: Ints) -> None:
        with self._lock:
            size = self._size + m
            if size > MAX_ROWS:
                raise TooManyRows(self._search.relation)
            self._rows = grown(self._rows, self._size, size)
            self._rows[self._size : size] = out[:m]
            self._size = size
            self._guard.tuples += m
            self._guard.work += int(work[0])
            work[0] = 0
        if self._guard.stopped:
            raise Stopped
        self._guard.check()


def _groups(seeds: Rows, pivot: tuple[int, ...]) -> tuple[Ints, Small]:
    """Return the seeds in groups of equal pivot columns: where each begins, and their numbers."""
    n = seeds.shape[0]
    order = np.empty(n, dtype=np.int32)
    if not pivot:
        order[:] = np.arange(n, dtype=np.int32)
        return np.array([0, n] if n else [0], dtype=np.int64), order
    states = States(len(pivot), [seeds[:, pivot]])
    numbers = states.number(seeds[:, pivot])
    start = np.zeros(states.rows().shape[0] + 1, dtype=np.int64)
    kernels.sort_steps(numbers, n, start, order)
    return start[np.append(True, np.diff(start) > 0)], order
