"""Updates as lines: what is read, what is refused and where, and changes written the same way."""

from __future__ import annotations

import json
import math
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence import session
from whence.diagnostics import render
from whence.facts.schema import columns_of
from whence.rows import table_of
from whence.view.base import Change
from whence.view.updates import COMMIT, MAX_LINE, BadLine, Fact, UpdateParser
from whence.view.written import write_change, write_commit

PROGRAM = session.parse("""
.type List = [head: symbol, tail: List]
.type Reading = [at: float, n: unsigned]
.decl link(x: number, y: number)
.decl named(name: symbol, weight: float, size: unsigned)
.decl list(l: List)
.decl reading(r: Reading)
.decl on()
""")
COLUMNS = {d.name: columns_of(PROGRAM, d.name) for d in PROGRAM.relations}


@pytest.fixture(scope="module")
def parser() -> UpdateParser:
    return UpdateParser(COLUMNS, name="u.txt", keys={"link": (0,)})


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("+link(1, 2).", Fact("+", "link", (1, 2))),
        ("\ufeff+link(1, 2).", Fact("+", "link", (1, 2))),
        ("-link(1,-2).\r\n", Fact("-", "link", (1, -2))),
        ("  + link( 1 , 0x10 ) .", Fact("+", "link", (1, 16))),
        ("+link(1, 2) @ 12.5.", Fact("+", "link", (1, 2), 12.5)),
        ("+link(1, 2)@-3.", Fact("+", "link", (1, 2), -3.0)),
        ('+link(1, 2) @ "1970-01-01T00:01:00Z".', Fact("+", "link", (1, 2), 60.0)),
        ("+link(1, 2) @ 1970-01-01T00:01:00+00:01.", Fact("+", "link", (1, 2), 0.0)),
        ("~link(1, 2).", Fact("~", "link", (1, 2), None, (0,))),
        ("+link(9223372036854775807, -9223372036854775808).", Fact("+", "link", (2**63 - 1, -(2**63)))),
        ('+named("a", 1.5, 18446744073709551615).', Fact("+", "named", ("a", 1.5, 2**64 - 1))),
        ('+named("a // b @ 5 \\" # .", -inf, 5u). // a comment', Fact("+", "named", ('a // b @ 5 " # .', -math.inf, 5))),
        ('+named("é, \t(", -0.0, 5).', Fact("+", "named", ("é, \t(", 0.0, 5))),
        ('+named("", 2, 0) @ 7.', Fact("+", "named", ("", 2.0, 0), 7.0)),
        ('-list(["a", ["b c", nil]]).', Fact("-", "list", ("[a, [b c, nil]]",))),
        ("+list(nil).", Fact("+", "list", ("nil",))),
        ("+reading([inf, 3]).", Fact("+", "reading", ("[inf, 3]",))),
        ("+reading([-inf, 3]).", Fact("+", "reading", ("[-inf, 3]",))),
        ("+on().", Fact("+", "on", ())),
        ('{"op": "+", "relation": "link", "row": [1, 2]}', Fact("+", "link", (1, 2))),
        ('{"op": "-", "relation": "link", "row": {"y": 2, "x": 1}, "time": 3}', Fact("-", "link", (1, 2), 3.0)),
        ('{"op": "+", "relation": "link", "row": [1, 2], "time": "1970-01-01T00:01"}', Fact("+", "link", (1, 2), 60.0)),
        ('{"op": "~", "relation": "link", "row": [1, 2]}', Fact("~", "link", (1, 2), None, (0,))),
        ('{"op": "~", "relation": "link", "row": [1, 2], "key": ["y", "x"]}', Fact("~", "link", (1, 2), None, (1, 0))),
        ('{"op": "+", "relation": "named", "row": ["\\u00e9", "inf", 5]}', Fact("+", "named", ("é", math.inf, 5))),
        ('{"op": "+", "relation": "list", "row": [["a", ["b", null]]]}', Fact("+", "list", ("[a, [b, nil]]",))),
        ('{"op": "+", "relation": "list", "row": ["[a,nil]"]}', Fact("+", "list", ("[a, nil]",))),
        ('{"op": "+", "relation": "on", "row": []}', Fact("+", "on", ())),
    ],
)  # fmt: skip
def test_a_line_is_an_update(parser: UpdateParser, line: str, fact: Fact) -> None:
    assert parser.parse(line) == fact


@pytest.mark.parametrize("line", ["", "  \n", "// link", "# +link(1, 2).", "  // x"])
def test_empty_lines_and_comments_are_passed_over(parser: UpdateParser, line: str) -> None:
    assert parser.parse(line) is None


@pytest.mark.parametrize(
    "line", ["commit.", " commit . ", "commit", '{"commit": 7}', "commit. // one"]
)
def test_a_line_may_end_the_transaction(parser: UpdateParser, line: str) -> None:
    assert parser.parse(line) is COMMIT


@pytest.mark.parametrize(
    ("line", "code", "column", "said"),
    [
        ("+lnk(1, 2).", "W0683", 2, "did you mean `link`"),
        ("+nothing(1).", "W0683", 2, "declare it"),
        ("link(1, 2).", "W0682", 1, "begins with"),
        ("+link(1, 2)", "W0682", 12, "does not end"),
        ("+link(1, 2). +link(2, 3).", "W0682", 12, "no fact"),
        ("+link(1 2).", "W0682", 9, "no fact"),
        ("+link(1).", "W0684", 2, "1 value where `link` has 2"),
        ("+on(1).", "W0684", 2, "1 value where `on` has 0"),
        ('+link(1, "a").', "W0685", 10, "is not a number"),
        ("+link(x, 2).", "W0685", 7, "`x` is not a number"),
        ("+link(1 + 1, 2).", "W0685", 7, "is not a number"),
        ('+named("a", 1.5, -1).', "W0685", 18, "out of the 64-bit range"),
        ("+link(99999999999999999999, 2).", "W0682", 7, "64 bits"),
        ('+named(inf, 1.5, 1).', "W0685", 8, "is not a symbol"),
        ("+list([1, nil, 2]).", "W0685", 7, "is not a record"),
        ("+list([x, nil]).", "W0685", 7, "is not a record"),
        ("+link(1, 2) @ noon.", "W0680", 14, "no time"),
        ("+link(1, 2) @ .", "W0680", 14, "no time"),
        ("+link(1, 2) @ nan.", "W0680", 14, "no time"),
        ('~named("a", 1, 1).', "W0688", 2, "--key named=x,y"),
        ("{", "W0682", 2, "no JSON"),
        ('{"op": "+"} x', "W0682", 13, "no JSON"),
        ('{"op": "+", "relation": "link"}', "W0682", 1, "has no `row`"),
        ('{"op": "*", "relation": "link", "row": [1, 2]}', "W0682", 2, "no operation"),
        ('{"op": "+", "relation": "lnk", "row": [1, 2]}', "W0683", 13, "did you mean"),
        ('{"op": "+", "relation": ["link"], "row": [1, 2]}', "W0683", 13, "no relation"),
        ('{"op": "+", "relation": "link", "row": 5}', "W0682", 33, "a list or an object"),
        ('{"op": "+", "relation": "link", "row": [1]}', "W0684", 33, "1 value"),
        ('{"op": "+", "relation": "link", "row": {"x": 1}}', "W0684", 33, "has no `y`"),
        ('{"op": "+", "relation": "link", "row": {"x": 1, "y": 2, "z": 3}}', "W0684", 33, "no column"),
        ('{"op": "+", "relation": "link", "row": [1, true]}', "W0685", 33, "is not a number"),
        ('{"op": "+", "relation": "link", "row": [1, 1.5]}', "W0685", 33, "is not a number"),
        ('{"op": "+", "relation": "link", "row": [1, 9223372036854775808]}', "W0685", 33, "64-bit"),
        ('{"op": "+", "relation": "named", "row": ["\\ud800", 1, 1]}', "W0685", 34, "is not a symbol"),
        ('{"op": "+", "relation": "list", "row": [["a"]]}', "W0685", 33, "is not a record"),
        ('{"op": "+", "relation": "link", "row": [1, 2], "time": true}', "W0680", 48, "no time"),
        ('{"op": "~", "relation": "link", "row": [1, 2], "key": ["z"]}', "W0688", 48, "its columns"),
        ('{"op": "~", "relation": "named", "row": ["a", 1, 1]}', "W0688", 13, "needs its key"),
        ('{"a": ' + "[" * 100_000, "W0682", 1, "nested too deeply"),
        ('{"op": "+", "relation": "link", "row": [1, ' + "9" * 5000 + "]}", "W0682", 1, "too long a number"),
        ("+list(" + '["a", ' * 20_000, "W0682", None, ""),
        ('+named("\udcff", 1, 1).', "W0687", 9, "not UTF-8"),
        ("+" + "x" * MAX_LINE, "W0686", MAX_LINE, "not read"),
    ],
    ids=lambda value: str(value)[:60].encode("ascii", "replace").decode(),
)  # fmt: skip
def test_what_is_wrong_with_a_line_is_said_at_its_place(
    parser: UpdateParser, line: str, code: str, column: int | None, said: str
) -> None:
    with pytest.raises(BadLine) as raised:
        parser.parse(line)
    found = parser.diagnose(raised.value, line, 7)
    assert found.code == code
    assert found.span.line == 7
    if column is not None:
        assert raised.value.column == column
    shown = render(found)
    assert said in shown
    assert "u.txt:7:" in shown
    assert len(shown) < 5000


@given(st.text(max_size=60) | st.text(alphabet='+-~link(1, 2)."@{}[]:\\/#\n', max_size=40))
def test_any_line_is_an_update_or_a_diagnostic(line: str) -> None:
    parser = UpdateParser(COLUMNS)
    try:
        found = parser.parse(line)
    except BadLine as fault:
        render(parser.diagnose(fault, line, 1))
    else:
        assert found is None or found is COMMIT or isinstance(found, Fact)


symbols = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
words = st.text("abc 0.-", min_size=1, max_size=5).map(str.strip).filter(bool)
floats = st.floats().map(lambda x: x + 0.0 if x == x else math.nan)
rows = {
    "link": st.tuples(*[st.integers(-(2**63), 2**63 - 1)] * 2),
    "named": st.tuples(symbols, floats, st.integers(0, 2**64 - 1)),
    "list": words.map(lambda word: (f"[{word}, [x, nil]]",)),
    "reading": st.tuples(floats, st.integers(0, 2**64 - 1)).map(lambda r: (f"[{r[0]:.17g}, {r[1]}]",)),
    "on": st.just(()),
}  # fmt: skip


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("relation", list(rows))
@given(data=st.data())
def test_changes_are_written_as_updates_that_read_back(
    data: st.DataObject, relation: str, form: str
) -> None:
    came = data.draw(st.lists(rows[relation], max_size=3))
    went = data.draw(st.lists(rows[relation], max_size=3))
    columns = COLUMNS[relation]
    change = Change(
        relation, len(came), len(went), lambda: table_of(columns, came), lambda: table_of(columns, went)
    )  # fmt: skip
    written = write_change(change, columns, form).decode()  # type: ignore[arg-type]
    parser = UpdateParser(COLUMNS)
    found = [parser.parse(line) for line in written.split("\n") if line]
    wanted = [Fact("-", relation, row) for row in went] + [Fact("+", relation, row) for row in came]
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))  # NaN is itself
    if relation == "link":
        assert found == [Fact("-", "link", r) for r in sorted(went)] + [
            Fact("+", "link", r) for r in sorted(came)
        ]
    assert parser.parse(write_commit(3, form).decode()) is COMMIT  # type: ignore[arg-type]


@pytest.mark.timing
@pytest.mark.parametrize("form", ["text", "json"])
def test_plain_updates_are_read_at_a_hundred_thousand_lines_a_second(form: str) -> None:
    random.seed(1)
    lines = []
    for _ in range(20_000):
        x, y = random.randrange(10**6), random.randrange(10**6)
        fact = {"op": "+", "relation": "link", "row": [x, y]}
        lines.append(json.dumps(fact) if form == "json" else f"+link({x}, {y}).\n")
    parser = UpdateParser(COLUMNS)
    best = math.inf
    for _ in range(5):
        started = time.process_time()
        for line in lines:
            parser.parse(line)
        best = min(best, time.process_time() - started)
    assert best < 0.2
