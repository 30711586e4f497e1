"""Records of no declared type: `x = [a, b]` where nothing else says what `x` is.

Such a variable is a name for the record, which is put in its place; equations between records
then fall apart, and no type is needed. This is what Soufflé does, too.
"""

from __future__ import annotations

from dataclasses import replace

from whence.analysis.clauses import Clause, alternatives
from whence.analysis.inference import Inference, Typing
from whence.analysis.scopes import scope
from whence.analysis.traverse import level, map_level
from whence.analysis.typesystem import ALL
from whence.syntax.nodes import Constraint, Literal, Record, Term, Variable

_MAX_NODES = 5000
"""Records inside records double with each name; beyond this they stay as they are."""


def infer_clause(inference: Inference, clause: Clause) -> list[tuple[Clause, Typing]]:
    """Return the clauses that are left once anonymous records are gone, and their types."""
    done: list[tuple[Clause, Typing]] = []
    pending = [clause]
    while pending:
        current = pending.pop()
        typing = inference.infer(scope(current).clause)
        found = _alias(typing)
        replaced = None if found is None else _substitute(current, *found)
        if replaced is None:
            done.append((current, typing))
        else:
            pending.extend(reversed(replaced))
    return done


def _alias(typing: Typing) -> tuple[str, Record] | None:
    if ALL not in typing.types:
        return None
    for constraint, left, _ in typing.comparisons:
        if constraint.op != "=" or typing.types[left] != ALL:
            continue
        match constraint.left, constraint.right:
            case (Variable(name=name), Record() as record) | (
                Record() as record,
                Variable(name=name),
            ):
                return name, record
            case _:
                pass
    return None


def _substitute(clause: Clause, name: str, record: Record) -> list[Clause] | None:
    size = uses = 0
    for node in level(clause.head, *clause.body):
        size += 1
        uses += type(node) is Variable and node.name == name
    inside = list(level(record))
    if size + uses * len(inside) > _MAX_NODES or any(
        type(node) is Variable and node.name == name for node in inside
    ):
        return None

    def visit(node: Term | Literal) -> Term | Literal:
        if type(node) is Variable and node.name == name:
            return replace(record, span=node.span)
        return node

    body = tuple(
        map_level(literal, visit) for literal in clause.body if not _defines(literal, name, record)
    )
    return [
        replace(clause, head=map_level(clause.head, visit), body=flat)
        for flat in alternatives(body, clause.origin.span)
    ]


def _defines(literal: Literal, name: str, record: Record) -> bool:
    match literal:
        case Constraint(op="=", left=Variable(name=found), right=Record() as other):
            return found == name and other is record
        case Constraint(op="=", left=Record() as other, right=Variable(name=found)):
            return found == name and other is record
        case _:
            return False
