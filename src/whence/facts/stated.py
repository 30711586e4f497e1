"""The facts of a program's text as tables, for a view that lets them go and come back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from whence.facts.annotations import as_cell
from whence.facts.records import record_text
from whence.facts.schema import Column, arrow_schema, columns_of, truths
from whence.syntax.nodes import Constant, Kind, Nil, Program, Record, Rule, Term, walk

if TYPE_CHECKING:
    import pyarrow as pa

Value: TypeAlias = "int | float | str | tuple[Value, ...] | None"


def apart_from_facts(program: Program) -> tuple[Program, dict[str, pa.Table]]:
    """Return the program without the facts of its text, and these as tables of base facts.

    Facts that are computed, such as `a(1 + 1).`, stay: they are rules without a body.
    """
    facts = [rule for rule in program.rules if _is_plain(rule)]
    rules = tuple(rule for rule in program.rules if not _is_plain(rule))
    by_relation: dict[str, list[Rule]] = {}
    for fact in facts:
        by_relation.setdefault(fact.head.relation, []).append(fact)
    tables = {name: _table(program, name, stated) for name, stated in by_relation.items()}
    return replace(program, rules=rules), tables


def facts_and(
    stated: Mapping[str, pa.Table], inputs: Mapping[str, pa.Table]
) -> dict[str, pa.Table]:
    """Return the facts of both, relation by relation."""
    import pyarrow as pa

    found = {**stated, **inputs}
    for name in stated.keys() & inputs.keys():
        first, second = stated[name], inputs[name]
        if not first.num_columns:
            continue
        width = first.num_columns
        if second.num_columns < width:
            missing = pa.nulls(second.num_rows, first.schema.types[-1])
            second = second.append_column(first.schema.field(width - 1), missing)
        same = second.select(range(width)).rename_columns(first.column_names)
        found[name] = pa.concat_tables([first, same.cast(first.schema)])
    return found


def _is_plain(rule: Rule) -> bool:
    return (
        rule.is_fact
        and len(rule.heads) == 1
        and all(
            isinstance(node, Constant | Nil | Record)
            for arg in rule.head.args
            for node in walk(arg)
        )
    )


def _table(program: Program, relation: str, facts: list[Rule]) -> pa.Table:
    import pyarrow as pa

    columns = columns_of(program, relation)
    if not columns:
        return truths(1)
    schema = arrow_schema(columns)
    arity = program.relation(relation).arity
    values: list[list[object]] = [
        [_cell(fact.head.args[i], columns[i]) for fact in facts] for i in range(arity)
    ]
    if len(columns) > arity:
        semiring = columns[-1].semiring
        assert semiring is not None
        values.append([f.annotation and as_cell(f.annotation.value, semiring) for f in facts])
    arrays = [pa.array(v, f.type) for v, f in zip(values, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def _cell(term: Term, column: Column) -> object:
    value = _value(term)
    return record_text(value) if column.kind is Kind.RECORD else value


def _value(term: Term) -> Value:
    match term:
        case Constant(value=value):
            return value
        case Record(items=items):
            return tuple(_value(item) for item in items)
        case _:
            return None
