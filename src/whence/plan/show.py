"""Plans as people read them, and as programs do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

from whence.diagnostics import Diagnostic
from whence.plan.build import plan_stratum
from whence.plan.nodes import (
    Bind,
    Exists,
    Fold,
    Gather,
    Key,
    Plan,
    Probe,
    RulePlan,
    Scan,
    Step,
    StratumPlan,
    Takes,
    Test,
    Unpack,
)
from whence.syntax.nodes import Constant, RelationDecl
from whence.syntax.printer import print_literal, print_rule, print_term

_DUPLICATES = {
    "tuples": (
        "bitmap while the ranges of the columns are small, "
        "packed 64-bit keys while they fit, else hashed rows"
    ),
    "keyed": "one row per key, found by a dense table or by hashing, improved in place",
}


def plan_strata(plan: Plan, cardinalities: Mapping[str, int] | None = None) -> list[StratumPlan]:
    """Return the plan of every stratum, for these sizes or without knowing any."""
    return [plan_stratum(stratum, cardinalities or {}) for stratum in plan.strata]


def show_plan(plan: Plan, cardinalities: Mapping[str, int] | None = None) -> str:
    """Return the strata with their rules step by step, indexes and duplicate checks."""
    decls = {d.name: d for d in plan.program.relations}
    out: list[str] = []
    facts = {s.number: len(s.facts) for s in plan.strata}
    for stratum in plan_strata(plan, cardinalities):
        rules = stratum.once + stratum.repeated
        if not rules and not stratum.dominations and not facts[stratum.number]:
            continue
        kind = "recursive" if stratum.recursive else "not recursive"
        out.append(f"stratum {stratum.number}: {', '.join(stratum.relations)} ({kind})")
        if facts[stratum.number]:
            out.append(f"  facts of the program: {facts[stratum.number]}")
        for rule in stratum.once:
            out.extend(_show_rule("once", rule))
        for rule in stratum.repeated:
            out.extend(_show_rule(f"each round, from Δ{rule.delta}", rule))
        for name, keyed in stratum.keyed:
            best = "greatest" if keyed.greatest else "least"
            names = [a.name for a in decls[name].attributes]
            key = ", ".join(names[c] for c in keyed.key)
            out.append(f"  keyed: {name} keeps the {best} {names[keyed.value]} for each ({key})")
        out.extend(_show_search(stratum, decls))
        out.extend(f"  selection: {line}" for line in _selections(stratum, decls))
        for name, why in plan.refusals:
            if name in stratum.relations:
                out.append(f"  no selection: {why.message}{_line(why)} [{why.code}]")
        for domination in stratum.dominations:
            out.append(f"  after each round: tombstone the dominated rows of {domination.relation}")
        for relation, columns in _indexes(stratum, decls):
            out.append(f"  index: {relation}({', '.join(columns)})")
        for name in stratum.relations:
            out.append(f"  duplicates of {name}: {_duplicates(name, stratum)}")
        out.append("")
    return "\n".join(out).rstrip()


def _show_search(stratum: StratumPlan, decls: Mapping[str, RelationDecl]) -> list[str]:
    search = stratum.search
    if search is None:
        return []
    names = [a.name for a in decls[search.relation].attributes]
    carried = ", ".join(names[c] for c in search.pivot)
    states = ", ".join(names[c] for c in search.state)
    each = f"one search for each ({carried})" if search.pivot else "one search"
    lines = [f"  best first: {each}, instead of rounds, over the states ({states}), with the steps"]
    return lines + [f"    {print_rule(step.rule)}" for step in stratum.steps]


def _search_json(
    stratum: StratumPlan, decls: Mapping[str, RelationDecl]
) -> dict[str, object] | None:
    search = stratum.search
    if search is None:
        return None
    names = [a.name for a in decls[search.relation].attributes]
    return {
        "relation": search.relation,
        "carried": [names[c] for c in search.pivot],
        "states": [names[c] for c in search.state],
        "combine": search.combine.value,
    }


def plan_as_json(
    plan: Plan, cardinalities: Mapping[str, int] | None = None
) -> list[dict[str, object]]:
    """Return the same for programs to read."""
    decls = {d.name: d for d in plan.program.relations}
    return [
        {
            "stratum": stratum.number,
            "relations": list(stratum.relations),
            "recursive": stratum.recursive,
            "once": [_rule_json(r) for r in stratum.once],
            "delta": [_rule_json(r) for r in stratum.repeated],
            "keyed": [name for name, _ in stratum.keyed],
            "search": _search_json(stratum, decls),
            "subsumptions": [d.relation for d in stratum.dominations],
            "selections": [
                {
                    "relation": name,
                    "key": [decls[name].attributes[c].name for c in s.key],
                    "value": decls[name].attributes[s.value].name,
                    "best": "greatest" if s.greatest else "least",
                    "ties": s.ties,
                }
                for name, selections in stratum.selections
                for s in selections
            ],
            "assumes": [
                {"relation": a.relation, "column": decls[a.relation].attributes[a.column].name}
                for a in stratum.assumes
            ],
            "refused": [
                {"relation": name, "code": why.code, "message": why.message}
                for name, why in plan.refusals
                if name in stratum.relations
            ],
            "indexes": [
                {"relation": r, "columns": list(columns)} for r, columns in _indexes(stratum, decls)
            ],
            "duplicates": {name: _duplicates(name, stratum) for name in stratum.relations},
        }
        for stratum in plan_strata(plan, cardinalities)
    ]


def _rule_json(rule: RulePlan) -> dict[str, object]:
    return {
        "rule": print_rule(rule.rule),
        "delta": rule.delta,
        "steps": [show_step(step) for step in rule.steps],
        "head": print_literal(rule.head),
    }


def _duplicates(name: str, stratum: StratumPlan) -> str:
    return _DUPLICATES["keyed" if name in dict(stratum.keyed) else "tuples"]


def _show_rule(when: str, rule: RulePlan) -> Iterator[str]:
    yield f"  {when}: {print_rule(rule.rule)}"
    for step in rule.steps:
        yield f"    {show_step(step)}"
    yield f"    insert {print_literal(rule.head)}"


def show_step(step: Step) -> str:
    """Return one line that says what the step does."""
    match step:
        case Scan(relation=relation, version=version, takes=takes, key=key):
            return f"scan {version.value}{relation}{_where(key)}{_gives(takes)}"
        case Probe(relation=relation, version=version, takes=takes, key=key):
            return f"join {version.value}{relation}{_where(key)}{_gives(takes)}"
        case Exists(relation=relation, version=version, key=key, negated=negated):
            return f"{'unless' if negated else 'if'} {version.value}{relation}{_where(key)}"
        case Test(constraint=constraint):
            return f"if {print_literal(constraint)}"
        case Bind(variable=variable, term=term):
            return f"let {variable} = {print_term(term)}"
        case Unpack(record=record, takes=takes):
            return f"unpack {record}{_gives(takes)}"
        case Fold(variable=variable, function=function, relation=relation, key=key, target=target):
            what = "" if target is None else f" of column {target}"
            return f"let {variable} = {function}{what} over {relation}{_where(key)}"
        case Gather(variable=variable, function=function, steps=steps, target=target):
            what = "" if target is None else f" {target}"
            return (
                f"let {variable} = {function}{what} over {{ {'; '.join(map(show_step, steps))} }}"
            )
    assert_never(step)


def _selections(stratum: StratumPlan, decls: Mapping[str, RelationDecl]) -> Iterator[str]:
    for name, selections in stratum.selections:
        names = [a.name for a in decls[name].attributes]
        for s in selections:
            best = "greatest" if s.greatest else "least"
            key = ", ".join(names[c] for c in s.key)
            ties = "with all ties" if s.ties else "any one of equals"
            each = f"for each ({key})" if s.key else "of all"
            yield f"{name} follows the {best} {names[s.value]} {each}, {ties}"
    for a in stratum.assumes:
        column = decls[a.relation].attributes[a.column].name
        yield f"only if all {column} of {a.relation} are above zero"


def _line(why: Diagnostic) -> str:
    return f", line {why.span.line}" if why.span else ""


def _where(key: Key) -> str:
    parts = [f"{c} = {print_term(o) if isinstance(o, Constant) else o.name}" for c, o in key]
    return f"[{', '.join(parts)}]" if parts else ""


def _gives(takes: Takes) -> str:
    return f" giving {', '.join(name for _, name in takes)}" if takes else ""


def _indexes(
    stratum: StratumPlan, decls: Mapping[str, RelationDecl]
) -> list[tuple[str, tuple[str, ...]]]:
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    dominations = [p for d in stratum.dominations for p in d.pairs]
    for rule in (*stratum.once, *stratum.repeated, *dominations):
        for step in rule.steps:
            if isinstance(step, Probe | Exists):
                names = [a.name for a in decls[step.relation].attributes]
                columns = tuple(names[column] for column, _ in step.key)
                found[step.relation, columns] = None
    return list(found)
