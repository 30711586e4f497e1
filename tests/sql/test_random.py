"""Random SQL gives what DuckDB gives, before and after updates."""

from __future__ import annotations

import os
from random import Random

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sql import randomized
from whence import Database

LONG = int(os.environ.get("WHENCE_EXAMPLES", "150"))


def compare(r: Random, query: str) -> None:
    """Ask both, change the tables, and ask both again.

    A row with a NULL is DuckDB's alone: an aggregate over nothing has no value here.
    """
    peer, ours = duckdb.connect(), Database()
    for data in (randomized.rows(r), randomized.rows(r)):
        for statement in filter(None, (*_emptied(), *randomized.inserts(data).split(";"))):
            if not peer.execute("show tables").fetchall():
                peer.execute(randomized.create())
                ours.sql(randomized.create())
            peer.execute(statement)
            ours.sql(statement)
        expected = {row for row in peer.execute(query).fetchall() if None not in row}
        found = ours.sql(query)
        assert found is not None
        assert set(found.rows()) == expected, query
        assert len(found) == len(expected), query


def _emptied() -> list[str]:
    return [f"delete from {table}" for table in randomized.TABLES]


@given(st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_queries(r: Random) -> None:
    compare(r, randomized.Queries(r).query())


@given(st.randoms(use_true_random=False))
@settings(max_examples=15)
def test_recursive_queries(r: Random) -> None:
    compare(r, randomized.Queries(r).recursive())


@pytest.mark.slow
@given(st.randoms(use_true_random=False))
@settings(max_examples=LONG)
def test_many_queries(r: Random) -> None:
    made = randomized.Queries(r)
    compare(r, made.recursive() if r.random() < 0.3 else made.query())
