"""What an engine cannot do yet, and why: the only list of such cases.

A case that is here must fail, so that a gap that has closed is taken out.
"""

from __future__ import annotations

GAPS: dict[tuple[str, str], str] = {
    ("records_of_symbols_that_look_like_records", "gang"): (
        "only one evaluation notices a relation that grows for ever"
    ),
    ("numbers_of_values", "gang"): "`ord` numbers values as one evaluation meets them",
    ("a_limited_relation", "gang"): "`.limitsize` counts the tuples of one evaluation",
    ("records_of_symbols_that_look_like_records", "rounds"): (
        "only one evaluation notices a relation that grows for ever"
    ),
    ("a_cycle_without_end", "rounds"): (
        "only one evaluation notices a relation that grows for ever"
    ),
    ("numbers_of_values", "rounds"): "`ord` numbers values as one evaluation meets them",
    ("a_limited_relation", "rounds"): "`.limitsize` counts the tuples of one evaluation",
}
"""Reasons by the name of the case and the way it is run: `local`, `spark`, or a strategy."""

NOT_REPEATED: dict[str, str] = {
    "test_only_what_has_no_end_is_stopped": (
        "it turns off in this process what notices endless recursions, and tasks are others"
    ),
}
"""Tests of the embedded engine that Spark cannot repeat, and why."""
