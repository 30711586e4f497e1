"""Lines say the same to the kernel and to the reader that knows all of JSON."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.edges import edges
from whence.diagnostics import DataError
from whence.lineage import jsonl
from whence.lineage.events import Edge, Kind, batch_of, concatenate, edges_of
from whence.lineage.jsonl import Reading, read_block, read_lines, write_lines


def written(some: list[Edge]) -> bytes:
    file = io.BytesIO()
    assert write_lines([batch_of(some)], file) == len(some)
    return file.getvalue()


def slowly(data: bytes, on_bad_row: Any = "skip") -> tuple[list[Edge], Reading]:
    reading = Reading("a.jsonl", on_bad_row)
    found = jsonl._slowly(jsonl._lines_of(data), reading)
    return [edge for _, edge in found], reading


def quickly(data: bytes) -> tuple[list[Edge], Reading]:
    reading = Reading("a.jsonl", "skip")
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    return list(edges_of(jsonl._quickly(data, lines, reading))), reading


@given(st.lists(edges()))
def test_edges_come_back_from_their_lines(some: list[Edge]) -> None:
    data = written(some)
    assert data.count(b"\n") == len(some)
    for read in (slowly, quickly):
        found, reading = read(data)
        assert found == some
        assert (reading.bad, reading.filtered) == (0, Counter())


@given(st.lists(edges(), max_size=3), st.randoms(use_true_random=False))
def test_the_kernel_reads_damaged_lines_as_the_other_reader_does(
    some: list[Edge], random: Random
) -> None:
    plain = [
        Edge(Kind.USED, ("f", 1), ("t", 23), 4, 0, 1),
        Edge(Kind.END, ("f", 1), None, -1, 2),
        *some,
    ]
    data = bytearray(written(plain))
    for _ in range(random.randrange(6)):
        at = random.randrange(len(data))
        if random.random() < 0.5:
            data[at : at + random.randrange(3)] = random.choice(
                [
                    b"",
                    b" ",
                    b'"',
                    b"\\",
                    b"0",
                    b"9",
                    b"{",
                    b"}",
                    b",",
                    b"-",
                    b"\xff",
                    b"\n",
                    b"/",
                    b"\t",
                    b".",
                    b":",
                ]
            )
        else:
            data[at] = random.randrange(256)
    expected, told = slowly(bytes(data))
    found, reading = quickly(bytes(data))
    assert found == expected
    assert (reading.bad, reading.filtered) == (told.bad, told.filtered)
    assert reading.shown == told.shown


ODD = [
    '{"used": {"_:1": {"prov:entity": "ex:e/1", "prov:activity": "ex:a/2"}}}',
    '{"used":{"u":{"prov:entity":"ex:e/1","prov:activity":"ex:a/2","ex:role":"x"}}}',
    '{"used":{"u":{"prov:entity":"ex:e/1","prov:activity":"ex:a/2","prov:time":"2026-02-29T00:00:00Z"}}}',
    '{"used":{"u":{"prov:entity":"ex:e/1","prov:activity":"ex:a/2","prov:time":"2024-02-29T00:00:00Z"}}}',
    '{"used":{"u":{"prov:entity":"ex:e/1","prov:activity":"ex:a/2","prov:time":"2024-02-29T01:00:00+02:00"}}}',
    '{"used":{"u":{"prov:entity":"ex:e/1","prov:activity":"ex:a/2","whence:worker":2147483648}}}',
    '{"used":{"u":{"prov:entity":"ex:e/1","prov:activity":"ex:a/2","whence:group":-0}}}',
    '{"used":{"u":{"prov:entity":"ex:e/1","prov:activity":"ex:a/2","whence:group":1.5}}}',
    '{"used":{"u":{"prov:entity":"ex:e/1","prov:activity":"ex:a/2","whence:group":9223372036854775807}}}',
    '{"used":{"u":{"prov:entity":"ex:e/9223372036854775807","prov:activity":"ex:\\u0061/2"}}}',
    '{"used":{"u":{"prov:entity":"","prov:activity":"ex:a/2"}}}',
    '{"used":{"u":{"prov:entity":"ex:e/1","prov:entity":"ex:e/2","prov:activity":"ex:a/2"}}}',
    '{"used":{"u":{"prov:activity":"ex:a/2"}}}',
    '{"used":{}}',
    "{}",
    "[]",
    "",
    "   ",
    '{"wasEndedBy":{"e":{"prov:activity":"ex:a/2","prov:time":"2024-01-01T00:00:00Z"}}}',
    '{"wasEndedBy":{"e":{"prov:activity":"ex:a/2","whence:attempt":0}}}',
    '{"entity":{"ex:e/1":{"prov:label":"one"},"ex:e/2":{}},"used":{"u":{"prov:entity":"ex:e/1","prov:activity":"ex:a/2"}}}',
    '{"wasDerivedFrom":{"d":[{"prov:generatedEntity":"a","prov:usedEntity":"b"},{"prov:generatedEntity":"a","prov:usedEntity":"c"}]}}',
    '{"wasDerivedFrom":{"d":{"prov:generatedEntity":"a","prov:usedEntity":"b","prov:activity":"ex:x"}}}',
    '{"hadMember":{"m":{"prov:collection":"c","prov:entity":["a","b"]}}}',
    '{"bundle":{"ex:b":{"used":{"u":{"prov:entity":"ex:e/1","prov:activity":"ex:a/2"}}}}}',
    '{"used":{"u":{"prov:entity":"ex:e/1","prov:activity":"ex:a/2"}}}}',
    '{"used":{"u":{"prov:entity":"ex:e/1","prov:activity":"ex:a/2"}},}',
    '{"used":{"u":{"prov:entity":"ex:e/1","prov:activity":"whence:a:b/2"}}}\r',
    '{"eats":{"u":{"prov:entity":"ex:e/1","prov:activity":"ex:a/2"}}}',
]


@pytest.mark.parametrize("line", ODD)
def test_odd_lines_are_read_alike(line: str) -> None:
    usual = '{"used":{"_:1":{"prov:activity":"f/1","prov:entity":"t/2"}}}'
    data = f"{usual}\n{line}\n{usual}".encode()
    expected, told = slowly(data)
    found, reading = quickly(data)
    assert found == expected
    assert (reading.bad, reading.filtered, reading.shown) == (told.bad, told.filtered, told.shown)
    assert found[0] == found[-1] == Edge(Kind.USED, ("f", 1), ("t", 2))


def test_the_kernel_does_the_same_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    from whence.engine.local.kernels import prov_lines

    data = (
        "\n".join([*ODD, *ODD]).encode()
        + b"\n"
        + written([Edge(Kind.USED, ("f", 1), ("t", 2), 7)] * 30)
    )
    expected = quickly(data)
    monkeypatch.setattr(prov_lines.scan_lines, "compiled", None)
    monkeypatch.setattr("whence.engine.local.compile.compile_kernels", lambda: None)
    assert quickly(data) == expected


def test_most_lines_of_the_usual_form_are_read_by_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    some = [Edge(Kind(n % 5), ("f", n), None if n % 5 == 4 else ("t", n), n) for n in range(100)]
    monkeypatch.setattr(jsonl, "parse_json", None)
    found, reading = quickly(written(some))
    assert found == some
    assert reading.bad == 0


def test_other_statements_are_filtered_and_counted() -> None:
    data = "\n".join(
        [
            '{"prefix":{"ex":"http://example.org/"},"entity":{"ex:a":{},"ex:b":{}}}',
            '{"wasAttributedTo":{"_:1":{"prov:entity":"ex:a","prov:agent":"ex:me"}}}',
            '{"wasDerivedFrom":{"_:2":{"prov:generatedEntity":"ex:a","prov:usedEntity":"ex:b"}}}',
        ]
    ).encode()
    found, reading = slowly(data)
    assert found == [Edge(Kind.DERIVED, ("ex:a", -1), ("ex:b", -1))]
    assert reading.filtered == {"entity": 2, "wasAttributedTo": 1}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"used"', "no JSON"),
        ('{"used":1}', "an object is expected for `used`"),
        ('{"used":{"_:1":{"prov:activity":1,"prov:entity":"e"}}}', "`prov:activity` is no name"),
        ('{"eats":{}}', "`eats` is no relation of PROV"),
        ("[" * 100_000, "nested too deeply"),
        ('{"used":{},"used":{}}', "the key `used` is there twice"),
        ('{"used":{"_:1":{"prov:activity":"a","prov:entity":"e","whence:group":NaN}}}', "`NaN`"),
        (
            '{"used":{"_:1":{"prov:activity":"a","prov:entity":"e","whence:group":true}}}',
            "no whole number",
        ),
        (
            f'{{"used":{{"_:1":{{"prov:activity":"a","prov:entity":"e","whence:group":{"9" * 5000}}}}}}}',
            "JSON",
        ),
        ('{"used":{"_:1":{"prov:activity":"a","prov:entity":"\\ud800"}}}', "half a character"),
        ('{"used":{"_:1":{"prov:activity":"a","prov:entity":"e","prov:time":"soon"}}}', "no time"),
    ],
)
def test_a_wrong_line_is_told_with_its_number(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "a.jsonl"
    good = '{"used":{"_:1":{"prov:activity":"f/1","prov:entity":"t/2"}}}'
    path.write_text(f"{good}\n{line}\n{good}\n")
    with pytest.raises(DataError) as error:
        list(read_lines(path))
    (told,) = error.value.diagnostics
    assert told.code == "W1100"
    assert why in told.message
    assert told.span.line == 2
    assert told.span.source is not None
    assert told.span.source.name == str(path)
    reading = Reading(str(path), "skip")
    assert concatenate(read_lines(path, reading=reading)).num_rows == 2
    assert reading.bad == 1


def test_bytes_that_are_no_text_are_a_wrong_line() -> None:
    _, reading = slowly(b'{"used":{"\xff":{}}}')
    assert "byte 11 is no UTF-8" in reading.shown[0].message


def test_lines_are_numbered_over_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "BLOCK", 1000)
    data = written([Edge(Kind.USED, ("f", n), ("t", n)) for n in range(5000)])
    lines = data.splitlines(keepends=True)
    lines[4321] = b"wrong\n"
    with pytest.raises(DataError) as error:
        list(read_lines(io.BytesIO(b"".join(lines))))
    assert error.value.diagnostics[0].span.line == 4322


@pytest.mark.parametrize("size", [10, 100, 1000, 10**6])
def test_blocks_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    some = [Edge(Kind(n % 5), ("f", n), None if n % 5 == 4 else ("té", n), n) for n in range(300)]
    monkeypatch.setattr(jsonl, "BLOCK", size)
    monkeypatch.setattr(jsonl, "_WORTH_LOADING", 100)
    data = written(some)
    reading = Reading("a")
    for given_data in (data, data.rstrip(b"\n")):
        found = concatenate(read_lines(io.BytesIO(given_data), reading=reading))
        assert list(edges_of(found)) == some
    assert (reading.lines, reading.edges) == (600, 600)


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "BLOCK", 100)
    monkeypatch.setattr(jsonl, "LONGEST", 1000)
    with pytest.raises(DataError) as error:
        list(read_lines(io.BytesIO(b"{" * 5000)))
    assert "more than 1,000 bytes" in error.value.diagnostics[0].message


def test_compressed_files_are_unpacked(tmp_path: Path) -> None:
    some = [Edge(Kind.USED, ("f", 1), ("t", 2))]
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(written(some)))
    assert list(edges_of(concatenate(read_lines(tmp_path / "a.jsonl.gz")))) == some


@pytest.mark.parametrize("name", ["nowhere.jsonl", ".", "cut.gz"])
def test_files_that_cannot_be_read_are_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"x" * 1000)[:-20])
    with pytest.raises(DataError) as error:
        list(read_lines(tmp_path / name))
    assert error.value.diagnostics[0].code == "W1102"


def test_every_line_is_a_prov_json_object_of_about_the_size_of_the_papers() -> None:
    batch = pa.concat_batches(
        [batch_of([Edge(Kind.USED, ("hashtags/map", 123456), ("tweets", 123456), 5, 0, 3)])]
    )
    line = written(list(edges_of(batch)))
    assert json.loads(line) == {
        "used": {
            "_:1": {
                "prov:activity": "whence:hashtags/map/123456",
                "prov:entity": "whence:tweets/123456",
                "whence:group": 5,
                "whence:attempt": 0,
                "whence:worker": 3,
            }
        }
    }


def test_reading_blocks_counts_edges() -> None:
    reading = Reading("a")
    read_block(written([Edge(Kind.USED, ("f", 1), ("t", 2))] * 3), reading)
    assert (reading.lines, reading.edges) == (3, 3)
