"""Round trips are twice the latency, and only those who do not answer are forgotten."""

from __future__ import annotations

import pytest

from network.protocols.running import running


def test_a_round_trip_takes_twice_the_latency() -> None:
    with running("ping_pong", "abc", latency=0.25) as network:
        network.insert("link", ("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"))
        network.advance(30)
        measured = {(s, d): rtt for s, d, rtt in network.rows("pingRTT")}
        assert set(measured) == {("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")}
        assert list(measured.values()) == pytest.approx([0.5] * 4)


def test_only_a_node_that_is_stopped_is_forgotten() -> None:
    with running("ping_pong", "abcd", latency=0.1) as network:
        network.insert("link", *((s, d) for s in "abcd" for d in "abcd" if s != d))
        network.advance(20)
        network.kill("d")
        network.advance(30)
        alive = {(s, d) for s, d in network.rows("link") if s != "d"}
        assert alive == {(s, d) for s in "abc" for d in "abc" if s != d}
