"""Delimited text: what Soufflé reads is read, what it prints is printed."""

from __future__ import annotations

import io
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts.rows import columns, read_rows
from whence.facts import delimited
from whence.facts.badrows import BadRows
from whence.facts.scan import decode, scan
from whence.facts.schema import Layout, arrow_schema


def written(
    rows: list[tuple[Any, ...]], kinds: str, *, few: int = delimited._FEW_ROWS, **layout: Any
) -> bytes:
    schema = arrow_schema(columns(kinds))
    arrays = [pa.array([row[i] for row in rows], f.type) for i, f in enumerate(schema)]
    out = io.BytesIO()
    table = pa.table(arrays, schema=schema)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_FEW_ROWS", few)
        delimited.write(table, out, columns(kinds), Layout(relation="r", **layout))
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "kinds", "rows"),
    [
        (b"1\t2\n3\t4\n", "nn", [(1, 2), (3, 4)]),
        (b"1\t2\n3\t4", "nn", [(1, 2), (3, 4)]),
        (b"1\t2\r\n3\t4\r\n", "nn", [(1, 2), (3, 4)]),
        (b"", "nn", []),
        (b"\xef\xbb\xbf1\n", "n", [(1,)]),
        (b"\xef\xbb\xbf1\n+2\n", "n", [(1,), (2,)]),
        (b'"a\tb"\n', "ss", [('"a', 'b"')]),
        (b"\t\n", "ss", [("", "")]),
        (b"\n", "s", [("",)]),
        (b"a\n\nb\n", "s", [("a",), ("",), ("b",)]),
        (b"a\rb\tc\n", "ss", [("a\rb", "c")]),
        (b"a\x00b\n", "s", [("a\x00b",)]),
        (b"null\tNULL\n", "ss", [("null", "NULL")]),
        (b"-9223372036854775808\n9223372036854775807\n", "n", [(-(2**63),), (2**63 - 1,)]),
        (b"18446744073709551615\n", "u", [(2**64 - 1,)]),
        (b"0xff\n0b101\n7\n", "u", [(255,), (5,), (7,)]),
        (b"-0x10\n+5\n 6\n007\n", "n", [(-16,), (5,), (6,), (7,)]),
        (b"1.5\n-2e3\ninf\n-inf\n0x1p3\n.5\n", "f", [(1.5,), (-2e3,), (math.inf,), (-math.inf,), (8.0,), (0.5,)]),
        (b"[1, [2, nil]]\tx\n", "rs", [("[1, [2, nil]]", "x")]),
        ("λ\tŸ\n".encode(), "ss", [("λ", "Ÿ")]),
    ],
)  # fmt: skip
def test_plain_text_is_read_as_souffle_reads_it(
    data: bytes, kinds: str, rows: list[tuple[Any, ...]]
) -> None:
    assert read_rows(data, kinds) == rows


@pytest.mark.parametrize(
    ("data", "kinds", "layout", "rows"),
    [
        (b"1,2\n", "nn", {"delimiter": ","}, [(1, 2)]),
        (b"1, 2\n", "nn", {"delimiter": ", "}, [(1, 2)]),
        (b"1::a\n", "ns", {"delimiter": "::"}, [(1, "a")]),
        ("1é2\n".encode(), "nn", {"delimiter": "é"}, [(1, 2)]),
        (b"[1, 2],3\n", "rn", {"delimiter": ","}, [("[1, 2]", 3)]),
        (b"[[1,2],nil],3\n", "rn", {"delimiter": ","}, [("[[1,2],nil]", 3)]),
        (b"a[,b\n", "ss", {"delimiter": ","}, [("a[", "b")]),
        (b"x\ty\n1\t2\n", "nn", {"headers": True}, [(1, 2)]),
        (b"x\ty\n", "nn", {"headers": True}, []),
        (b"x\ty", "nn", {"headers": True}, []),
        (b"1\t2\t3\n4\t5\t6\n", "nn", {"pick": (2, 0)}, [(3, 1), (6, 4)]),
        (b"1\t2\t3\n4\t5\t6\t7\n", "nn", {"pick": (2, 0)}, [(3, 1), (6, 4)]),
        (b"a,b\n", "ss", {"delimiter": ",", "rfc4180": True}, [("a", "b")]),
        (b'"a""b","c,d"\n', "ss", {"delimiter": ",", "rfc4180": True}, [('a"b', "c,d")]),
        (b'"a\nb",2\n"c",3\n', "sn", {"delimiter": ",", "rfc4180": True}, [("a\nb", 2), ("c", 3)]),
        (b'"a\r\nb",2\r\nc,+3\r\n', "sn", {"delimiter": ",", "rfc4180": True}, [("a\r\nb", 2), ("c", 3)]),
        (b'a"b,c"\n', "ss", {"delimiter": ",", "rfc4180": True}, [('a"b', 'c"')]),
        (b'"","+1"\n', "sn", {"delimiter": ",", "rfc4180": True}, [("", 1)]),
    ],
)  # fmt: skip
def test_a_directive_says_how_fields_are_separated(
    data: bytes, kinds: str, layout: dict[str, Any], rows: list[tuple[Any, ...]]
) -> None:
    assert read_rows(data, kinds, **layout) == rows


@pytest.mark.parametrize(("data", "count"), [(b"", 0), (b"()\n", 1), (b"()", 1), (b"\n", 1)])
def test_any_line_makes_a_relation_without_columns_true(data: bytes, count: int) -> None:
    assert len(read_rows(data, "")) == count


@pytest.mark.parametrize(
    ("data", "kinds", "code", "place", "message"),
    [
        (b"1\tx\n", "nn", "W0602", (1, 3), "`x` is not a number"),
        (b"1\t2\n3\t\n", "nn", "W0602", (2, 3), "an empty field is not a number"),
        (b"1\n1_000\n", "n", "W0602", (2, 1), "`1_000` is not a number"),
        (b"1.5\n", "n", "W0602", (1, 1), "`1.5` is not a number"),
        ("\u0661\n".encode(), "n", "W0602", (1, 1), "`\u0661` is not a number"),
        (b"9223372036854775808\n", "n", "W0603", (1, 1), "out of the 64-bit range"),
        (b"0xffffffffffffffff\n", "n", "W0603", (1, 1), "out of the 64-bit range"),
        (b"-1\n", "u", "W0603", (1, 1), "out of the 64-bit range"),
        (b"9" * 100_000 + b"\n", "n", "W0603", (1, 1), "out of the 64-bit range"),
        (b"1e\n", "f", "W0602", (1, 1), "`1e` is not a float"),
        (b"1\t2\n\n", "nn", "W0604", (2, 1), "1 field where `r` has 2 columns"),
        (b"1\t2\t3\n", "nn", "W0604", (1, 1), "3 fields where `r` has 2 columns"),
        (b"a\tb\xff\n", "ss", "W0605", (1, 4), "not UTF-8"),
        (b"ok\n\xc3\n", "s", "W0605", (2, 1), "not UTF-8"),
    ],
)
def test_a_bad_row_is_named_by_line_and_column(
    data: bytes, kinds: str, code: str, place: tuple[int, int], message: str
) -> None:
    bad = BadRows("r.facts", Layout(relation="r"))
    read_rows(data, kinds, bad=bad)
    assert bad.count == 1
    (found,) = bad.shown
    assert (found.code, (found.span.line, found.span.column)) == (code, place)
    assert message in found.message


@pytest.mark.parametrize(
    ("data", "place", "message"),
    [
        (b'a,"b\nc,d\n', (1, 3), "the quote is never closed"),
        (b'a,b\n"c"x,d\n', (2, 4), "text after the closing quote"),
        (b'"a\nb"x,d\n', (2, 3), "text after the closing quote"),
    ],
)
def test_a_broken_quote_is_named_by_line_and_column(
    data: bytes, place: tuple[int, int], message: str
) -> None:
    bad = BadRows("r.facts", Layout(relation="r"))
    read_rows(data, "ss", bad=bad, delimiter=",", rfc4180=True)
    assert bad.shown[0].code == "W0606"
    assert (bad.shown[0].span.line, bad.shown[0].span.column) == place
    assert message in bad.shown[0].message


def test_skipping_keeps_the_good_rows_and_counts_the_bad() -> None:
    lines = [f"{i}\t{i + 1}" for i in range(200_000)]
    lines[7] = "x\t1"
    lines[150_000] = "1"
    bad = BadRows("r.facts", Layout(relation="r"), "skip")
    rows = read_rows("\n".join(lines).encode(), "nn", bad=bad)
    assert len(rows) == 199_998
    assert bad.count == 2
    assert [d.span.line for d in bad.shown] == [8, 150_001]


def test_a_file_separated_by_something_else_gets_a_hint() -> None:
    bad = BadRows("r.facts", Layout(relation="r"))
    read_rows(b"1,2\n", "nn", bad=bad)
    assert '`.input r(delimiter=",")`' in bad.shown[0].hint


@pytest.mark.parametrize(
    ("rows", "kinds", "layout", "text"),
    [
        ([(1, "a")], "ns", {}, "1\ta\n"),
        ([(0.1, 2.0, 1e100)], "fff", {}, "0.10000000000000001\t2\t1e+100\n"),
        ([(math.inf, math.nan, -0.0)], "fff", {}, "inf\tnan\t-0\n"),
        ([(2**64 - 1,)], "u", {}, "18446744073709551615\n"),
        ([('say "hi"',)], "s", {}, 'say "hi"\n'),
        ([(1, 2)], "nn", {"delimiter": ", "}, "1, 2\n"),
        ([(1, 2)], "nn", {"headers": True}, "a\tb\n1\t2\n"),
        ([("[1, nil]", 'a"b')], "rs", {"rfc4180": True, "delimiter": ","}, '"[1, nil]","a""b"\n'),
        ([], "nn", {}, ""),
        ([], "nn", {"headers": True}, "a\tb\n"),
    ],
)
def test_rows_are_printed_as_souffle_prints_them(
    rows: list[tuple[Any, ...]], kinds: str, layout: dict[str, Any], text: str
) -> None:
    assert written(rows, kinds, **layout).decode() == text
    assert written(rows, kinds, few=-1, **layout).decode() == text


VALUES = {
    "n": st.integers(-(2**63), 2**63 - 1),
    "u": st.integers(0, 2**64 - 1),
    "f": st.floats(allow_nan=False),
    "s": st.text(st.characters(blacklist_characters="\t\n\r\ufeff", blacklist_categories=["Cs"])),
}


@st.composite
def some_rows(draw: st.DrawFn, values: dict[str, st.SearchStrategy[Any]]) -> Any:
    kinds = "".join(draw(st.lists(st.sampled_from("nufs"), min_size=1, max_size=4)))
    return kinds, draw(st.lists(st.tuples(*(values[k] for k in kinds)), max_size=20))


@given(some_rows(VALUES))
def test_what_is_written_is_read_back(case: tuple[str, list[tuple[Any, ...]]]) -> None:
    kinds, rows = case
    assert read_rows(written(rows, kinds), kinds) == rows
    assert written(rows, kinds) == written(rows, kinds, few=-1)


ANYTHING = st.text(st.characters(blacklist_categories=["Cs"]))


@given(some_rows(VALUES | {"s": ANYTHING}))
def test_quoted_text_holds_any_symbol(case: tuple[str, list[tuple[Any, ...]]]) -> None:
    kinds, rows = case
    layout = {"delimiter": ",", "rfc4180": True}
    assert read_rows(written(rows, kinds, **layout), kinds, **layout) == rows


MESSY = st.lists(
    st.sampled_from(["1", "-2", "0x1f", "+3", " 4", "a", '"', '""', "\t", ",", "\n", "\r", "\r\n", "[", "]", "é"]),
    max_size=30,
).map("".join)  # fmt: skip


@given(MESSY, st.sampled_from(["n", "s", "nn", "sn", "ss", "u", "f"]), st.booleans(), st.booleans())
def test_the_quick_and_the_slow_reader_agree(
    text: str, kinds: str, comma: bool, quoted: bool
) -> None:
    layout = Layout(relation="r", delimiter="," if comma else "\t", rfc4180=quoted)
    quick, slow = BadRows("r", layout, "skip"), BadRows("r", layout, "skip")
    rows = read_rows(
        text.encode(), kinds, bad=quick, delimiter=layout.delimiter, rfc4180=layout.rfc4180
    )
    table = scan(decode(text.encode()), 1, columns(kinds), layout, slow)
    assert rows == [tuple(row.values()) for row in table.to_pylist()]
    assert quick.count == slow.count
