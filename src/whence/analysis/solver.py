"""Constraints on sets of types, and the loop that narrows the sets until nothing changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

from whence.analysis.typesystem import ALL, TypeSystem, types_in
from whence.functor.table import Functor
from whence.syntax.nodes import Atom, Kind, Literal, Term

_SWEEPS = 1000

Place: TypeAlias = Term | Literal
Key: TypeAlias = int | tuple[int, int, int]
"""What to ignore: all constraints from one node, or the type of one argument of an atom."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A constraint that leaves a slot without any type."""

    place: Place
    key: Key
    slots: tuple[int, ...]
    before: tuple[int, ...]
    """The types that the slots had before."""
    declared: int | None = None
    """The type that the only slot should have been below."""


class Solver:
    """Sets of types, one per slot, and what they must satisfy.

    Constraints in `ignored` are left out. `place` is the node that the next ones come from.
    """

    def __init__(self, system: TypeSystem, ignored: AbstractSet[Key] = frozenset()) -> None:
        self.system = system
        self.types: list[int] = []
        self.place: Place | None = None
        self._ignored = ignored
        self._below: list[tuple[int, int, Place | None, bool]] = []
        self._others: list[tuple[_Constraint, Place | None]] = []

    def slot(self) -> int:
        """Return a new slot, of which nothing is known."""
        self.types.append(ALL)
        return len(self.types) - 1

    # ── constraints ──────────────────────────────────────────────────────────────────

    def below(self, slot: int, type_: int, *, sink: bool = False) -> None:
        """Ask for subtypes of a type; a `sink` gets values and is blamed last."""
        if self._ignored and self._is_ignored((id(self.place), slot, type_)):
            return
        self._below.append((slot, type_, self.place, sink))
        self._narrow(slot, type_)

    def among(self, slot: int, types: int) -> None:
        """Ask for subtypes of some type of a set of constants' types."""
        self._add(_Among((slot,), types))

    def equal(self, a: int, b: int) -> None:
        """Ask for the same types."""
        self._add(_Equal((a, b)))

    def same_base(self, a: int, b: int) -> None:
        """Ask for subtypes of the same primitive type."""
        self._add(_SameBase((a, b)))

    def overloaded(
        self, forms: Sequence[Functor], result: int, args: tuple[int, ...], infix: bool
    ) -> None:
        """Ask for the argument and result types of some form of a functor."""
        self._add(_Overloaded((*args, result), forms, infix))

    def item(self, item: int, record: int, index: int) -> None:
        """Ask for the type of a record's item."""
        self._add(_Item((item, record), index))

    def _add(self, constraint: _Constraint) -> None:
        if not self._ignored or not self._is_ignored(id(self.place)):
            self._others.append((constraint, self.place))

    def _is_ignored(self, key: Key) -> bool:
        return key in self._ignored or id(self.place) in self._ignored

    # ── solving ──────────────────────────────────────────────────────────────────────

    def solve(self) -> None:
        """Apply the constraints, and again those whose slots changed, until nothing changes."""
        if not self._others:
            return  # the others have been applied when they were stated
        types, system = self.types, self.system
        constraints = [constraint for constraint, _ in self._others]
        below: dict[int, list[tuple[int, int]]] = {}
        for slot, type_, _, _ in self._below:
            below.setdefault(slot, []).append((type_, ~system.below(type_)))
        watching: dict[int, list[_Constraint]] = {}
        for constraint in constraints:
            for slot in constraint.slots:
                watching.setdefault(slot, []).append(constraint)
        pending = deque(constraints)
        waiting = set(map(id, constraints))
        for _ in range(_SWEEPS * len(constraints)):
            if not pending:
                return
            constraint = pending.popleft()
            waiting.discard(id(constraint))
            before = [types[slot] for slot in constraint.slots]
            constraint.apply(types, system)
            for slot, known in zip(constraint.slots, before, strict=True):
                if types[slot] == known:
                    continue
                for type_, others in below.get(slot, ()):
                    if types[slot] & others:
                        self._narrow(slot, type_)
                for other in watching[slot]:
                    if id(other) not in waiting:
                        waiting.add(id(other))
                        pending.append(other)

    def _narrow(self, slot: int, type_: int) -> None:
        types = self.types[slot]
        if types == ALL:
            self.types[slot] = 1 << type_
        elif types != 1 << type_:
            self.types[slot] = self.system.meet(types, 1 << type_)

    def conflict(self) -> Conflict | None:
        """Start over, and return the first constraint that leaves a slot without types."""
        self.types = [ALL] * len(self.types)
        for constraint, _ in self._others:
            constraint.reset()
        below = sorted(self._below, key=lambda entry: entry[3])
        for _ in range(_SWEEPS):
            start = self.types.copy()
            for slot, type_, place, _ in below:
                before = self.types[slot]
                self._narrow(slot, type_)
                if before and not self.types[slot] and place is not None:
                    key = (id(place), slot, type_) if isinstance(place, Atom) else id(place)
                    return Conflict(place, key, (slot,), (before,), type_)
            for constraint, place in self._others:
                now = tuple([self.types[slot] for slot in constraint.slots])
                constraint.apply(self.types, self.system)
                if (
                    place is not None
                    and all(now)
                    and not all(self.types[slot] for slot in constraint.slots)
                ):
                    return Conflict(place, id(place), constraint.slots, now)
            if self.types == start:
                return None
        return None


class _Among:
    __slots__ = ("slots", "types")

    def __init__(self, slots: tuple[int, ...], types: int) -> None:
        self.slots = slots
        self.types = types

    def reset(self) -> None:
        pass

    def apply(self, types: list[int], system: TypeSystem) -> None:
        (slot,) = self.slots
        if types[slot] == ALL:
            types[slot] = self.types
            return
        kept = 0
        for constant in types_in(self.types):
            kept |= system.by_kind[system.kinds[constant]]
        types[slot] &= kept


class _Equal:
    __slots__ = ("slots",)

    def __init__(self, slots: tuple[int, ...]) -> None:
        self.slots = slots

    def reset(self) -> None:
        pass

    def apply(self, types: list[int], system: TypeSystem) -> None:
        a, b = self.slots
        if types[a] != types[b]:
            types[b] = system.meet(types[b], types[a])
            types[a] = system.meet(types[a], types[b])


class _SameBase:
    __slots__ = ("slots",)

    def __init__(self, slots: tuple[int, ...]) -> None:
        self.slots = slots

    def reset(self) -> None:
        pass

    def apply(self, types: list[int], system: TypeSystem) -> None:
        a, b = self.slots
        left, right = types[a], types[b]
        if left == ALL:
            if right != ALL:
                types[a] = self._bases(right, system)
            return
        if right == ALL:
            types[b] = self._bases(left, system)
            return
        kept = 0
        for base in types_in(self._bases(left, system) & self._bases(right, system)):
            kept |= system.by_kind[system.kinds[base]]
        types[a] &= kept
        types[b] &= kept

    @staticmethod
    def _bases(types: int, system: TypeSystem) -> int:
        found = 0
        for type_ in types_in(types):
            base = system.base(type_)
            if base is not None:
                found |= 1 << base
        return found


class _Overloaded:
    """Waits until one form is left, and then asks for its types.

    The result of a prefix functor is of the form's type and of nothing narrower, once.
    """

    __slots__ = ("_all", "assigned", "forms", "infix", "slots")

    def __init__(self, slots: tuple[int, ...], forms: Sequence[Functor], infix: bool) -> None:
        self.slots = slots
        self._all = forms
        self.infix = infix
        self.reset()

    def reset(self) -> None:
        self.forms = list(self._all)
        self.assigned = False

    def apply(self, types: list[int], system: TypeSystem) -> None:
        *args, result = self.slots
        self.forms = [form for form in self.forms if self._possible(form, types, system)]
        if not self.forms:
            types[result] = 0
        if len(self.forms) != 1:
            return
        (form,) = self.forms
        if form.name != "ord":
            for i, arg in enumerate(args):
                self._keep(types, arg, form.params[0 if form.variadic else i], system)
        if self.infix or self.assigned:
            self._keep(types, result, form.result, system)
        else:
            self.assigned = True
            types[result] = 1 << system.constant(form.result)

    def _possible(self, form: Functor, types: list[int], system: TypeSystem) -> bool:
        arity = len(self.slots) - 1
        if not form.accepts(arity):
            return False
        kinds = form.params * arity if form.variadic else form.params
        return all(
            types[slot] == ALL or types[slot] & system.by_kind[kind]
            for slot, kind in zip(self.slots, (*kinds, form.result), strict=True)
        )

    @staticmethod
    def _keep(types: list[int], slot: int, kind: Kind, system: TypeSystem) -> None:
        if types[slot] != ALL:
            types[slot] &= system.by_kind[kind]


class _Item:
    __slots__ = ("index", "slots")

    def __init__(self, slots: tuple[int, ...], index: int) -> None:
        self.slots = slots
        self.index = index

    def reset(self) -> None:
        pass

    def apply(self, types: list[int], system: TypeSystem) -> None:
        item, record = self.slots
        if types[record] == ALL:
            return
        records = items = 0
        for type_ in types_in(types[record]):
            fields = system.field_ids.get(type_)
            if fields is not None and self.index < len(fields) and fields[self.index] >= 0:
                records |= 1 << type_
                items |= 1 << fields[self.index]
        types[record] = records
        types[item] = system.meet(types[item], items)


_Constraint: TypeAlias = _Among | _Equal | _SameBase | _Overloaded | _Item
