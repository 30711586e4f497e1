"""`.input` and `.output`: which file is read or written, and how."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from whence.diagnostics import DataError, Diagnostic, ProgramError
from whence.facts.directives import load_inputs, write_outputs
from whence.facts.schema import arrow_schema, columns_of, truths
from whence.syntax.nodes import Program
from whence.syntax.souffle import parse

EDGE = ".decl edge(x: number, y: symbol)\n"


class Tables:
    """Relations that are simply there."""

    def __init__(self, program: Program, rows: Mapping[str, list[tuple[Any, ...]]]) -> None:
        self.tables: dict[str, pa.Table] = {}
        for name, given in rows.items():
            schema = arrow_schema(columns_of(program, name))
            arrays = [pa.array([r[i] for r in given], f.type) for i, f in enumerate(schema)]
            self.tables[name] = pa.table(arrays, schema=schema) if arrays else truths(len(given))

    def size(self, relation: str) -> int:
        return int(self.tables[relation].num_rows)

    def table(self, relation: str, *, ordered: bool = False) -> pa.Table:
        return self.tables[relation]


def put(text: str, out: Path, rows: Mapping[str, list[tuple[Any, ...]]], **options: Any) -> str:
    program = parse(text)
    stdout = io.BytesIO()
    write_outputs(program, Tables(program, rows), out, stdout=stdout, **options)
    return stdout.getvalue().decode()


@pytest.mark.parametrize(
    ("directive", "name", "text"),
    [
        (".input edge", "edge.facts", "1\ta\n"),
        (".input edge(IO=file)", "edge.facts", "1\ta\n"),
        ('.input edge(filename="e.txt", delimiter=",")', "e.txt", "1,a\n"),
        ('.input edge(IO="file", filename="e.csv", rfc4180=true)', "e.csv", '1,"a"\n'),
        ('.input edge(IO=file, filename="e", headers=true)', "e", "x\ty\n1\ta\n"),
        ('.input edge(filename="e.jsonl")', "e.jsonl", '{"x": 1, "y": "a"}\n'),
        ('.input edge(IO=jsonl, filename="e")', "e", '[1, "a"]\n'),
        ('.input edge(columns="1:0")', "edge.facts", "a\t1\n"),
    ],
)
def test_an_input_reads_the_file_its_directive_names(
    tmp_path: Path, directive: str, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    loaded = load_inputs(parse(EDGE + directive), tmp_path)
    assert loaded["edge"].to_pylist() == [{"x": 1, "y": "a"}]


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "e.facts.gz").write_bytes(gzip.compress(b"1\ta\n"))
    loaded = load_inputs(parse(EDGE + '.input edge(filename="e.facts.gz")'), tmp_path)
    assert loaded["edge"].num_rows == 1


def test_two_inputs_of_one_relation_are_joined(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\ta\n")
    (tmp_path / "b").write_text("2\tb\n")
    program = parse(EDGE + '.input edge(filename="a")\n.input edge(filename="b")')
    assert load_inputs(program, tmp_path)["edge"].num_rows == 2


def test_types_are_looked_up_through_their_bases(tmp_path: Path) -> None:
    program = parse(
        ".type Node <: Id .type Id <: symbol .type Either = Node | Id .type Pair = [a: Node, b: Pair]"
        ".decl r(a: Node, b: Either, c: Pair, d: unsigned, e: float) .input r"
    )
    (tmp_path / "r.facts").write_text("n\te\t[x, nil]\t7\t1.5\n")
    assert load_inputs(program, tmp_path)["r"].to_pylist() == [
        {"a": "n", "b": "e", "c": "[x, nil]", "d": 7, "e": 1.5}
    ]


def test_all_that_is_wrong_in_all_files_is_reported_together(tmp_path: Path) -> None:
    program = parse(".decl a(x: number) .decl b(x: number) .decl c(x: number) .input a, b, c")
    (tmp_path / "a.facts").write_text("x\n1\ny\n")
    (tmp_path / "b.facts").write_text("1\n")
    with pytest.raises(DataError) as caught:
        load_inputs(program, tmp_path)
    assert [d.code for d in caught.value.diagnostics] == ["W0602", "W0602", "W0601"]
    assert "`-F DIR` names another directory" in caught.value.diagnostics[-1].hint


@pytest.mark.parametrize("make", ["missing folder", "folder", "unreadable"])
def test_a_file_that_cannot_be_read_is_an_error_of_the_data(tmp_path: Path, make: str) -> None:
    if make == "folder":
        (tmp_path / "edge.facts").mkdir()
    elif make == "unreadable":
        (tmp_path / "edge.facts").write_bytes(b"\x1f\x8b broken")
    folder = tmp_path / "no" if make == "missing folder" else tmp_path
    with pytest.raises(DataError) as caught:
        load_inputs(parse(EDGE + ".input edge"), folder)
    assert caught.value.diagnostics[0].code == "W0601"


def test_skipped_rows_are_reported(tmp_path: Path) -> None:
    (tmp_path / "edge.facts").write_text("1\ta\nx\tb\ny\tc\n")
    warnings: list[Diagnostic] = []
    program = parse(EDGE + ".input edge")
    loaded = load_inputs(program, tmp_path, on_bad_row="skip", warn=warnings.append)
    assert loaded["edge"].num_rows == 1
    (warning,) = warnings
    assert warning.code == "W0961"
    assert warning.message.startswith("skipped 2 bad rows of")


@pytest.mark.parametrize(
    "directive",
    [
        ".input edge(IO=sqlite)",
        '.input edge(delimiter="")',
        '.input edge(rfc4180=true, delimiter="\\"")',
        '.input edge(columns="0")',
        '.input edge(columns="0:0")',
        '.input edge(columns="a:b")',
    ],
)
def test_a_directive_that_makes_no_sense_is_an_error_of_the_program(
    tmp_path: Path, directive: str
) -> None:
    with pytest.raises(ProgramError) as caught:
        load_inputs(parse(EDGE + directive), tmp_path)
    assert caught.value.diagnostics[0].code == "W0611"


def test_a_mistyped_parameter_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "edge.facts").write_text("")
    warnings: list[Diagnostic] = []
    load_inputs(parse(EDGE + '.input edge(fielname="e")'), tmp_path, warn=warnings.append)
    assert [w.code for w in warnings] == ["W0962"]
    assert warnings[0].hint == "did you mean `filename`?"


ROWS: Mapping[str, list[tuple[Any, ...]]] = {"edge": [(1, "a"), (2, "b")]}


@pytest.mark.parametrize(
    ("directive", "name", "text"),
    [
        (".output edge", "edge.csv", "1\ta\n2\tb\n"),
        ('.output edge(filename="o.txt", delimiter=";", headers=true)', "o.txt", "x;y\n1;a\n2;b\n"),
        (".output edge(rfc4180=true)", "edge.csv", '1,"a"\n2,"b"\n'),
        (".output edge(IO=jsonl)", "edge.jsonl", '{"x": 1, "y": "a"}\n{"x": 2, "y": "b"}\n'),
    ],
)
def test_an_output_writes_the_file_its_directive_names(
    tmp_path: Path, directive: str, name: str, text: str
) -> None:
    assert put(EDGE + directive, tmp_path, ROWS) == ""
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {name: text}


def test_an_output_may_be_packed(tmp_path: Path) -> None:
    put(EDGE + ".output edge(compress=true)", tmp_path, ROWS)
    assert gzip.decompress((tmp_path / "edge.csv.gz").read_bytes()) == b"1\ta\n2\tb\n"


def test_relations_are_printed_between_rules(tmp_path: Path) -> None:
    shown = put(EDGE + ".output edge(IO=stdout, headers=true)\n.printsize edge", tmp_path, ROWS)
    assert shown == (
        "---------------\nedge\nx\ty\n===============\n1\ta\n2\tb\n===============\nedge\t2\n"
    )
    assert put(EDGE + ".output edge", tmp_path, ROWS, everything_to_stdout=True) == (
        "---------------\nedge\n===============\n1\ta\n2\tb\n===============\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("rows", "text"), [([()], "()\n"), ([], "")])
def test_a_relation_without_columns_is_printed_as_an_empty_pair(
    tmp_path: Path, rows: list[tuple[Any, ...]], text: str
) -> None:
    put(".decl yes() .output yes", tmp_path, {"yes": rows})
    assert (tmp_path / "yes.csv").read_text() == text


def test_when_one_output_fails_none_is_written(tmp_path: Path) -> None:
    program = EDGE + '.output edge\n.output edge(IO=stdout)\n.output edge(filename="/dev/null/x")'
    with pytest.raises(DataError) as caught:
        put(program, tmp_path, ROWS)
    assert caught.value.diagnostics[0].code == "W0610"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "place", "wanted"),
    [
        ("[1, nil]", None, ""),
        (" [ -1 , [2, nil ] ] ", None, ""),
        ("nil", None, ""),
        ("[1, [2, nil]", (1, 13), "`]`"),
        ("[x, nil]", (1, 2), "a value of kind number"),
        ("[1]", (1, 3), "`,`"),
        ("[1, nil] x", (1, 10), "the end"),
        ("7", (1, 1), "`[` or `nil`"),
        ("[1, " * 50_000 + "nil" + "]" * 50_000, None, ""),
        ("[1, " * 50_000, (1, 200_001), "`[` or `nil`"),
    ],
)
@pytest.mark.parametrize("form", ["facts", "jsonl", "parquet"])
def test_records_are_checked_where_their_line_is_known(
    tmp_path: Path, form: str, text: str, place: tuple[int, int] | None, wanted: str
) -> None:
    file = tmp_path / f"r.{form}"
    program = parse(
        ".type L = [head: number, tail: M] .type M = L .decl r(l: M)"
        f'.input r(filename="{file.name}")'
    )
    if form == "facts":
        file.write_text(text + "\n")
    elif form == "jsonl":
        file.write_text(json.dumps({"l": text}) + "\n")
    else:
        parquet.write_table(pa.table({"l": [text]}), file)
    if place is None:
        assert load_inputs(program, tmp_path)["r"].num_rows == 1
        return
    with pytest.raises(DataError) as caught:
        load_inputs(program, tmp_path)
    (found,) = caught.value.diagnostics
    assert found.code == "W0609"
    if form == "facts":
        assert (found.span.line, found.span.column) == place
        assert wanted in found.label
    assert load_inputs(program, tmp_path, on_bad_row="skip")["r"].num_rows == 0
