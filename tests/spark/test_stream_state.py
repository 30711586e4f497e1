"""What a stream's views keep, read and are asked for: the parts that need no Spark."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark.streams import ANNOTATED
from view.partitions import Partitions
from whence import session
from whence.diagnostics import DataError, UsageError, WhenceError
from whence.facts.schema import arrow_schema
from whence.rows import tuples_of
from whence.spark.streaming.changed import shown
from whence.spark.streaming.incoming import Reader, Soft, lines_of, refuse, work_out
from whence.spark.streaming.program import Streamed, streamed
from whence.spark.streaming.state import Committed, Delta, Folder, merged
from whence.syntax.nodes import Kind
from whence.view.base import Update
from whence.view.windows import Window

PROGRAM = """
.decl edge(x: number, y: number)
.decl tag(x: number, s: symbol)
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
KINDS = {"edge": (Kind.NUMBER, Kind.NUMBER), "tag": (Kind.NUMBER, Kind.SYMBOL), "on": ()}
PAIR = st.tuples(st.integers(0, 3), st.integers(0, 3))


def edges(*rows: tuple[int, int]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [(), ()]
    return pa.table({"x": pa.array(columns[0], pa.int64()), "y": pa.array(columns[1], pa.int64())})


def folder(path: Path) -> Folder:
    for name in ("deltas", "snapshots", "staging"):
        (path / name).mkdir(parents=True)
    return Folder(path)


# ── state ──


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.sets(PAIR, max_size=4), st.sets(PAIR, max_size=4)), min_size=1),
    st.integers(1, 3),
    st.data(),
)
def test_base_facts_are_what_all_batches_come_to(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[tuple[set[tuple[int, int]], set[tuple[int, int]]]],
    buckets: int,
    data: st.DataObject,
) -> None:
    state = folder(tmp_path_factory.mktemp("state"))
    stated = {"edge": edges((9, 9))}
    there = {(9, 9)}
    committed = Committed()
    for number, (came, went) in enumerate(batches):
        state.put_delta(number, Delta({"edge": edges(*came)}, {"edge": edges(*went)}))
        there = (there - went) | came
        if data.draw(st.booleans()):
            into = state.path / "staging" / "one"
            for bucket in range(buckets):
                state.compact(into, committed, number, stated, (bucket, buckets), KINDS)
            into.rename(state.snapshot_path(number))
            committed = Committed(number, number)
            state.commit(committed)
            state.clean(committed)
            assert state.committed == committed
    found = state.base(committed.snapshot, len(batches) - 1, stated).came.get("edge", edges())
    assert set(tuples_of(found)) == there
    assert found.num_rows == len(there)


def test_what_is_in_windows_is_what_all_batches_say() -> None:
    stamped = edges((1, 2)).append_column("t", pa.array([5.0])).append_column("n", pa.array([1]))
    later = edges((1, 2)).append_column("t", pa.array([7.0])).append_column("n", pa.array([2]))
    first, second = Delta(stamped={"edge": stamped}), Delta(stamped={"edge": later})
    gone = Delta(unstamped={"edge": edges((1, 2))})
    assert tuples_of(merged([first, second]).stamped["edge"]) == [(1, 2, 7.0, 2)]
    assert merged([first, second, gone]).stamped == {}
    assert tuples_of(merged([first, gone, second]).stamped["edge"]) == [(1, 2, 7.0, 2)]


def test_a_relation_without_columns_is_there_by_the_last_word() -> None:
    one = pa.table({"": pa.nulls(1)}).select([])
    assert merged([Delta({"on": one}), Delta(went={"on": one})]).came == {}
    assert merged([Delta(went={"on": one}), Delta({"on": one})]).came["on"].num_rows == 1


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    state = folder(tmp_path / "state")
    state.put_delta(3, Delta({"edge": edges((1, 2))}))
    path = state.delta_path(3)
    body = bytearray(path.read_bytes())
    body[-3] ^= 1
    path.write_bytes(body)
    with pytest.raises(WhenceError, match="checksum"):
        state.delta(3)


# ── updates ──


def reader() -> Reader:
    program = streamed(PROGRAM, tasks=1)
    columns = {name: program.columns(name) for name in program.inputs}
    return Reader(columns, {"path": program.columns("path")})


def columns() -> dict[str, tuple]:
    program = streamed(PROGRAM, tasks=1)
    return {name: program.columns(name) for name in program.inputs}


def fields(*rows: tuple[object, ...]) -> pa.Table:
    names = ["op", "relation", "values", "time"]
    return pa.table({n: [row[i] for row in rows] for i, n in enumerate(names)})


def test_updates_come_as_lines_as_texts_and_as_json() -> None:
    lines = pa.table(
        {
            "text": ['+edge(1, 2).\n-tag(3, "a, b") @ 4.\n// nothing'],
            "source": ["f"],
            "position": [1],
        }
    )
    found = reader().read(lines)
    assert [(f.sign, f.relation, f.row, f.time) for f in found.facts] == [
        ("+", "edge", (1, 2), None),
        ("-", "tag", (3, "a, b"), 4.0),
    ]
    texts = reader().read(fields(("+", "edge", ["1", "2"], None), ("-", "tag", ["3", "x"], 4.0)))
    assert [f.row for f in texts.facts] == [(1, 2), (3, "x")]
    json_ = reader().read(
        fields(("+", "edge", "[1, 2]", 1.5), ("+", "edge", '{"y": 1, "x": 2}', 0))
    )
    assert [(f.row, f.time) for f in json_.facts] == [((1, 2), 1.5), ((2, 1), 0.0)]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (("+", "egde", ["1", "2"], None), "W0683"),
        (("*", "edge", ["1", "2"], None), "W0682"),
        (("+", "edge", ["1"], None), "W0684"),
        (("+", "edge", ["1", "x"], None), "W0685"),
        (("+", "path", ["1", "2"], None), "W1046"),
        (("+", "edge", None, None), "W0682"),
        (("+", "edge", ["1", "2"], "noon"), "W0680"),
        (("~", "edge", ["1", "2"], None), "W0688"),
    ],
)
def test_a_wrong_update_is_told_with_its_place(row: tuple[object, ...], code: str) -> None:
    one = pa.table(
        {n: pa.array([v]) for n, v in zip(["op", "relation", "values", "time"], row, strict=True)}
    )
    table = one.append_column("source", pa.array(["topic-0"]))
    table = table.append_column("position", pa.array([77]))
    found = reader().read(table)
    assert not found.facts
    (bad,) = found.bad
    assert (bad.diagnostic.code, bad.source, bad.position) == (code, "topic-0", 77)
    assert json.loads(next(lines_of(found.bad)))["code"] == code
    with pytest.raises(DataError):
        refuse(found.bad)


def test_the_last_word_on_a_fact_counts() -> None:
    table = pa.table(
        {
            "text": ["+edge(1, 1).\n-edge(1, 1).\n-edge(2, 2).\n+edge(2, 2)."],
            "source": ["f"],
            "position": [1],
        }
    )
    soft = Soft({}, 0.0, Committed())
    delta = work_out(reader().read(table).facts, soft, columns(), 0)
    assert tuples_of(delta.came["edge"]) == [(2, 2)]
    assert tuples_of(delta.went["edge"]) == [(1, 1)]


def batch(soft: Soft, text: str) -> Delta:
    table = pa.table({"text": [text], "source": ["f"], "position": [1]})
    delta = work_out(reader().read(table).facts, soft, columns(), 0)
    soft.committed = Committed(**{**soft.committed.as_json(), **delta.told})
    return delta


def test_facts_leave_their_window_by_the_times_of_others() -> None:
    soft = Soft({"edge": Window(width=10)}, 0.0, Committed())
    assert batch(soft, "+edge(1, 2) @ 0.\n+edge(2, 3) @ 5.").came["edge"].num_rows == 2
    delta = batch(soft, '+tag(1, "x") @ 12.')
    assert tuples_of(delta.went["edge"]) == [(1, 2)]
    assert "edge" not in delta.came


def test_what_comes_after_the_watermark_is_counted_and_not_applied() -> None:
    soft = Soft({"edge": Window(width=100)}, 3.0, Committed())
    batch(soft, "+edge(1, 2) @ 10.")
    delta = batch(soft, "+edge(2, 3) @ 6.9.\n+edge(3, 4) @ 7.\n-edge(1, 2) @ 1.")
    assert tuples_of(delta.came["edge"]) == [(3, 4)]
    assert not delta.went
    assert delta.told["late"] == 2


def test_windows_are_the_same_when_batches_are_read_again() -> None:
    texts = ["+edge(1, 2) @ 0.\n+edge(2, 3) @ 5.", "+edge(1, 2) @ 9.", "+edge(7, 7) @ 16."]
    first = Soft({"edge": Window(width=10)}, 0.0, Committed())
    deltas = [batch(first, text) for text in texts]
    again = Soft({"edge": Window(width=10)}, 0.0, Committed())
    again.restore(merged(deltas[:1]).stamped)
    for delta in deltas[1:]:
        again.follow(Delta.decode(delta.encode()))
    assert again.contents["edge"].stamps == first.contents["edge"].stamps
    assert tuples_of(deltas[2].went["edge"]) == [(2, 3)]


def test_a_fact_without_a_time_cannot_be_in_a_window() -> None:
    with pytest.raises(DataError, match="W1048"):
        batch(Soft({"edge": Window(width=10)}, 0.0, Committed()), "+edge(1, 2).")


# ── programs ──


def test_mistakes_in_what_is_asked_for_are_told_before_anything_starts() -> None:
    with pytest.raises(UsageError, match="W1041"):
        streamed(PROGRAM, tasks=1, outputs=["pth"])
    with pytest.raises(UsageError, match="W1040"):
        streamed(
            ".decl a(x: number, @prov)\n.decl b(x: number, @prov)\nb(x) :- a(x).",
            tasks=1,
            semiring="why",
        )


# ── annotations ──


def test_annotations_of_a_chain_are_kept_by_several_tasks() -> None:
    chance = Random(4)
    program = streamed(ANNOTATED, tasks=2)
    held = Partitions(program.groups, program.outputs, 2, program.inside)
    schema = arrow_schema(program.columns("link"))
    links: dict[tuple[int, int], float] = {}
    told: set[tuple] = set()

    def facts(rows: list[tuple]) -> pa.Table | None:
        if not rows:
            return None
        columns = zip(zip(*rows, strict=True), schema, strict=True)
        return program.taken(
            "link", pa.table([pa.array(v, f.type) for v, f in columns], schema=schema)
        )

    for _ in range(12):
        came, went = [], []
        for _ in range(6):
            pair = chance.randrange(6), chance.randrange(6)
            if pair in links:
                went.append((*pair, links.pop(pair)))
            else:
                links[pair] = float(chance.randrange(1, 9))
                came.append((*pair, links[pair]))
        came = [row for row in came if links.get(row[:2]) == row[2]]
        went = [row for row in went if row not in came]
        moved = held.moved({"link": Update(facts(came), facts(went)), **_constants(program)})
        for part in moved:
            for come, gone in filter(None, (shown(program, name, part) for name in part)):
                told -= set(tuples_of(gone))
                told |= set(tuples_of(come))
        rows = [(*pair, cost) for pair, cost in links.items()]
        inputs = (
            {}
            if not rows
            else {
                "link": pa.table([pa.array(v) for v in zip(*rows, strict=True)], names=schema.names)
            }
        )
        found = session.evaluate(session.parse(ANNOTATED), inputs)
        assert told == set(tuples_of(found.table("dist")))
    assert told


def _constants(program: Streamed) -> dict[str, Update]:
    return {name: Update(table) for name, table in program.constants.items()}
