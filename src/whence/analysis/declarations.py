"""Type declarations: no cycles, and every type comes down to one primitive type or a record."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Set

from whence.analysis.strata import components
from whence.analysis.typesystem import PRIMITIVES
from whence.diagnostics import Diagnostic
from whence.syntax.nodes import FunctorDecl, Program, RecordType, Subtype, TypeDecl, UnionType


def check_declarations(program: Program) -> list[Diagnostic]:
    """Report cyclic types, unions of more than one kind, and subtypes of unions and records."""
    types = {decl.name: decl for decl in reversed(program.types)}
    cyclic = _cyclic(types)
    found: list[Diagnostic] = []
    for decl in program.types:
        if decl.name in cyclic:
            found.append(
                Diagnostic(
                    "W0302",
                    f"type `{decl.name}` is defined by itself",
                    decl.span,
                    notes=(f"the cycle is {' → '.join(f'`{n}`' for n in cyclic[decl.name])}",),
                )
            )
    if cyclic:
        return found
    roots: dict[str, frozenset[str]] = {name: frozenset([name]) for name in PRIMITIVES}
    for decl in program.types:
        match decl:
            case Subtype():
                found.extend(_check_subtype(decl, types))
            case UnionType():
                found.extend(_check_union(decl, types, roots))
            case RecordType():
                pass
    for functor in program.functors:
        found.extend(_check_functor(functor, types))
    return found


def _needs(decl: TypeDecl) -> tuple[str, ...]:
    match decl:
        case Subtype(base=base):
            return (base,)
        case UnionType(members=members):
            return members
        case RecordType():
            return ()


def _cyclic(types: Mapping[str, TypeDecl]) -> dict[str, list[str]]:
    graph = {name: [need for need in _needs(decl) if need in types] for name, decl in types.items()}
    return {
        name: [name, *_way_back(name, set(component), graph)]
        for component in components(graph)
        if len(component) > 1 or component[0] in graph[component[0]]
        for name in component
    }


def _way_back(start: str, component: Set[str], graph: Mapping[str, list[str]]) -> list[str]:
    """Return a shortest way from a type over others of its component back to it."""
    came: dict[str, str] = {}
    queue = deque([start])
    while start not in came:
        current = queue.popleft()
        for successor in graph[current]:
            if successor in component and successor not in came:
                came[successor] = current
                queue.append(successor)
    way = [start]
    while (previous := came[way[-1]]) != start:
        way.append(previous)
    return way[::-1]


def _skip_aliases(name: str, types: Mapping[str, TypeDecl]) -> TypeDecl | str:
    while True:
        decl = types.get(name)
        if decl is None:
            return name
        if not isinstance(decl, Subtype) or not decl.alias:
            return decl
        name = decl.base


def _check_subtype(decl: Subtype, types: Mapping[str, TypeDecl]) -> Iterator[Diagnostic]:
    if decl.alias:
        return
    base = _skip_aliases(decl.base, types)
    if isinstance(base, UnionType | RecordType):
        what = "union" if isinstance(base, UnionType) else "record"
        yield Diagnostic(
            "W0303",
            f"type `{decl.name}` is a subtype of the {what} `{base.name}`",
            decl.span,
            "only primitive types and their subtypes have subtypes",
            hint=f"write `.type {decl.name} = {base.name}` for another name of it",
        )


def _roots(
    name: str, types: Mapping[str, TypeDecl], known: dict[str, frozenset[str]]
) -> frozenset[str]:
    """Return the primitive and record types that a type comes down to."""
    work = [name]
    while work:
        current = work[-1]
        if current in known:
            work.pop()
            continue
        decl = types.get(current)
        if decl is None or isinstance(decl, RecordType):
            known[current] = frozenset() if decl is None else frozenset([current])
            continue
        missing = [need for need in _needs(decl) if need not in known]
        if missing:
            work.extend(missing)
        else:
            known[current] = frozenset().union(*(known[need] for need in _needs(decl)))
    return known[name]


def _check_union(
    decl: UnionType, types: Mapping[str, TypeDecl], known: dict[str, frozenset[str]]
) -> Iterator[Diagnostic]:
    for member in decl.members:
        if isinstance(_skip_aliases(member, types), RecordType):
            yield Diagnostic(
                "W0304",
                f"union `{decl.name}` contains the record type `{member}`",
                decl.span,
                "a union is made of primitive types and their subtypes",
            )
            return
    roots = sorted(_roots(decl.name, types, known))
    if len(roots) > 1:
        yield Diagnostic(
            "W0304",
            f"union `{decl.name}` mixes {' and '.join(f'`{r}`' for r in roots)}",
            decl.span,
            "a union has values of one primitive type",
        )


def _check_functor(decl: FunctorDecl, types: Mapping[str, TypeDecl]) -> Iterator[Diagnostic]:
    for name, span in (*((p.type, p.span) for p in decl.parameters), (decl.returns, decl.span)):
        if isinstance(_skip_aliases(name, types), RecordType):
            yield Diagnostic(
                "W0305",
                f"functor `{decl.name}` takes or returns the record type `{name}`",
                span,
                "functors work on numbers and symbols",
            )
