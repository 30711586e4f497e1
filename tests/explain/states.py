"""States of random programs: the definition's relations beside a database of the same facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hypothesis import strategies as st

from explain.checker import Row, State
from property.agreement import resolved
from property.cases import Case
from property.programs import Features
from whence import Database
from whence.engine import naive
from whence.syntax.nodes import Program

PLAIN = Features(subsumption=False, facts=True)
"""Programs whose facts all follow from what is there."""

EVERYTHING = Features(floats=True, unsigned=True, nullary=True, facts=True, monotone=True)

Facts = Mapping[str, Iterable[Row]]


def state_of(program: Program, base: Facts) -> State:
    """What the definition makes of a program's rules and of base facts, its own among them."""
    rules = replace(program, rules=tuple(r for r in program.rules if r.body))
    relations = naive.evaluate(resolved(rules), base)
    return State(program, relations, {name: set(rows) for name, rows in base.items()})


def base_of(case: Case) -> dict[str, set[Row]]:
    """The facts of a case and those in its program's text."""
    stated = replace(
        case.program, rules=tuple(r for r in case.program.rules if not r.body), subsumptions=()
    )
    said = naive.evaluate(resolved(stated), {})
    return {n: rows | case.facts.get(n, set()) for n, rows in said.items()}  # type: ignore[arg-type]


def database_of(case: Case, maintain: str = "auto") -> Database:
    """A database with the facts of a case."""
    db = Database(maintain=maintain)
    db.load(case.program)
    for name, rows in case.facts.items():
        db.insert(name, sorted(rows, key=repr))
    return db


@st.composite
def changes(draw: st.DrawFn, case: Case) -> list[tuple[str, str, Row]]:
    """Inserts and deletes of base facts."""
    names = sorted(name for name, rows in case.facts.items() if rows)
    found = []
    for _ in range(draw(st.integers(1, 6))):
        name = draw(st.sampled_from(names))
        rows = sorted(case.facts[name], key=repr)
        row = draw(st.sampled_from(rows))
        if draw(st.booleans()):
            found.append(("-", name, row))
        else:
            other = draw(st.sampled_from(rows))
            mixed = tuple(a if draw(st.booleans()) else b for a, b in zip(row, other, strict=True))
            found.append(("+", name, mixed))
    return found  # type: ignore[return-value]
