"""The last step of a rule: the head's columns, read off bindings or computed from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from whence.engine.local.expressions import Context, compile_term
from whence.engine.local.kernels.hashing import Ints, Rows
from whence.engine.local.kernels.products import project_product
from whence.engine.local.kernels.search import WAYS
from whence.engine.local.operators import CHUNK, CodeOf, Push
from whence.plan.products import left_product
from whence.syntax.nodes import Constant, Kind, Term, Variable


def project(
    head: Sequence[Term],
    relation: str,
    slots: Mapping[str, int],
    context: Context,
    code: CodeOf,
    after: Push,
) -> Push:
    """Read the head's columns off each binding."""
    if all(isinstance(term, Variable) for term in head):
        order = [slots[term.name] for term in head if isinstance(term, Variable)]

        def permute(binding: Rows, n: int) -> None:
            if order == list(range(binding.shape[1])) and binding.flags.c_contiguous:
                after(binding, n)
            else:
                after(np.ascontiguousarray(binding[:n][:, order]), n)

        return permute
    multiplied = _product(head, slots, after)
    if multiplied is not None:
        return multiplied
    columns = [
        compile_term(term, slots, context)
        if not isinstance(term, Constant)
        else _always(code(relation, i, term))
        for i, term in enumerate(head)
    ]

    def compute(binding: Rows, n: int) -> None:
        out = np.empty((n, len(columns)), dtype=np.int64)
        for i, column in enumerate(columns):
            out[:, i] = column(binding, n)
        after(out, n)

    return compute


def _product(head: Sequence[Term], slots: Mapping[str, int], after: Push) -> Push | None:
    """The same for variables and one product of numbers, which is what annotated rules have."""
    computed = [column for column, term in enumerate(head) if not isinstance(term, Variable)]
    found = left_product(head[computed[0]]) if len(computed) == 1 else None
    if found is None:
        return None
    combine, kind, names = found
    column = computed[0]
    order = _slots([slots[t.name] if isinstance(t, Variable) else 0 for t in head])
    factors = _slots([slots[name] for name in names])
    way, floats = WAYS[combine], kind is Kind.FLOAT

    def compute(binding: Rows, n: int) -> None:
        out = np.empty((n, len(head)), dtype=np.int64)
        bound = np.ascontiguousarray(binding[:n])
        numbers: Any = bound.view(np.float64) if floats else bound
        out_numbers: Any = out.view(np.float64) if floats else out
        project_product(bound, numbers, n, order, factors, way, column, out, out_numbers)
        after(out, n)

    return compute


def _always(code: int) -> Callable[[Rows, int], Ints]:
    constant = np.full(CHUNK, code, dtype=np.int64)
    return lambda _binding, n: constant[:n]


def _slots(numbers: Sequence[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)
