"""Terms and literals of the syntax tree, and how to go through them.

Immutable values with a span that equality ignores; `nodes.py` has the whole tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeAlias, TypeVar

from whence.diagnostics import NOWHERE, Span


class Kind(Enum):
    """How a 64-bit code is to be read."""

    NUMBER = "number"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    SYMBOL = "symbol"
    RECORD = "record"


def place() -> Span:
    """Return the field of a node that says where it stands."""
    return field(default=NOWHERE, compare=False, repr=False, kw_only=True)


# ── terms ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`_`: some value that nobody asks for."""

    span: Span = place()


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal value; `kind` is None while a plain `1` may still be number, unsigned or float."""

    value: int | float | str
    kind: Kind | None
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Nil:
    """`nil`: the record that is none."""

    span: Span = place()


@dataclass(frozen=True, slots=True)
class Record:
    """`[a, b]`; `type` is the declared record type once types are resolved."""

    items: tuple[Term, ...]
    type: str | None = None
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Call:
    """A built-in functor or operator; `kind` picks the overload once types are resolved."""

    functor: str
    args: tuple[Term, ...]
    kind: Kind | None = None
    span: Span = place()


@dataclass(frozen=True, slots=True)
class UserCall:
    """`@name(a, b)`: a functor that the user registered."""

    name: str
    args: tuple[Term, ...]
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Cast:
    """`as(term, type)`: the same code read as another type."""

    term: Term
    type: str
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Counter:
    """`$`: a number not given before."""

    span: Span = place()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`sum x : { body }`; `kind` is the kind of its target once types are resolved."""

    function: str
    target: Term | None
    body: tuple[Literal, ...]
    kind: Kind | None = None
    span: Span = place()


@dataclass(frozen=True, slots=True)
class HeadAggregate:
    """`min<C>` in a head: over all that its rule derives with the same other columns.

    `count<*>` has no target. `min<@B>` is the location of its atom.
    """

    function: str
    target: Term | None
    span: Span = place()


Term: TypeAlias = (
    Variable
    | Wildcard
    | Constant
    | Nil
    | Record
    | Call
    | UserCall
    | Cast
    | Counter
    | Aggregate
    | HeadAggregate
)


# ── literals ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Atom:
    """`relation(args)`; `location` is the argument that says where the tuple is, `@X`.

    `link` is true of `#relation`, whose tuples are the links of a network.
    """

    relation: str
    args: tuple[Term, ...]
    location: int | None = field(default=None, kw_only=True)
    link: bool = field(default=False, kw_only=True)
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Negation:
    """`!literal`; after normalisation the literal is an atom."""

    literal: Literal
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Constraint:
    """`left op right` with op one of = != < <= > >= match contains (and their negations)."""

    op: str
    left: Term
    right: Term
    kind: Kind | None = None
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Truth:
    """`true` or `false`."""

    value: bool
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Conjunction:
    items: tuple[Literal, ...]
    span: Span = place()


@dataclass(frozen=True, slots=True)
class Disjunction:
    items: tuple[Literal, ...]
    span: Span = place()


@dataclass(frozen=True, slots=True)
class InInterval:
    """`item in (low, high]`: on the way from low to high round a ring of identifiers."""

    item: Term
    low: Term
    high: Term
    closed_low: bool
    closed_high: bool
    span: Span = place()


Literal: TypeAlias = Atom | Negation | Constraint | Truth | Conjunction | Disjunction | InInterval


# ── going through a tree ─────────────────────────────────────────────────────────────

NodeT = TypeVar("NodeT", bound=Term | Literal)


def children(node: Term | Literal) -> tuple[Term | Literal, ...]:
    """Return the terms and literals directly inside a term or literal."""
    match node:
        case Record(items=items) | Conjunction(items=items) | Disjunction(items=items):
            return items
        case Call(args=args) | UserCall(args=args) | Atom(args=args):
            return args
        case Cast(term=term):
            return (term,)
        case Aggregate(target=target, body=body):
            return body if target is None else (target, *body)
        case Negation(literal=literal):
            return (literal,)
        case Constraint(left=left, right=right):
            return (left, right)
        case HeadAggregate(target=target):
            return () if target is None else (target,)
        case InInterval(item=item, low=low, high=high):
            return (item, low, high)
        case _:
            return ()


def walk(node: Term | Literal) -> Iterator[Term | Literal]:
    """Yield the node and everything inside it, outermost first, without recursion."""
    pending: list[Term | Literal] = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(children(current)))


def variables(*nodes: Term | Literal) -> dict[str, Variable]:
    """Return the named variables inside the nodes, in the order they first appear."""
    found: dict[str, Variable] = {}
    for node in nodes:
        for inner in walk(node):
            if isinstance(inner, Variable):
                found.setdefault(inner.name, inner)
    return found


def rebuild(node: NodeT, inner: Callable[[Term | Literal], Term | Literal]) -> NodeT:
    """Return the node with `inner` applied to each of its direct children."""

    def each(items: tuple[Term, ...] | tuple[Literal, ...]) -> tuple[object, ...]:
        return tuple(inner(item) for item in items)

    match node:
        case Record() | Conjunction() | Disjunction():
            return replace(node, items=each(node.items))  # type: ignore[arg-type]
        case Call() | UserCall() | Atom():
            return replace(node, args=each(node.args))  # type: ignore[arg-type]
        case Cast():
            return replace(node, term=inner(node.term))  # type: ignore[arg-type]
        case Aggregate():
            target = None if node.target is None else inner(node.target)
            return replace(node, target=target, body=each(node.body))  # type: ignore[arg-type]
        case Negation():
            return replace(node, literal=inner(node.literal))  # type: ignore[arg-type]
        case Constraint():
            return replace(node, left=inner(node.left), right=inner(node.right))  # type: ignore[arg-type]
        case HeadAggregate() if node.target is not None:
            return replace(node, target=inner(node.target))  # type: ignore[arg-type]
        case InInterval():
            item, low, high = (inner(side) for side in (node.item, node.low, node.high))
            return replace(node, item=item, low=low, high=high)  # type: ignore[arg-type]
        case _:
            return node
