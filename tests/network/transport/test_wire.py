"""Messages become bytes and messages again; bytes from anywhere become messages or a `WireError`."""

from __future__ import annotations

import contextlib
import time
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from whence.diagnostics import LimitError
from whence.network.model import Control, Message, Scheme, Update
from whence.network.transport.wire import MAX_DEPTH, WireCodec, WireError

SCALARS = st.one_of(
    st.integers(-(1 << 200), 1 << 200),
    st.floats(allow_nan=False),
    st.text(st.characters(), max_size=5),
    st.booleans(),
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)
ROWS = st.lists(VALUES, max_size=4).map(tuple)
UPDATES = st.lists(
    st.tuples(st.sampled_from((1, -1)), st.sampled_from(("path", "link", "π")), ROWS, st.none()),
    max_size=6,
)


class Noted:
    """A scheme as far as a codec knows it: annotations are sets of numbers."""

    annotated = True

    def encode(self, annotation: Any) -> object:
        return sorted(annotation)

    def decode(self, value: Any) -> Any:
        return frozenset(value)


PLAIN = WireCodec()
NOTED = WireCodec(cast(Scheme, Noted()))


def same(a: object, b: object) -> bool:
    """Whether two values are equal and of one type, so that 1, 1.0 and true are told apart."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


@given(UPDATES)
@example([(1, "id", ((1 << 160) - 1, -(1 << 63), -(1 << 63) - 1, (1 << 64) - 1, 1 << 64), None)])
@example([(1, "p", ("\ud800",), None)])
def test_updates_come_out_as_they_went_in(updates: list[Update]) -> None:
    assert same(PLAIN.decode(PLAIN.encode(updates)), updates)


@given(UPDATES, st.data())
def test_annotations_travel_as_their_scheme_has_them(updates: list[Update], data: Any) -> None:
    notes = st.one_of(st.none(), st.frozensets(st.integers(-(1 << 70), 1 << 70), max_size=3))
    noted: list[Update] = [(*update[:3], data.draw(notes)) for update in updates]
    assert NOTED.decode(NOTED.encode(noted)) == noted


@given(st.text(max_size=5), VALUES)
def test_control_messages_keep_their_bodies(kind: str, body: Any) -> None:
    assert same(PLAIN.decode(PLAIN.encode(Control(kind, body))).body, body)  # type: ignore[union-attr]


def test_bodies_may_hold_bytes_and_nothing_and_their_lists_become_tuples() -> None:
    found = PLAIN.decode(PLAIN.encode(Control("dead", [["p", 1], None, b"x"])))
    assert found == Control("dead", (("p", 1), None, b"x"))


def test_a_run_of_updates_names_its_relation_once() -> None:
    one = PLAIN.encode([(1, "reachable", ("a", "b"), None)])
    ten = PLAIN.encode([(1, "reachable", ("a", "b"), None)] * 10)
    assert len(one) == 20
    assert len(ten) - len(one) == 9 * len(b"\x92\xa1a\xa1b")


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_a_wire_error(payload: bytes) -> None:
    for codec in (PLAIN, NOTED):
        for first in (b"", b"\x10", b"\x11", b"\x12", b"\x14"):
            with contextlib.suppress(WireError):
                codec.decode(first + payload)


@given(UPDATES, st.data())
def test_a_message_with_a_changed_byte_is_a_message_or_a_wire_error(
    updates: list[Update], data: Any
) -> None:
    payload = bytearray(NOTED.encode([(*update[:3], frozenset((1,))) for update in updates]))
    payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(payload)))
    for hostile in (bytes(payload), bytes(payload[:cut])):
        with contextlib.suppress(WireError):
            NOTED.decode(hostile)


@pytest.mark.parametrize(
    "payload",
    [
        b"\x10\xdd\xff\xff\xff\xff",  # a list that claims four billion items
        b"\x10" + b"\x91" * 500_000,  # a list that is very deep
        b"\x12\x92\xa1x" + b"\x91" * (MAX_DEPTH + 2) + b"\x01",
        b"\x10\x91\x93\xa1p\x02\x90",  # no sign
        b"\x10\x91\x93\xa1p\x01\x91\x91\xc0",  # nothing as a value
        b"\x14\x91\x93\xa1p\x01\x91\x91\xc0",
        b"\x10\x91\x93\xa1p\x01\x91\x91\x80",  # a table as a value
        b"\x10\x91\x93\xa1p\x01\x91\x91\xd6\xff\x00\x00\x00\x01",  # a time as a value
        b"\x10\x91\x93\xa1p\x01\x91\x91\xc7\x01\x07x",  # an extension of someone else's
        b"\x10\x91\x93\xa1p\x01\x91\xa1x",  # no row
        b"\x10\x91\x93\xa1p\xc3\x90",  # true for a sign
        b"\x11\x91\x94\xa1p\x01\x90\x90",  # annotations for a codec without
        b"\x20\x90",  # another version
        b"\x10",
        b"",
    ],
    ids=lambda payload: payload[:12].hex() or "empty",
)
def test_hostile_bytes_are_refused_quickly(payload: bytes) -> None:
    begun = time.process_time()
    with pytest.raises(WireError):
        PLAIN.decode(payload)
    assert time.process_time() - begun < 1.0


@pytest.mark.parametrize("value", [None, b"x"])
def test_values_that_programs_do_not_know_do_not_arrive(value: Any) -> None:
    message: Message = [(1, "p", (value,), None)]
    with pytest.raises(WireError):
        PLAIN.decode(PLAIN.encode(message))


def nested(inner: Any, depth: int) -> Any:
    for _ in range(depth):
        inner = (inner,)
    return inner


@pytest.mark.parametrize(
    "value",
    [
        1j,
        1 << 9000,
        nested(1, MAX_DEPTH + 1),
        nested(1 << 100, MAX_DEPTH + 1),
        nested(1, 100_000),
        nested("\ud800", 100_000),
    ],
    ids=["complex", "big", "deep", "deep and big", "very deep", "very deep text"],
)
def test_what_no_receiver_would_take_is_told_to_the_sender(value: Any) -> None:
    with pytest.raises(LimitError) as raised:
        PLAIN.encode([(1, "p", (value, "x" * 300), None)])
    assert raised.value.diagnostics[0].code == "W1404"


@pytest.mark.parametrize("inner", [1, 1 << 100])
def test_lists_may_be_rather_deep(inner: int) -> None:
    updates: list[Update] = [(1, "p", (nested(inner, MAX_DEPTH - 10),), None)]
    assert PLAIN.decode(PLAIN.encode(updates)) == updates
