"""From the constraint that left no type to a message about the place it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from whence.analysis.inference import Inference, Typing
from whence.analysis.scopes import display
from whence.analysis.solver import Conflict
from whence.analysis.typesystem import TypeSystem
from whence.diagnostics import Diagnostic
from whence.functor.comparison import TEXTUAL
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Call,
    Cast,
    Conjunction,
    Constant,
    Constraint,
    Counter,
    Disjunction,
    HeadAggregate,
    InInterval,
    Kind,
    Negation,
    Nil,
    Record,
    RelationDecl,
    Term,
    Truth,
    UserCall,
    Variable,
    Wildcard,
)

_ARTICLES = {
    None: "a number",
    Kind.NUMBER: "a number",
    Kind.UNSIGNED: "an unsigned number",
    Kind.FLOAT: "a float",
    Kind.SYMBOL: "a symbol",
    Kind.RECORD: "a record",
}
_CONVERT = "convert with `to_number`, `to_unsigned`, `to_float` or `to_string`"


def explain(
    conflict: Conflict,
    typing: Typing,
    inference: Inference,
    relations: Mapping[str, RelationDecl],
) -> Diagnostic:
    """Return the diagnostic for a conflict of types."""
    system = inference.system
    before = [system.describe(types) for types in conflict.before]
    match conflict.place:
        case Atom() as atom:
            return _argument(atom, conflict, typing, relations, system)
        case Constant() as constant:
            return Diagnostic(
                "W0307",
                f"`{_show(constant)}` where {before[0]} is expected",
                constant.span,
                f"is {_ARTICLES[constant.kind]}",
            )
        case Constraint() as constraint:
            return _comparison(constraint, conflict, system)
        case Call() as call:
            args = typing.arguments[_slot_of(typing, call)]
            return no_form(system, call, [_before(conflict, arg, typing) for arg in args])
        case UserCall() as user_call:
            return _user_argument(user_call, conflict, typing, inference)
        case Aggregate() as aggregate:
            want = "floats" if aggregate.function == "mean" else "numbers"
            return Diagnostic(
                "W0313",
                f"no type fits this {aggregate.function} aggregate",
                aggregate.span,
                f"takes {want}, not {before[0]}",
                hint="convert with `to_float`" if aggregate.function == "mean" else "",
            )
        case Record() as record:
            if not conflict.before[1] & system.records:
                return Diagnostic("W0309", f"a record where {before[1]} is expected", record.span)
            return Diagnostic(
                "W0309",
                "the items of this record do not fit its type",
                record.span,
                f"{before[0]} as an item of {before[1]}",
            )
        case Cast() as cast:
            return Diagnostic(
                "W0306",
                f"a cast to `{cast.type}` where {before[0]} is expected",
                cast.span,
            )
        case Counter() | Wildcard() | Nil() | Variable() | Negation() | Truth() as node:
            return Diagnostic("W0306", "no type fits here", node.span)
        case Conjunction() | Disjunction() | InInterval() | HeadAggregate() as node:
            return Diagnostic("W0306", "no type fits here", node.span)
        case _:
            assert_never(conflict.place)


def _comparison(constraint: Constraint, conflict: Conflict, system: TypeSystem) -> Diagnostic:
    left, right = (system.describe(types) for types in conflict.before)
    kinds = [system.kind_of(types) for types in conflict.before]
    if constraint.op in TEXTUAL:
        wrong, side = (
            (left, constraint.left) if kinds[0] is not Kind.SYMBOL else (right, constraint.right)
        )
        return not_comparable(constraint.op, "symbols", side, wrong)
    return Diagnostic(
        "W0315",
        f"{left} is compared with {right}",
        constraint.span,
        "of different types",
        hint="" if Kind.RECORD in kinds or kinds[0] is kinds[1] else _CONVERT,
    )


def not_comparable(op: str, want: str, side: Term, types: str) -> Diagnostic:
    """Return the diagnostic for an operand of a kind that the comparison does not take."""
    return Diagnostic("W0315", f"`{op}` compares {want}", side.span, f"is {types}")


def no_form(system: TypeSystem, call: Call, types: Sequence[int]) -> Diagnostic:
    """Return the diagnostic for a functor of which no overload fits."""
    given = " and ".join(system.describe(t) if t else "no type" for t in types)
    return Diagnostic(
        "W0311",
        f"no form of `{'-' if call.functor == 'neg' else call.functor}` fits here",
        call.span,
        f"of {given}" if types else "",
        hint=_CONVERT,
    )


def _argument(
    atom: Atom,
    conflict: Conflict,
    typing: Typing,
    relations: Mapping[str, RelationDecl],
    system: TypeSystem,
) -> Diagnostic:
    (slot,) = conflict.slots
    slots = next(slots for found, _, slots in typing.atoms if found is atom)
    index = next(
        i
        for i, found in enumerate(slots)
        if found == slot and _declares(relations, atom, i, conflict.declared, system)
    )
    attribute = relations[atom.relation].attributes[index]
    arg = atom.args[index]
    known = system.describe(conflict.before[0])
    if isinstance(arg, Constant):
        code, message = "W0307", f"`{_show(arg)}` where `{attribute.type}` is expected"
    elif isinstance(arg, Variable):
        code = "W0306"
        message = f"variable `{display(arg.name)}` is {known} and must be `{attribute.type}`"
    else:
        code, message = "W0306", f"{known} where `{attribute.type}` is expected"
    return Diagnostic(
        code, message, arg.span, f"`{attribute.name}` of `{atom.relation}` is `{attribute.type}`"
    )


def _declares(
    relations: Mapping[str, RelationDecl],
    atom: Atom,
    index: int,
    declared: int | None,
    system: TypeSystem,
) -> bool:
    type_ = system.ids.get(relations[atom.relation].attributes[index].type)
    if type_ is None or declared is None:
        return False
    return type_ == declared or system.kinds[type_] is system.kinds[declared]


def _user_argument(
    call: UserCall, conflict: Conflict, typing: Typing, inference: Inference
) -> Diagnostic:
    decl = inference.functors[call.name]
    (slot,) = conflict.slots
    known = inference.system.describe(conflict.before[0])
    args = typing.arguments[_slot_of(typing, call)]
    if slot in args:
        index = args.index(slot)
        parameter = decl.parameters[index]
        return Diagnostic(
            "W0312",
            f"functor `{call.name}` takes `{parameter.type}` for `{parameter.name}`",
            call.args[index].span,
            f"is {known}",
        )
    return Diagnostic(
        "W0312",
        f"functor `{call.name}` returns `{decl.returns}`, which does not fit here",
        call.span,
        f"{known} is expected",
    )


def _slot_of(typing: Typing, term: Term) -> int:
    return next(slot for found, slot in typing.terms if found is term)


def _before(conflict: Conflict, slot: int, typing: Typing) -> int:
    if slot in conflict.slots:
        return conflict.before[conflict.slots.index(slot)]
    return typing.types[slot]


def _show(constant: Constant) -> str:
    text = f'"{constant.value}"' if isinstance(constant.value, str) else str(constant.value)
    text += "u" if constant.kind is Kind.UNSIGNED else ""
    return text if len(text) <= 40 else text[:39] + "…"
