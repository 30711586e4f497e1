"""`auto` learns what batches of a size cost."""

from __future__ import annotations

from whence.view.choice import Choice


def settled(recompute: float, *sizes: tuple[int, int]) -> Choice:
    """A choice that knows what recomputation takes after batches of these sizes."""
    choice = Choice(recompute)
    for gone, new in sizes:
        choice.learn_recompute(gone, new, recompute)
    return choice


def test_the_first_batch_of_a_size_is_ranked_and_may_take_a_multiple() -> None:
    strategy, allowed = Choice(0.1).pick(1, 0)
    assert strategy == "ranked"
    assert 0.1 < allowed < 1.0


def test_the_quicker_strategy_is_taken_for_each_size() -> None:
    choice = settled(0.1, (1, 0), (1000, 0))
    for gone, seconds in ((1, 0.001), (1000, 0.5)):
        choice.pick(gone, 0)
        choice.learn_ranked(gone, 0, seconds, ended=True, cold=False)
    assert choice.pick(1, 0)[0] == "ranked"
    assert choice.pick(1000, 0)[0] == "recompute"
    assert choice.pick(1023, 0)[0] == "recompute"  # of the same size, by powers of two
    assert choice.pick(0, 1000)[0] == "ranked"  # nothing is known of insertions


def test_what_was_broken_off_counts_as_slower_than_it_was() -> None:
    choice = settled(0.1, (8, 0))
    choice.pick(8, 0)
    choice.learn_ranked(8, 0, 0.09, ended=False, cold=False)
    assert choice.pick(8, 0)[0] == "recompute"


def test_compiling_is_not_held_against_a_strategy() -> None:
    choice = settled(0.001, (1, 0))
    choice.pick(1, 0)
    choice.learn_ranked(1, 0, 0.05, ended=True, cold=True)
    assert choice.pick(1, 0)[0] == "ranked"


def test_a_guess_of_recomputation_is_put_to_the_test_once() -> None:
    choice = Choice(0.1)
    choice.pick(1, 0)
    choice.learn_ranked(1, 0, 0.08, ended=True, cold=False)
    assert choice.pick(1, 0)[0] == "recompute"
    choice.learn_recompute(1, 0, 0.3)
    assert choice.pick(1, 0)[0] == "ranked"


def test_ranked_support_is_tried_again_ever_less_often_if_it_was_not_far_behind() -> None:
    near, far = settled(0.1, (1, 0)), settled(0.1, (1, 0))
    for choice, seconds in ((near, 0.2), (far, 9.0)):
        choice.pick(1, 0)
        choice.learn_ranked(1, 0, seconds, ended=True, cold=False)
    picks = [near.pick(1, 0)[0] for _ in range(2, 65)]
    assert [i for i, s in enumerate(picks, 2) if s == "ranked"] == [8, 16, 32, 64]
    assert {far.pick(1, 0)[0] for _ in range(2, 65)} == {"recompute"}


def test_recomputation_may_cost_less_after_some_batches_than_after_others() -> None:
    choice = settled(0.1, (100, 0))  # little is left after these
    for gone, new in ((100, 0), (0, 100)):
        choice.pick(gone, new)
        choice.learn_ranked(gone, new, 0.5, ended=True, cold=False)
    choice.learn_recompute(0, 100, 0.9)
    assert choice.pick(100, 0)[0] == "recompute"
    assert choice.pick(0, 100)[0] == "ranked"
