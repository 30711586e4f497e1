"""Edges are rows, whatever columns they come from."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lineage.edges import edges
from whence.lineage.events import (
    EDGES,
    Edge,
    Kind,
    as_edges,
    batch_of,
    concatenate,
    edges_of,
    empty,
    make_batch,
)


@given(st.lists(edges()))
def test_edges_come_back_from_their_rows(some: list[Edge]) -> None:
    batch = batch_of(some)
    assert batch.schema.equals(EDGES)
    batch.validate(full=True)
    assert list(edges_of(batch)) == some


@given(st.lists(st.lists(edges(), max_size=3), max_size=4))
def test_batches_become_one_with_each_space_once(some: list[list[Edge]]) -> None:
    whole = concatenate(map(batch_of, some))
    whole.validate(full=True)
    assert list(edges_of(whole)) == [edge for part in some for edge in part]
    spaces = whole.column("source_space").dictionary.to_pylist()
    assert len(spaces) == len(set(spaces))


@given(st.lists(edges(), min_size=1))
def test_columns_may_come_in_any_order_and_coding(some: list[Edge]) -> None:
    batch = batch_of(some)
    plain = pa.table(
        {
            name: batch.column(name).cast(pa.large_utf8())
            if "space" in name
            else batch.column(name)
            for name in reversed(EDGES.names)
        }
    )
    assert list(edges_of(as_edges(plain))) == some


def test_one_value_stands_for_every_row() -> None:
    batch = make_batch(
        kind=Kind.END, source_space="f", source=[1, 2], target_space=None, target=None, attempt=3
    )
    assert list(edges_of(batch)) == [Edge(Kind.END, ("f", n), attempt=3) for n in (1, 2)]
    assert empty().num_rows == 0
    assert str(Edge(Kind.USED, ("f", 1), ("ex:a", -1))) == "USED whence:f/1 ex:a"
