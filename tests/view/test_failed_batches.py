"""A batch that fails leaves the view as it was, and the next one is taken."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from interrupts import interrupted
from view.judge import rows_of
from view.knobs import turned
from whence.diagnostics import WhenceError
from whence.engine.base import Limits
from whence.session import maintain, parse
from whence.view.base import STRATEGIES, Update, View

PROGRAM = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.decl alone(x: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
alone(x) :- edge(x, _), !path(x, x).
"""
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


def edges(*rows: tuple[int, int]) -> pa.Table:
    return pa.table({"x": pa.array([x for x, _ in rows], pa.int64()), "y": [y for _, y in rows]})


def everything(view: View) -> dict[str, list[tuple[object, ...]]]:
    found = {name: sorted(rows_of(view.table(name))) for name in ("edge", "path", "alone")}
    return found | {"base": sorted(rows_of(view.base("edge")))}


@every_strategy
def test_a_batch_over_the_limit_is_not_taken_at_all(strategy: str) -> None:
    limits = Limits(max_tuples=400)
    view = maintain(
        parse(PROGRAM), {"edge": edges((1, 2), (2, 3), (9, 9))}, strategy=strategy, limits=limits
    )
    before = everything(view)
    ring = [(n, (n + 1) % 40) for n in range(40)]
    for _ in range(2):
        with pytest.raises(WhenceError, match="W07"):
            view.apply({"edge": Update(inserted=edges(*ring), deleted=edges((2, 3), (9, 9)))})
        assert everything(view) == before
    change = view.apply({"edge": Update(inserted=edges((3, 1)), deleted=edges((9, 9)))})
    assert sorted(rows_of(change["alone"].deleted)) == [(1,), (2,)]
    assert sorted(rows_of(view.table("path"))) == [(x, y) for x in (1, 2, 3) for y in (1, 2, 3)]


@every_strategy
@pytest.mark.parametrize(
    "table",
    [
        pa.table({"x": ["one"], "y": ["two"]}),
        pa.table({"x": [1]}),
        pa.table({"x": pa.array([1, None], pa.int64()), "y": pa.array([2, 3], pa.int64())}),
    ],
    ids=["symbols", "one column", "an empty value"],
)
def test_a_batch_that_does_not_fit_is_not_taken_at_all(strategy: str, table: pa.Table) -> None:
    view = maintain(parse(PROGRAM), {"edge": edges((1, 2), (2, 3))}, strategy=strategy)
    before = everything(view)
    with pytest.raises(WhenceError):
        view.apply({"edge": Update(deleted=edges((1, 2))), "path": Update(inserted=table)})
    assert everything(view) == before
    view.apply({"edge": Update(deleted=edges((1, 2)))})
    assert sorted(rows_of(view.table("path"))) == [(2, 3)]


@pytest.mark.parametrize("strategy", ["ranked", "recompute"])
def test_a_batch_that_is_interrupted_is_taken_whole_or_not_at_all(strategy: str) -> None:
    ring = [(n, (n + 1) % 5) for n in range(5)]
    batch = {"edge": Update(inserted=edges((7, 7), (0, 2)), deleted=edges((4, 0), (2, 3)))}
    modules = [f"whence.view.{name}" for name in ("live", "stratum", "groups")]
    after = everything(maintain(parse(PROGRAM), {"edge": edges((0, 1), (1, 2), (7, 7), (0, 2))}))
    with turned({"compact": 1}):
        for line in itertools.count(1, 2):
            view = maintain(parse(PROGRAM), {"edge": edges(*ring)}, strategy=strategy)
            view.apply({"edge": Update(deleted=edges((3, 4)))})  # which leaves rows to drop
            before = everything(view)
            changes = None
            with interrupted(line, *modules, "whence.engine.local.live") as lines:
                changes = view.apply(batch)
            assert everything(view) == (after if changes is not None else before), f"line {line}"
            view.apply(batch)
            assert everything(view) == after, f"line {line}"
            if not lines.came:
                break
    assert line > 100
