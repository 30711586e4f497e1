"""Random programs with facts for their inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from property.programs import EVERYTHING, INPUTS, MODULUS, SYMBOLS, Features, programs
from whence.syntax.nodes import Program

_NUMBER = st.integers(0, MODULUS - 1)
_VALUES = {
    "number": _NUMBER,
    "symbol": st.sampled_from(SYMBOLS),
    "Pair": st.one_of(st.none(), st.tuples(_NUMBER, _NUMBER)),
    "float": st.sampled_from([0.0, 0.5, 1.5]),
    "unsigned": _NUMBER,
}


def _facts(program: Program) -> st.SearchStrategy[dict[str, set[tuple[object, ...]]]]:
    return st.fixed_dictionaries(
        {
            decl.name: st.sets(
                st.tuples(*(_VALUES[a.type] for a in decl.attributes)), min_size=1, max_size=8
            )
            for decl in program.relations
            if decl.name in INPUTS
        }
    )


@dataclass(frozen=True)
class Case:
    """A program and facts for its inputs, shown as text when a test fails."""

    program: Program
    facts: dict[str, set[tuple[object, ...]]]

    def __repr__(self) -> str:
        return f"\n{self.program}\n{self.facts}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Hypothesis would print how the dataclass is made, thousands of lines of nodes."""
        printer.text(repr(self))


@st.composite
def cases(draw: st.DrawFn, features: Features = EVERYTHING) -> Case:
    program = draw(programs(features))
    return Case(program, draw(_facts(program)))
