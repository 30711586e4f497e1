"""Facts of a program's text as tables that tasks can be given."""

from __future__ import annotations

import pyarrow as pa

from whence.engine.local.engine import LocalEvaluation
from whence.engine.local.records import ExactRecordText
from whence.engine.local.values import Values
from whence.engine.spark.frames import columns_of, normal
from whence.engine.spark.model import SparkPlan
from whence.functor.user import UserFunctors
from whence.plan.nodes import Plan
from whence.syntax.nodes import Atom, Program


def stated_tables(program: Program, plan: SparkPlan) -> dict[str, pa.Table]:
    """Return the facts of a cut plan as normal tables, by relation."""
    by_relation: dict[str, list[Atom]] = {}
    for fact in plan.facts:
        by_relation.setdefault(fact.relation, []).append(fact)
    declared = {decl.name: (program, decl.name) for decl in program.relations}
    for group in plan.groups:  # what only placing knows is declared where it is read
        for copy in group.reads:
            declared.setdefault(copy.relation, (group.program, copy.name))
    found: dict[str, pa.Table] = {}
    empty: dict[int, LocalEvaluation] = {}
    for relation, facts in by_relation.items():
        if relation not in declared:
            continue
        whole, name = declared[relation]
        evaluation = empty.get(id(whole))
        if evaluation is None:
            none = Plan(whole, ())
            evaluation = LocalEvaluation(none, {}, Values(), UserFunctors(), ExactRecordText)
            empty[id(whole)] = evaluation
        table = evaluation.decode(name, evaluation.fact_rows(name, facts))
        found[relation] = normal(table, columns_of(whole)[name], exact=True)
    return found
