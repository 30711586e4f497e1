"""How a view would be maintained, as people read it and as programs do."""

from __future__ import annotations

from collections.abc import Iterator

from whence.plan.delta import gaining_plan, losing_plan, places, supporting_plan
from whence.plan.nodes import RulePlan, Stratum
from whence.plan.show import show_step
from whence.syntax.nodes import Program
from whence.syntax.printer import print_rule
from whence.view.program import Maintained, maintained, why_recomputed

_HOW = {
    "auto": "ranked or recompute, whichever batches of that size have shown to be quicker",
    "ranked": "ranked: a tuple stays while premises of lower rank support it",
    "dred": "dred: all that may have lost its support is taken out, then derived again",
    "counting": "counting: a tuple stays while it has derivations",
    "recompute": "recompute: the stratum is evaluated again",
    "annotations": "annotations: a value stays while better premises, or earlier ones, derive it",
    "search": "search: what hung on a step or a seed that has changed is searched again",
}


def show_maintenance(program: Program, strategy: str) -> str:
    """Return, stratum by stratum, how a rewritten program is maintained, with its delta rules."""
    view = maintained(program, (), reach=strategy == "auto")
    out: list[str] = []
    for stratum in view.plan.strata:
        out.append(f"stratum {stratum.number}: {', '.join(stratum.relations)}")
        out.append(f"  {_how(stratum, view, strategy)}")
        if _has_delta_rules(stratum, view) and strategy != "recompute":
            out.extend(_delta_rules(stratum))
        out.append("")
    return "\n".join(out).rstrip()


def maintenance_as_json(program: Program, strategy: str) -> list[dict[str, object]]:
    """Return the same for programs to read."""
    view = maintained(program, (), reach=strategy == "auto")
    found: list[dict[str, object]] = []
    for stratum in view.plan.strata:
        entry: dict[str, object] = {
            "stratum": stratum.number,
            "relations": list(stratum.relations),
            "recursive": stratum.recursive,
            "strategy": _strategy(stratum, view, strategy),
        }
        why = _why(stratum, view)
        if why is not None:
            entry["why"] = why
        found.append(entry)
    return found


def _strategy(stratum: Stratum, view: Maintained, strategy: str) -> str:
    if stratum.relations[0] in view.groupings:
        return "groups"
    if not stratum.rules or stratum.relations[0] in view.base.values():
        return "base"
    if stratum.relations[0] in view.searches:
        return "recompute" if strategy == "recompute" else "search"
    if stratum.relations[0] in view.annotated:
        return "recompute" if strategy == "recompute" else "annotations"
    if _why(stratum, view) is not None:
        return "recompute"
    if strategy == "counting" and stratum.recursive:
        return "ranked"
    return strategy


def _why(stratum: Stratum, view: Maintained) -> str | None:
    if (
        stratum.relations[0] in {*view.groupings, *view.searches, *view.annotated}
        or not stratum.rules
    ):
        return None
    return why_recomputed(stratum, view.plan.program)


def _how(stratum: Stratum, view: Maintained, strategy: str) -> str:
    chosen = _strategy(stratum, view, strategy)
    if chosen == "groups":
        grouping = view.groupings[stratum.relations[0]]
        return f"groups: {grouping.function} over {grouping.source}, for the groups that change"
    if chosen == "base":
        return "base facts"
    why = _why(stratum, view)
    if why is not None:
        return f"recompute: {why}"
    if strategy == "counting" and stratum.recursive:
        return f"{_HOW['ranked']} (recursive: a count may never reach zero)"
    return _HOW[chosen]


def _has_delta_rules(stratum: Stratum, view: Maintained) -> bool:
    return _strategy(stratum, view, "auto") == "auto"


def _delta_rules(stratum: Stratum) -> Iterator[str]:
    own = frozenset(stratum.relations) if stratum.recursive else frozenset[str]()
    for rule in stratum.rules:
        yield f"  {print_rule(rule)}"
        for place in places(rule):
            losing, gaining = ("comes", "goes") if place.negated else ("goes", "comes")
            yield from _steps(
                f"lost when {place.relation} {losing}", losing_plan(rule, place, own, {})
            )
            yield from _steps(
                f"won when {place.relation} {gaining}", gaining_plan(rule, place, own, {})
            )
        yield from _steps("supported if", supporting_plan(rule, own, {}))


def _steps(when: str, plan: RulePlan) -> Iterator[str]:
    yield f"    {when}: {'; '.join(map(show_step, plan.steps))}"
