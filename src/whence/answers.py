"""The answers to a goal: the tuples of its relation that match it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from whence.diagnostics import Diagnostic, UsageError
from whence.facts.schema import NOUN, Column, shown_columns
from whence.syntax.nodes import Atom, Constant, Kind, Nil, Program, Term, Variable, Wildcard
from whence.syntax.printer import print_constant, print_term

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.facts.directives import Relations


def match_goal(program: Program, relations: Relations, goal: Atom) -> pa.Table:
    """Return the tuples of the goal's relation that match the goal, in order.

    Few match, as a rule, so they are put in order afterwards; only engines can order records.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = shown_columns(program, goal.relation)[: len(goal.args)]
    wanted = [_value(arg, column) for arg, column in zip(goal.args, columns, strict=True)]
    names = [arg.name for arg in goal.args if isinstance(arg, Variable)]
    selects = any(value is not None for value in wanted) or len(set(names)) < len(names)
    early = not selects or any(column.kind is Kind.RECORD for column in columns)
    table = relations.table(goal.relation, ordered=early)
    if not table.num_columns:
        return table
    keep = None
    first: dict[str, int] = {}
    for index, arg in enumerate(goal.args):
        value = wanted[index]
        if value is not None:
            test = pc.equal(table.column(index), pa.scalar(value, table.schema.field(index).type))
        elif isinstance(arg, Variable) and arg.name in first:
            test = pc.equal(table.column(index), table.column(first[arg.name]))
        else:
            if isinstance(arg, Variable):
                first[arg.name] = index
            continue
        keep = test if keep is None else pc.and_(keep, test)
    table = table if keep is None else table.filter(keep)
    if early or table.num_rows < 2:
        return table
    return table.sort_by([(name, "ascending") for name in table.column_names])


def _value(arg: Term, column: Column) -> int | float | str | None:
    """Return the value an argument asks for, or None where any will do."""
    match arg, column.kind:
        case ((Variable() | Wildcard()), _):
            return None
        case Nil(), Kind.RECORD:
            return "nil"
        case Constant(value=str(value)), Kind.SYMBOL:
            return value
        case Constant(value=int(value)), Kind.NUMBER if -(2**63) <= value < 2**63:
            return value
        case Constant(value=int(value)), Kind.UNSIGNED if 0 <= value < 2**64:
            return value
        case Constant(value=int(value) | float(value)), Kind.FLOAT:
            return float(value)
        case _:
            raise UsageError(
                Diagnostic(
                    "W0806",
                    f"`{print_term(arg)}` cannot be asked for: `{column.name}` is "
                    f"{NOUN[column.kind]}",
                    arg.span,
                    hint="a goal holds variables, `_` and constants of the columns' types",
                )
            )


def print_facts(program: Program, relation: str, table: pa.Table) -> Iterator[str]:
    """Yield each tuple as a fact that a program could hold."""
    columns = shown_columns(program, relation)
    if not columns:
        yield from (f"{relation}()." for _ in range(table.num_rows))
        return
    for batch in table.to_batches(max_chunksize=1 << 16):
        texts = [
            [print_value(value, column.kind) for value in array.to_pylist()]
            for array, column in zip(batch.columns, columns, strict=True)
        ]
        yield from (f"{relation}({', '.join(row)})." for row in zip(*texts, strict=True))


def print_value(value: int | float | str, kind: Kind) -> str:
    """Return a value as it is written in a program.

    >>> print_value("a b", Kind.SYMBOL), print_value(2.0, Kind.FLOAT)
    ('"a b"', '2.0')
    """
    if kind is Kind.RECORD:
        return str(value)
    # An unsigned constant needs no mark where the column already says what it is.
    return print_constant(Constant(value, Kind.NUMBER if kind is Kind.UNSIGNED else kind))
