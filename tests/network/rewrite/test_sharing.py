"""Tuples that differ in their metric only share messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network.rewrite.running import network, settled
from whence.network.model import Update
from whence.network.rewrite.passes import Options
from whence.network.sharing import SharedCodec, apart, joined
from whence.network.transport.wire import WireCodec, WireError
from whence.syntax.ndlog import parse_ndlog

METRICS = ("lat", "rel", "rnd")
COLUMNS = {"p": 1, "q": 1, "t": 0}

values = st.integers(0, 2)
updates = st.lists(
    st.tuples(
        st.sampled_from((1, -1)),
        st.sampled_from(("p", "q", "t", "other")),
        st.tuples(values, values, values),
        st.none(),
    ),
    max_size=12,
)


def program(name: str, column: int) -> str:
    cost, more = (",".join(v if i == column else "_" for i in range(3)) for v in ("C", "C1"))
    return f"""
        materialize(path{name}, infinity, infinity, keys(4)).
        materialize(cost{name}, infinity, infinity, keys(1,2)).
        materialize(best{name}, infinity, infinity, keys(1,2,3)).
        {name}1 path{name}(@S,D,D,P,C) :- #link(@S,D,{cost}), P = f_init(S,D).
        {name}2 path{name}(@S,D,Z,P,C) :- #link(@S,Z,{more}), path{name}(@Z,D,Z2,P2,C2),
                                          f_inPath(P2,S) = false, C = C1 + C2, P = f_concatPath(S,P2).
        {name}3 cost{name}(@S,D,min<C>) :- path{name}(@S,D,Z,P,C).
        {name}4 best{name}(@S,D,P,C) :- cost{name}(@S,D,C), path{name}(@S,D,Z,P,C).
        Query best{name}(@S,D,P,C).
        """


def of_relation(many: list[Update], name: str) -> list[Update]:
    return [one for one in many if one[1] == name]


@given(many=updates)
def test_what_is_joined_comes_apart_in_the_order_of_each_relation(many: list[Update]) -> None:
    again = apart(joined(many, COLUMNS))
    assert len(again) == len(many)
    for name in ("p", "q", "t", "other"):
        assert of_relation(again, name) == of_relation(many, name)


def test_two_metrics_of_a_path_are_one_tuple() -> None:
    both: list[Update] = [(1, "p", ("a", 1, "x"), None), (1, "q", ("a", 7, "x"), None)]
    assert joined(both, COLUMNS) == [(1, "1:p+q", ("a", 1, 7, "x"), None)]


def test_what_comes_and_what_goes_is_not_joined() -> None:
    both: list[Update] = [(1, "p", ("a", 1), None), (-1, "q", ("a", 7), None)]
    assert joined(both, COLUMNS) == both


def test_tuples_with_annotations_stay_alone() -> None:
    both: list[Update] = [(1, "p", ("a", 1), "x"), (1, "q", ("a", 7), None)]
    assert joined(both, COLUMNS) == both


@pytest.mark.parametrize("name", ["7:p+q", "x:p+q", ":p+q", "-1:p", "1:" + "+" * 9])
def test_bytes_that_do_not_come_apart_are_no_message(name: str) -> None:
    inner = WireCodec()
    payload = inner.encode([(1, name, ("a", 1), None)])
    with pytest.raises(WireError):
        SharedCodec(inner, {}).decode(payload)


def test_three_programs_share_messages_and_keep_their_answers() -> None:
    text = "materialize(#link, infinity, infinity, keys(1,2))." + "".join(
        program(name, i) for i, name in enumerate(METRICS)
    )
    links = {(a, b, c, c + 1, (7 * c) % 5 + 1) for a, b, c in network(10, 6, seed=7)}
    alone, shared = (
        settled(parse_ndlog(text), links, options) for options in (Options(), Options(share=0.3))
    )
    for name in METRICS:
        assert len(alone.rows(f"best{name}")) >= 90
        assert shared.rows(f"best{name}") == alone.rows(f"best{name}")
    sent = [made.transport.counters.sent_bytes for made in (alone, shared)]  # type: ignore[attr-defined]
    assert sent[1] < 0.8 * sent[0]


def test_programs_that_are_added_share_with_those_that_run() -> None:
    link = "materialize(#link, infinity, infinity, keys(1,2))."
    links = {(a, b, c, c, c) for a, b, c in network(5, 1, seed=8)}
    made = settled(parse_ndlog(link + program("lat", 0)), (), Options(share=0.3))
    assert made.rows("bestlat") == set()
    made = settled(parse_ndlog(link + program("lat", 0)), links, Options(share=0.3))
    made.add(parse_ndlog(link + program("rel", 1)), "second")
    made.settle()
    assert made.rows("bestrel") == made.rows("bestlat") != set()
