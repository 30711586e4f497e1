"""Types: every variable and term has one, and it fits what was declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whence.analysis.inference import Inference, Typing
from whence.analysis.inferred import fits, infer_program
from whence.analysis.solver import Key
from whence.analysis.type_conflicts import explain, no_form, not_comparable
from whence.analysis.typesystem import ALL, types_in
from whence.diagnostics import Diagnostic
from whence.functor.comparison import ORDERED, TEXTUAL
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Call,
    Constant,
    Constraint,
    Kind,
    Nil,
    Program,
    Record,
    RelationDecl,
    Term,
    UserCall,
)

_MOST_CONFLICTS = 10
_COMPARABLE = frozenset(Kind) - {Kind.RECORD}


def check_types(program: Program) -> list[Diagnostic]:
    """Report the terms and variables that have no type, and those whose type does not fit."""
    inferred = infer_program(program)
    relations = {decl.name: decl for decl in reversed(program.relations)}
    found: list[Diagnostic] = []
    for typed in inferred.origins:
        for _, typing in typed.clauses:
            found.extend(_check(inferred.inference, relations, typing))
    return found


def _check(
    inference: Inference, relations: Mapping[str, RelationDecl], typing: Typing
) -> Iterator[Diagnostic]:
    """Blame a constraint for each conflict, and go on as if it were not there."""
    ignored: set[Key] = set()
    blamed: set[int] = set()
    while 0 in typing.types and len(ignored) < _MOST_CONFLICTS:
        conflict = inference.conflict(typing, ignored)
        if conflict is None:
            break
        ignored.add(conflict.key)
        blamed.add(id(conflict.place))
        yield explain(conflict, typing, inference, relations)
        typing = inference.infer(typing.clause, ignored)
    yield from _Checker(inference, relations, typing, blamed).check()


class _Checker:
    """The checks of one clause whose sets of types are not empty."""

    def __init__(
        self,
        inference: Inference,
        relations: Mapping[str, RelationDecl],
        typing: Typing,
        blamed: set[int],
    ) -> None:
        self.inference = inference
        self.system = inference.system
        self.relations = relations
        self.typing = typing
        self.blamed = blamed

    def types(self, slot: int) -> int:
        return self.typing.types[slot]

    def kind(self, slot: int) -> Kind | None:
        return self.system.kind_of(self.types(slot))

    def describe(self, slot: int) -> str:
        return self.system.describe(self.types(slot))

    def wanted(self, slot: int) -> str:
        if self.types(slot) == ALL:
            return "nothing says of which type"
        return f"{self.describe(slot)} is expected"

    def check(self) -> Iterator[Diagnostic]:
        for term, slot in self.typing.terms:
            if not self.blamed or (id(term) not in self.blamed and self.types(slot) != ALL):
                yield from self.term(term, slot)
        if self.blamed:
            return  # what is wrong here may follow from what has been ignored
        for atom, negated, slots in self.typing.atoms:
            yield from self.atom(atom, negated, slots)
        for constraint, left, right in self.typing.comparisons:
            yield from self.comparison(constraint, left, right)

    # ── terms ────────────────────────────────────────────────────────────────────────

    def term(self, term: Term, slot: int) -> Iterator[Diagnostic]:
        match term:
            case Constant():
                yield from self.constant(term, slot)
            case Nil():
                if self.kind(slot) is not Kind.RECORD:
                    yield Diagnostic(
                        "W0308", "`nil` where no record is expected", term.span, self.wanted(slot)
                    )
            case Record(items=items):
                yield from self.record(term, slot, len(items))
            case Call():
                if slot not in self.typing.overloads and not self.blamed:
                    yield no_form(self.system, term, self.arguments(slot))
            case UserCall():
                yield from self.user_call(term, slot)
            case Aggregate(function=function, span=span):
                if self.types(slot) == ALL or self.kind(slot) in (Kind.SYMBOL, Kind.RECORD):
                    yield Diagnostic("W0313", f"no type fits this {function} aggregate", span)
            case _:
                pass

    def arguments(self, slot: int) -> list[int]:
        return [self.types(arg) for arg in self.typing.arguments[slot]]

    def constant(self, constant: Constant, slot: int) -> Iterator[Diagnostic]:
        kind = constant.kind or self.typing.constants.get(slot)
        if kind is not None and not fits(constant.value, kind):
            text = str(constant.value)
            what = "unsigned number" if kind is Kind.UNSIGNED else kind.value
            yield Diagnostic(
                "W0307",
                f"`{text if len(text) <= 40 else text[:40] + '…'}` is no {what}",
                constant.span,
                f"{self.describe(slot)} is expected",
            )

    def record(self, record: Record, slot: int, arity: int) -> Iterator[Diagnostic]:
        types = self.types(slot)
        if types == ALL or types.bit_count() != 1:
            yield Diagnostic(
                "W0309", "nothing says of which record type this is", record.span, "ambiguous"
            )
            return
        fields = self.system.field_ids.get(types.bit_length() - 1)
        if fields is None:
            yield Diagnostic(
                "W0309", "a record where none is expected", record.span, self.wanted(slot)
            )
        elif len(fields) != arity:
            plural = "" if len(fields) == 1 else "s"
            yield Diagnostic(
                "W0310",
                f"record type {self.describe(slot)} has {len(fields)} field{plural}, not {arity}",
                record.span,
                f"{arity} given",
            )

    def user_call(self, call: UserCall, slot: int) -> Iterator[Diagnostic]:
        decl = self.inference.functors.get(call.name)
        if decl is None or len(decl.parameters) != len(call.args):
            return
        ids = self.system.ids
        types = self.types(slot)
        if types != ALL and not all(
            self.system.is_subtype(ids[decl.returns], t) for t in types_in(types)
        ):
            yield Diagnostic(
                "W0312",
                f"functor `{call.name}` returns `{decl.returns}`, which does not fit here",
                call.span,
                self.wanted(slot),
            )

    # ── atoms and comparisons ────────────────────────────────────────────────────────

    def atom(self, atom: Atom, negated: bool, slots: tuple[int, ...]) -> Iterator[Diagnostic]:
        declared = self.inference.relations.get(atom.relation, ())
        if len(declared) != len(slots):
            return
        for index, (slot, type_) in enumerate(zip(slots, declared, strict=True)):
            types = self.types(slot)
            if types == 1 << type_ or types in (0, ALL):
                continue
            accepts = self.same_kind if negated else self.assignable
            if all(accepts(t, type_) for t in types_in(types)):
                continue
            attribute = self.relations[atom.relation].attributes[index]
            yield Diagnostic(
                "W0314",
                f"{self.describe(slot)} is not a subtype of `{attribute.type}`",
                atom.args[index].span,
                f"`{attribute.name}` of `{atom.relation}` is `{attribute.type}`",
                hint="" if negated else f"`as(…, {attribute.type})` says that it is one",
            )

    def assignable(self, type_: int, declared: int) -> bool:
        system = self.system
        if system.is_subtype(type_, declared):
            return True
        return system.is_subtype(declared, type_) and system.is_constant(type_)

    def same_kind(self, type_: int, declared: int) -> bool:
        kinds = self.system.kinds
        return type_ == declared or kinds[type_] is kinds[declared] is not Kind.RECORD

    def comparison(self, constraint: Constraint, left: int, right: int) -> Iterator[Diagnostic]:
        if constraint.op in TEXTUAL:
            kinds, want = frozenset([Kind.SYMBOL]), "symbols"
        elif constraint.op in ORDERED:
            kinds, want = _COMPARABLE, "numbers or symbols"
        else:
            return
        for slot, side in ((left, constraint.left), (right, constraint.right)):
            kind = self.kind(slot)
            if kind is not None and kind not in kinds:
                yield not_comparable(constraint.op, want, side, self.describe(slot))
