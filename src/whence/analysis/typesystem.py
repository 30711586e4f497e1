"""Types as numbers and sets of types as bit masks, so that typing is a few integer operations.

Below every primitive type's name lies the type of its constants: `number` is a subtype of the
constants' type, as `.type A <: number` is one of `number`. Aliases are the type they stand for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whence.analysis.strata import components
from whence.syntax.nodes import Kind, Program, RecordType, Subtype, UnionType

PRIMITIVES: Final = ("number", "unsigned", "float", "symbol")
KINDS: Final = (Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.SYMBOL)
ALL: Final = -1
"""The set of all types: nothing is known yet."""
_NUMERIC_CONSTANTS: Final = 0b111


def types_in(types: int) -> Iterator[int]:
    """Yield the types of a set, in the order they were declared."""
    while types:
        low = types & -types
        yield low.bit_length() - 1
        types ^= low


class TypeSystem:
    """The types of a program; those that are cyclic or lack a base are left out."""

    def __init__(self, program: Program) -> None:
        self.names: list[str] = [*PRIMITIVES, *PRIMITIVES]
        self.kinds: list[Kind] = [*KINDS, *KINDS]
        self._bases: list[int] = [*range(4), *range(4)]
        self._members: list[tuple[int, ...]] = [()] * 8
        self._chains: list[int] = [1 << i if i < 4 else 1 << i | 1 << (i - 4) for i in range(8)]
        self._reach: list[int] = [1 << i for i in range(8)]
        self._leaves: list[int] = [1 << i for i in range(8)]
        self.fields: list[tuple[str, ...] | None] = [None] * 8
        self.ids: dict[str, int] = {name: 4 + i for i, name in enumerate(PRIMITIVES)}
        self._common: dict[tuple[int, int], int] = {}
        self._below: dict[int, int] = {}
        self._declare(program)
        self.records = sum(1 << i for i, fields in enumerate(self.fields) if fields is not None)
        self.unions = sum(1 << i for i, members in enumerate(self._members) if members)
        self.by_kind: dict[Kind, int] = dict.fromkeys(Kind, 0)
        for i, kind in enumerate(self.kinds):
            self.by_kind[kind] |= 1 << i
        self.field_ids: dict[int, tuple[int, ...]] = {
            i: tuple(self.ids.get(name, -1) for name in fields)
            for i, fields in enumerate(self.fields)
            if fields is not None
        }

    # ── building ─────────────────────────────────────────────────────────────────────

    def _declare(self, program: Program) -> None:
        declared = {d.name: d for d in reversed(program.types) if d.name not in self.ids}
        graph: dict[str, tuple[str, ...]] = {}
        for name, decl in declared.items():
            match decl:
                case Subtype(base=base):
                    needs: tuple[str, ...] = (base,)
                case UnionType(members=members):
                    needs = members
                case RecordType():
                    needs = ()
            graph[name] = tuple(n for n in needs if n in declared)
        for component in components(graph):
            (name, *others) = component
            if others or name in graph[name]:
                continue  # a cyclic definition
            match declared[name]:
                case RecordType(fields=fields):
                    self._add(name, Kind.RECORD, fields=tuple(f.type for f in fields))
                case Subtype(base=base, alias=alias):
                    if base in self.ids:
                        self._add_subtype(name, self.ids[base], alias)
                case UnionType(members=members):
                    self._add_union(name, members)

    def _add(
        self,
        name: str,
        kind: Kind,
        *,
        base: int | None = None,
        members: tuple[int, ...] = (),
        fields: tuple[str, ...] | None = None,
    ) -> None:
        number = len(self.names)
        self.ids[name] = number
        self.names.append(name)
        self.kinds.append(kind)
        self._bases.append(number if base is None else self._bases[base])
        self._members.append(members)
        self._chains.append(1 << number | (0 if base is None else self._chains[base]))
        reach, leaves = 1 << number, 0 if members else 1 << number
        for member in members:
            reach |= self._reach[member]
            leaves |= self._leaves[member]
        self._reach.append(reach)
        self._leaves.append(leaves)
        self.fields.append(fields)

    def _add_subtype(self, name: str, base: int, alias: bool) -> None:
        if alias:
            self.ids[name] = base
        elif not self._members[base]:
            self._add(name, self.kinds[base], base=base, fields=self.fields[base])

    def _add_union(self, name: str, members: tuple[str, ...]) -> None:
        ids = tuple(dict.fromkeys(self.ids[m] for m in members if m in self.ids))
        kinds = {self.kinds[i] for i in ids}
        if len(kinds) == 1 and len(ids) > 0:
            self._add(name, kinds.pop(), members=ids)

    # ── asking ───────────────────────────────────────────────────────────────────────

    def is_subtype(self, a: int, b: int) -> bool:
        """Whether every value of `a` is one of `b`."""
        if a == b or self._chains[a] & self._reach[b]:
            return True
        if not self._members[a]:
            return False
        return all(self._chains[leaf] & self._reach[b] for leaf in types_in(self._leaves[a]))

    def is_constant(self, a: int) -> bool:
        """Whether the type is that of the constants of some kind."""
        return a < 4

    def constant(self, kind: Kind) -> int:
        """Return the type of the constants of a primitive kind."""
        return KINDS.index(kind)

    def base(self, a: int) -> int | None:
        """Return the constants' type below a subtype; unions and records have none."""
        base = self._bases[a]
        return base if base < 4 and not self._members[a] else None

    def below(self, a: int) -> int:
        """Return the set of the subtypes of a type, itself included."""
        found = self._below.get(a)
        if found is None:
            found = sum(1 << b for b in range(len(self.names)) if self.is_subtype(b, a))
            self._below[a] = found
        return found

    def common(self, a: int, b: int) -> int:
        """Return the greatest types below both."""
        if a == b:
            return 1 << a
        key = (a, b)
        found = self._common.get(key)
        if found is None:
            found = self._common[key] = self._greatest(a, b)
        return found

    def _greatest(self, a: int, b: int) -> int:
        if self.is_subtype(a, b):
            return 1 << a
        if self.is_subtype(b, a):
            return 1 << b
        found = 0
        if self._members[a] and self._members[b]:
            pending = list(self._members[a])
            seen = set(pending)
            while pending:
                member = pending.pop()
                if self.is_subtype(member, b):
                    found |= 1 << member
                    continue
                pending.extend(m for m in self._members[member] if m not in seen)
                seen.update(self._members[member])
        return found

    def meet(self, a: int, b: int) -> int:
        """Return the greatest types below some of `a` and some of `b`."""
        if a == b or b == ALL:
            return a
        if a == ALL:
            return b
        if not a or not b:
            return 0
        if not a & (a - 1) and not b & (b - 1):
            return self.common(a.bit_length() - 1, b.bit_length() - 1)
        found = 0
        for x in types_in(a):
            for y in types_in(b):
                found |= self.common(x, y)
        return found

    def kinds_of(self, types: int) -> set[Kind]:
        """Return the kinds of the types in a set that is not `ALL`."""
        return {self.kinds[t] for t in types_in(types)}

    def kind_of(self, types: int) -> Kind | None:
        """Return the one kind of all types in the set, or None."""
        if types <= 0:
            return None
        for kind, those in self.by_kind.items():
            if not types & ~those:
                return kind
        return None

    def describe(self, types: int) -> str:
        """Return the names of the types, for a message."""
        if types == ALL:
            return "any type"
        if types.bit_count() > 1 and not types & ~_NUMERIC_CONSTANTS:
            return "a number"
        return " or ".join(
            f"`{name}`" for name in dict.fromkeys(self.names[t] for t in types_in(types))
        )
