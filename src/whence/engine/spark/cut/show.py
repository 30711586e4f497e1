"""Spark plans as people read them, and as programs do."""

from __future__ import annotations

from collections.abc import Iterator

from whence.engine.spark.model import (
    ALONE,
    EVERYWHERE,
    SOMEWHERE,
    By,
    Copy,
    Group,
    Placement,
    Ship,
    SparkPlan,
    Strategy,
)
from whence.syntax.nodes import Rule
from whence.syntax.printer import print_rule, print_subsumption


def show_spark_plan(plan: SparkPlan) -> str:
    """Return the groups: how each runs and why, what tasks are given, do, send and give back."""
    if not plan.groups:
        return "nothing is derived: no Spark job"
    return "\n\n".join("\n".join(_show_group(group)) for group in plan.groups)


def _show_group(group: Group) -> Iterator[str]:
    names = ", ".join(dict.fromkeys(copy.relation for copy in group.writes))
    yield f"group {group.number}: {names} ({group.strategy.value})"
    yield f"  why: {group.why}"
    for copy in group.reads:
        yield f"  read {_show_copy(group, copy)}"
    for rule in _rules(group):
        yield f"  {print_rule(rule)}"
    for subsumption in group.program.subsumptions:
        yield f"  {print_subsumption(subsumption)}"
    for ship in group.ships:
        yield f"  ship {_show_ship(group, ship)}"
    for copy in group.writes:
        yield f"  write {_show_copy(group, copy)}"


def _rules(group: Group) -> Iterator[Rule]:
    """Yield the rules of a group but for those that stand for shipping."""
    shipped = {copy.name for ship in group.ships for copy in (ship.home, *ship.copies)}
    yield from (rule for rule in group.program.rules if rule.head.relation not in shipped)


def _show_copy(group: Group, copy: Copy) -> str:
    if group.strategy is Strategy.ROUNDS:
        return f"{copy.name} as a frame"
    return f"{copy.name} {_show_place(group, copy)}"


def _show_place(group: Group, copy: Copy) -> str:
    match copy.placement:
        case By(column=column):
            name = group.program.relation(copy.name).attributes[column].name
            return f"by `{name}`"
        case found if found is EVERYWHERE:
            return "at every task"
        case found if found is ALONE:
            return "at one task"
        case _:
            return "wherever it is derived"


def _show_ship(group: Group, ship: Ship) -> str:
    places = [_show_place(group, copy) for copy in (ship.home, *ship.copies)]
    return f"{ship.outbox} to where it is wanted: {', '.join(places)}"


def spark_plan_as_json(plan: SparkPlan) -> list[dict[str, object]]:
    """Return the same for programs to read."""
    return [
        {
            "group": group.number,
            "strategy": group.strategy.value,
            "why": group.why,
            "strata": list(group.strata),
            "reads": [_copy_json(copy) for copy in group.reads],
            "rules": [print_rule(rule) for rule in _rules(group)],
            "subsumptions": [print_subsumption(s) for s in group.program.subsumptions],
            "ships": [
                {
                    "relation": ship.relation,
                    "outbox": ship.outbox,
                    "home": _copy_json(ship.home),
                    "copies": [_copy_json(copy) for copy in ship.copies],
                }
                for ship in group.ships
            ],
            "writes": [_copy_json(copy) for copy in group.writes],
        }
        for group in plan.groups
    ]


def _copy_json(copy: Copy) -> dict[str, object]:
    return {"copy": copy.name, "relation": copy.relation, **_place_json(copy.placement)}


def _place_json(placement: Placement) -> dict[str, object]:
    if isinstance(placement, By):
        return {"at": "owner", "column": placement.column}
    return {"at": {EVERYWHERE: "all", ALONE: "one", SOMEWHERE: "some"}[placement]}
