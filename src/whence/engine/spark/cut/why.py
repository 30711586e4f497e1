"""Why a group runs as it does, in a sentence for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from whence.engine.spark.cut.known import Known
from whence.engine.spark.cut.placement import place
from whence.engine.spark.cut.sites import Draft
from whence.engine.spark.model import EVERYWHERE, By, Placement
from whence.plan.bodies import known_name
from whence.plan.nodes import Stratum


def why_apart(known: Known, strata: Sequence[Stratum], draft: Draft) -> str:
    """Say why nothing is shipped."""
    carried = [
        f"`{column(known, name, p.column)}` of `{known_name(name)}`"
        for stratum in strata
        if stratum.recursive
        for name in stratum.relations
        for p in [next(p for n, p in draft.local if n == name)]
        if isinstance(p, By)
    ]
    if carried:
        said = f"the recursion carries {listed(carried)} along unchanged"
    else:
        said = "every rule finds what it reads at one task"
    everywhere = [f"`{known_name(n)}`" for n, p in draft.reads if p is EVERYWHERE]
    return said + (f"; {listed(everywhere)} goes to every task" if everywhere else "")


def why_exchanged(known: Known, strata: Sequence[Stratum], draft: Draft) -> str:
    """Say what is shipped, and why."""
    shipped = [
        f"{_shown(name)} goes {placed(known, name, (s.home, *s.copies))}"
        for name, s in draft.shipped.items()
    ]
    if not shipped:
        return "nothing has to be shipped"
    return f"{why_not_apart(known, strata)}: {listed(shipped)}"


def why_not_apart(known: Known, strata: Sequence[Stratum]) -> str:
    """Say why a group cannot do without shipping."""
    recursive = [_shown(n) for s in strata if s.recursive for n in s.relations if not _made(n)]
    large = [
        f"`{known_name(name)}`"
        for name in dict.fromkeys(
            r.relation
            for s in strata
            for n in s.relations
            for statement in known.statements(n)
            for r in statement.readings
        )
        if not known.fits(name)
    ]
    unlimited = replace(known, sizes={})
    if large and place(unlimited, strata, {n for s in strata for n in s.relations}, ships=False):
        return f"{listed(large)} would have to be at every task, and is too much for that"
    if recursive:
        return f"no column is carried through the recursion of {listed(recursive)}"
    return "rules read tuples at other tasks than those that derive them"


def placed(known: Known, name: str, places: Iterable[Placement]) -> str:
    """Say where the tuples of a relation go."""
    said = [
        f"to the owners of `{column(known, name, p.column)}`"
        if isinstance(p, By)
        else ("to every task" if p is EVERYWHERE else "to one task")
        for p in places
    ]
    return listed(said)


def _shown(name: str) -> str:
    return "what is between two joins" if _made(name) else f"`{known_name(name)}`"


def _made(name: str) -> bool:
    return name.startswith("@join")


def column(known: Known, name: str, number: int) -> str:
    """Return the name of a column."""
    return known.decls[name].attributes[number].name


def listed(parts: Sequence[str]) -> str:
    """Return the parts as a list in a sentence."""
    *first, last = dict.fromkeys(parts) or [""]
    return f"{', '.join(first)} and {last}" if first else last
