"""From the constraint that left no type to a message about the place it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from whence.analysis.inference import Inference, Typing
from whence.analysis.scopes import display
from whence.analysis.solver import Conflict
from whence.analysis.typesystem import TypeSystem
from whence.diagnostics import Diagnostic
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
                f"is {'a number' if constant.kind is None else f'a {constant.kind.value}'}",
            )
        case Constraint() as constraint:
            return Diagnostic(
                "W0315",
                f"{before[0]} is compared with {before[1]}",
                constraint.span,
                "of different types",
                hint=_CONVERT,
            )
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
                f"takes {want}, and here is {' and '.join(dict.fromkeys(before))}",
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
        case Conjunction() | Disjunction() as node:
            return Diagnostic("W0306", "no type fits here", node.span)
        case _:
            assert_never(conflict.place)


def no_form(system: TypeSystem, call: Call, types: Sequence[int]) -> Diagnostic:
    """Return the diagnostic for a functor of which no overload fits."""
    given = " and ".join(system.describe(t) if t else "no type" for t in types)
    return Diagnostic(
        "W0311",
        f"no form of `{call.functor}` fits here",
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
    return text if len(text) <= 40 else text[:39] + "…"
