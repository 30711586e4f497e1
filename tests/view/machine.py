"""Random programs under random batches, as a state machine of Hypothesis.

`python -m view.machine 20` plays twenty programs in a process of its own, where WHENCE_INTERPRET
can keep the kernels interpreted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from property.cases import Case, cases
from property.programs import INPUTS, Features
from view.judge import Judge
from view.knobs import KNOBS, turned
from view.reduce import Row
from whence.syntax.nodes import Program
from whence.view.base import STRATEGIES

PROGRAMS = Features(
    floats=True, unsigned=True, nullary=True, means=True, facts=True, monotone=True, rules=4
)

SMALL = st.integers(0, 3)
NUMBER = st.one_of(SMALL, SMALL, SMALL, st.sampled_from([-1, 7, 1000, 2**40, -(2**33)]))
NEW_SYMBOLS = [f"new{i}" for i in range(5)]
VALUES: dict[str, st.SearchStrategy[object]] = {
    "number": NUMBER,
    "unsigned": st.one_of(SMALL, SMALL, st.sampled_from([9, 2**41, 2**63 + 1])),
    "symbol": st.sampled_from(["a", "b", "ab", "a", "b", "ab", *NEW_SYMBOLS]),
    "float": st.sampled_from([0.0, 0.5, 1.5, -2.25, 1024.0]),
    "Pair": st.one_of(st.none(), st.tuples(SMALL, SMALL), st.tuples(NUMBER, NUMBER)),
}
"""Mostly values that meet others; some that no batch has seen, far from the rest."""


class LiveViews(RuleBasedStateMachine):
    """Every strategy gives what evaluation from nothing gives, whatever comes and goes."""

    strategies: Sequence[str] = STRATEGIES

    @initialize(
        case=cases(PROGRAMS),
        knobs=st.fixed_dictionaries({name: st.sampled_from(v) for name, v in KNOBS.items()}),
    )
    def begin(self, case: Case, knobs: dict[str, int]) -> None:
        """Views of a random program over some facts."""
        self.turned = ExitStack()
        self.turned.enter_context(turned(knobs))
        self.judge = Judge(case.program, case.facts, self.strategies, knobs)
        self.gone: list[tuple[str, Row]] = []

    # ── batches ──

    @rule(data=st.data())
    def facts_come(self, data: st.DataObject) -> None:
        self._apply(self._new(data), [])

    @precondition(lambda self: any(self.judge.base.values()))
    @rule(data=st.data())
    def facts_go(self, data: st.DataObject) -> None:
        self._apply([], self._held(data))

    @precondition(lambda self: any(self.judge.base.values()))
    @rule(data=st.data())
    def facts_come_and_go(self, data: st.DataObject) -> None:
        comes, goes = self._new(data), self._held(data) + self._new(data)
        if data.draw(st.booleans(), "replaced by itself"):
            comes += goes[:1]
        self._apply(comes, goes)

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def facts_come_back(self, data: st.DataObject) -> None:
        back = data.draw(st.lists(st.sampled_from(self.gone), min_size=1, max_size=4), "back")
        self._apply(back, self._held(data) if data.draw(st.booleans()) else [])

    @rule(data=st.data())
    def facts_are_repeated_or_not_there(self, data: st.DataObject) -> None:
        held = self._held(data)
        self._apply(held + held, self._new(data))

    @precondition(lambda self: any(self.judge.base.values()))
    @rule(data=st.data())
    def all_facts_go(self, data: st.DataObject) -> None:
        names = [name for name, rows in self.judge.base.items() if rows]
        name = data.draw(st.sampled_from(names), "emptied")
        self._apply([], [(name, row) for row in sorted(self.judge.base[name], key=repr)])

    @rule(data=st.data())
    def nothing_happens(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.judge.names))
        empty = st.sampled_from([None, ()])
        self.judge.apply(data.draw(st.sampled_from([{}, {name: (data.draw(empty), ())}])))

    def teardown(self) -> None:
        if hasattr(self, "judge"):
            self.judge.check_again()
        if hasattr(self, "turned"):
            self.turned.close()

    # ── their parts ──

    def _new(self, data: st.DataObject) -> list[tuple[str, Row]]:
        """Facts of any values, mostly of inputs, sometimes of what rules derive."""
        inputs = [name for name in self.judge.names if name in INPUTS]
        names = st.sampled_from(inputs * 3 + self.judge.names)
        fact = names.flatmap(
            lambda name: st.tuples(st.just(name), row_of(self.judge.program, name))
        )
        return data.draw(st.lists(fact, min_size=1, max_size=4), "facts")

    def _held(self, data: st.DataObject) -> list[tuple[str, Row]]:
        """Base facts that are there."""
        held = [(n, row) for n in self.judge.names for row in sorted(self.judge.base[n], key=repr)]
        if not held:
            return []
        return data.draw(st.lists(st.sampled_from(held), min_size=1, max_size=5), "held")

    def _apply(self, comes: list[tuple[str, Row]], goes: list[tuple[str, Row]]) -> None:
        names = {name for name, _ in comes + goes}
        step = {
            name: (
                [row for n, row in comes if n == name] or None,
                [row for n, row in goes if n == name] or None,
            )
            for name in sorted(names)
        }
        self.gone = [*dict.fromkeys(goes + self.gone)][:20]
        self.judge.apply(step)


def row_of(program: Program, relation: str) -> st.SearchStrategy[Row]:
    """A fact for a relation."""
    return st.tuples(*(VALUES[a.type] for a in program.relation(relation).attributes))


def play(examples: int, steps: int, machine: type[RuleBasedStateMachine] = LiveViews) -> None:
    """Play random programs with some batches each; the judge makes a failure smaller itself."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            phases=[Phase.reuse, Phase.generate],
        ),
    )


if __name__ == "__main__":
    play(int(sys.argv[1]), 6)
