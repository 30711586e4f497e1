"""Clocks call back in order of time, and of asking; what is cancelled does not happen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from whence.network.clock import RealClock, SimulatedClock


@given(st.lists(st.integers(0, 5), max_size=20), st.integers(0, 5))
def test_simulated_calls_come_in_order(times: list[int], end: int) -> None:
    clock = SimulatedClock()
    seen: list[tuple[int, int]] = []
    for number, at in enumerate(times):
        clock.call_at(at, lambda at=at, number=number: seen.append((at, number)))
    clock.run_until(end)
    assert seen == sorted((at, n) for n, at in enumerate(times) if at <= end)
    assert clock.now() == end
    while clock.step():
        pass
    assert seen == sorted((at, n) for n, at in enumerate(times))


def test_what_is_past_happens_now() -> None:
    clock = SimulatedClock(10.0)
    clock.call_at(3.0, lambda: None)
    assert clock.next_time() == 10.0


def test_a_cancelled_call_does_not_happen() -> None:
    clock = SimulatedClock()
    clock.call_at(1.0, lambda: 1 / 0).cancel()
    assert clock.next_time() is None
    assert not clock.step()
    real = RealClock()
    real.call_at(0.0, lambda: 1 / 0).cancel()
    assert real.tick() == 0


def test_real_time_passes_by_itself() -> None:
    clock = RealClock()
    seen: list[str] = []
    assert clock.wait() is None
    clock.call_at(clock.now() + 3600, lambda: seen.append("late"))
    clock.call_at(0.0, lambda: seen.append("at once"))
    assert clock.wait() == 0.0
    assert clock.tick() == 1
    assert seen == ["at once"]
    wait = clock.wait()
    assert wait is not None
    assert 3500 < wait <= 3600
