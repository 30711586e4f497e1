"""Rows on the wire mean to the receiver what they meant to the sender, whatever codes both use."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.analysis.kinds import record_fields, relation_kinds, type_kinds
from whence.engine.local.columns import Columns
from whence.engine.local.values import NIL, Values
from whence.engine.spark.gang.wire import (
    Incoming,
    Outgoing,
    Records,
    Symbols,
    Tuples,
    Words,
    from_cells,
    to_cells,
)
from whence.plan.classes import column_classes
from whence.rewrite.resolve_types import resolve_types
from whence.syntax.souffle import parse

PROGRAM = resolve_types(
    parse(
        """
        .type List = [head: symbol, tail: List]
        .type Tree = [left: Tree, labels: List, right: Tree]
        .decl r(s: symbol, n: number, l: List, t: Tree)
        """
    )
)

symbols = st.sampled_from(["a", "b", "", "ü, ]", "nil"])
lists = st.recursive(st.none(), lambda tail: st.tuples(symbols, tail), max_leaves=6)
trees = st.recursive(st.none(), lambda t: st.tuples(t, lists, t), max_leaves=5)
rows = st.lists(st.tuples(symbols, st.integers(-(2**63), 2**63 - 1), lists, trees), max_size=8)


class Task:
    """The values of one task, to write with and to read."""

    def __init__(self) -> None:
        self.values = Values()
        kinds = relation_kinds(PROGRAM)
        self.words = Words(
            self.values,
            Columns(column_classes(PROGRAM), kinds, self.values, {}),
            {d.name: d for d in PROGRAM.relations},
            kinds,
            type_kinds(PROGRAM),
            record_fields(PROGRAM),
        )

    def code(self, value: Any, type_: str) -> int:
        if value is None:
            return NIL
        if isinstance(value, str):
            return self.values.symbols.code(value)
        if isinstance(value, int):
            return value
        fields = self.words.fields[type_]
        codes = [self.code(v, t) for v, t in zip(value, fields, strict=True)]
        return int(self.values.pack(np.array([codes], dtype=np.int64))[0])

    def value(self, code: int, type_: str) -> Any:
        if type_ == "symbol":
            return self.values.symbols.text(code)
        if type_ == "number":
            return code
        if code == NIL:
            return None
        fields = self.words.fields[type_]
        (codes,) = self.values.unpack(np.array([code], dtype=np.int64), len(fields)).tolist()
        return tuple(self.value(c, t) for c, t in zip(codes, fields, strict=True))


COLUMNS = ("symbol", "number", "List", "Tree")


@settings(max_examples=100)
@given(st.lists(rows, max_size=4), rows)
def test_rows_mean_the_same_and_what_was_told_is_not_told_again(
    rounds: list[list[tuple[Any, ...]]], known: list[tuple[Any, ...]]
) -> None:
    sender, receiver = Task(), Task()
    for row in known:  # the receiver has codes of its own by now
        for value, type_ in zip(row, COLUMNS, strict=True):
            receiver.code(value, type_)
    outgoing, incoming = Outgoing(sender.words), Incoming(receiver.words)
    told: set[tuple[str, int]] = set()
    for given_ in rounds:
        codes = [[sender.code(v, t) for v, t in zip(row, COLUMNS, strict=True)] for row in given_]
        array = np.array(codes, dtype=np.int64).reshape(len(given_), 4)
        found: list[tuple[Any, ...]] = []
        for part in outgoing.parts("r", array):
            header, cells = to_cells(part)
            arrived = from_cells(header, cells)
            match arrived:
                case Symbols(codes=new):
                    names = {("symbol", code) for code in new.tolist()}
                    assert not told & names
                    told |= names
                    incoming.symbols(arrived)
                case Records(type=type_, codes=new):
                    names = {(type_, code) for code in new.tolist()}
                    assert not told & names
                    told |= names
                    incoming.records(arrived)
                case Tuples():
                    for row in incoming.rows(arrived).tolist():
                        found.append(
                            tuple(receiver.value(c, t) for c, t in zip(row, COLUMNS, strict=True))
                        )
        assert found == given_
