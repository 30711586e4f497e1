"""Walks over terms and literals that need no recursion, and stop where they are told to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar, cast

from whence.syntax.nodes import (
    Aggregate,
    Constant,
    Literal,
    Term,
    Variable,
    Wildcard,
    children,
    rebuild,
)

_LEAVES = (Variable, Constant, Wildcard)
NodeT = TypeVar("NodeT", bound=Term | Literal)


def level(*nodes: Term | Literal) -> Iterator[Term | Literal]:
    """Yield the nodes and what is inside, outermost first; aggregates, but not what is in them."""
    pending = list(nodes)
    pending.reverse()
    while pending:
        node = pending.pop()
        yield node
        kind = type(node)
        if kind is not Variable and kind is not Constant and kind is not Aggregate:
            pending.extend(reversed(children(node)))


def has_aggregate(node: Term | Literal) -> bool:
    """Whether there is an aggregate somewhere inside."""
    inner = children(node)
    for child in inner:
        if type(child) not in _LEAVES:
            break
    else:
        return type(node) is Aggregate
    return any(type(found) is Aggregate for found in level(node))


def map_level(node: NodeT, change: Callable[[Term | Literal], Term | Literal]) -> NodeT:
    """Return the node with `change` applied to all that `level` yields, innermost first."""
    work: list[tuple[Term | Literal, bool]] = [(node, False)]
    done: list[Term | Literal] = []
    while work:
        current, ready = work.pop()
        inner = () if type(current) is Aggregate else children(current)
        if not inner:
            done.append(change(current))
        elif not ready:
            work.append((current, True))
            work.extend([(child, False) for child in reversed(inner)])
        else:
            replaced = done[-len(inner) :]
            del done[-len(inner) :]
            if any(a is not b for a, b in zip(inner, replaced, strict=True)):
                items = iter(replaced)
                current = rebuild(current, lambda _, items=items: next(items))  # type: ignore[misc]
            done.append(change(current))
    return cast(NodeT, done[0])


def map_inside(node: Aggregate, change: Callable[[Term | Literal], Term | Literal]) -> Aggregate:
    """Return the aggregate with `map_level` applied to its target and its body."""
    return rebuild(node, lambda inner: map_level(inner, change))


def inside(aggregate: Aggregate) -> tuple[Term | Literal, ...]:
    """Return the target and the body of an aggregate."""
    return aggregate.body if aggregate.target is None else (aggregate.target, *aggregate.body)


def level_names(*nodes: Term | Literal) -> dict[str, Variable]:
    """Return the variables inside that stand in no aggregate, in the order they first appear."""
    found: dict[str, Variable] = {}
    for node in level(*nodes):
        if type(node) is Variable:
            found.setdefault(node.name, node)
    return found
