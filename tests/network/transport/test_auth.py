"""Sealed datagrams: forged, replayed, cut and changed ones are nothing."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.network.clock import SimulatedClock
from whence.network.transport.auth import OVERHEAD, AuthenticatedTransport, Seal
from whence.network.transport.quality import Quality, uniform
from whence.network.transport.simulated import SimulatedTransport

SECRET = b"a secret of nodes"


def pair() -> tuple[Seal, Seal]:
    return Seal(SECRET, 7), Seal(SECRET, 8)


@given(st.binary(max_size=100), st.text(max_size=5), st.text(max_size=5))
def test_what_is_sealed_is_opened_once(payload: bytes, source: str, target: str) -> None:
    a, b = pair()
    sealed = a.seal(source, target, payload)
    assert len(sealed) == len(payload) + OVERHEAD
    assert b.open(source, target, sealed) == payload
    assert b.open(source, target, sealed) is None
    assert b.replayed == 1


@given(st.binary(max_size=40), st.data())
def test_a_changed_bit_or_a_cut_makes_it_nothing(payload: bytes, data: Any) -> None:
    a, b = pair()
    sealed = a.seal("a", "b", payload)
    bit = data.draw(st.integers(0, len(sealed) * 8 - 1))
    flipped = bytearray(sealed)
    flipped[bit // 8] ^= 1 << bit % 8
    assert b.open("a", "b", bytes(flipped)) is None
    assert b.open("a", "b", sealed[: data.draw(st.integers(0, len(sealed) - 1))]) is None
    assert b.open("a", "b", sealed + b"\0") is None
    assert b.open("a", "b", sealed) == payload
    assert b.forged == 3


@given(st.binary(max_size=100))
def test_bytes_of_someone_else_are_nothing(datagram: bytes) -> None:
    _, b = pair()
    assert b.open("a", "b", datagram) is None
    assert b.open("a", "b", b"\1" + datagram) is None


def test_a_seal_is_good_for_its_sender_receiver_and_network_only() -> None:
    a, b = pair()
    sealed = a.seal("a", "b", b"x")
    assert b.open("c", "b", sealed) is None
    assert b.open("a", "c", sealed) is None
    assert b.open("ab", "", sealed) is None  # names have their lengths under the seal
    assert Seal(SECRET + b"!", 8).open("a", "b", sealed) is None


@given(st.permutations(list(range(40))), st.data())
def test_datagrams_out_of_order_are_each_good_once(order: list[int], data: Any) -> None:
    a, b = pair()
    sealed = [a.seal("a", "b", bytes((i,))) for i in range(40)]
    repeats = data.draw(st.lists(st.sampled_from(order), max_size=10))
    opened = [b.open("a", "b", sealed[i]) for i in [*order, *repeats]]
    assert opened == [bytes((i,)) for i in order] + [None] * len(repeats)


def test_what_is_very_late_is_dropped() -> None:
    a, b = pair()
    late, *others = [a.seal("a", "b", bytes(2)) for _ in range(1025)]
    assert all(b.open("a", "b", one) is not None for one in others)
    assert b.open("a", "b", late) is None


def test_datagrams_of_a_life_that_is_over_are_nothing() -> None:
    b = Seal(SECRET, 1)
    old, new = Seal(SECRET, 10), Seal(SECRET, 11)
    before = [old.seal("a", "b", b"1"), old.seal("a", "b", b"2")]
    assert b.open("a", "b", before[0]) == b"1"
    assert b.open("a", "b", new.seal("a", "b", b"3")) == b"3"
    assert b.open("a", "b", before[1]) is None


def test_a_short_secret_is_none() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        Seal(b"short", 1)


def test_a_transport_delivers_only_what_is_sealed() -> None:
    clock = SimulatedClock()
    links = SimulatedTransport(clock, uniform(Quality(0.01)))
    sealed = AuthenticatedTransport(links, SECRET, itertools.count(1).__next__)
    got: list[tuple[str, bytes]] = []
    sealed.attach("b", lambda source, payload: got.append((source, payload)))
    sealed.send("a", "b", b"mine")
    links.send("a", "b", b"theirs, long enough to hold a seal and more")
    while clock.step():
        pass
    assert got == [("a", b"mine")]
    assert sealed.seal.forged == 1
    sealed.detach("b")
    sealed.send("a", "b", b"more")
    sealed.close()
    assert not clock.step() or len(got) == 1
