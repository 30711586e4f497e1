"""Terms and conditions of a strand as functions of its slots, built once.

Where an argument is a slot its value is fetched by a pick in C, and common shapes have functions of
their own; so most terms cost one call of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

from whence.network.strands.plan import Apply, Either, Every, Expression, Slot

Slots = list[Any]
Evaluate = Callable[[Slots], Any]
Functions = Mapping[str, Callable[..., Any]]
Asked = Callable[[str], int]  # the slot of a function that asks the node


def compiled(expression: Expression, functions: Functions, asked: Asked) -> Evaluate:
    """Return the function from slots to the value of an expression."""
    match expression:
        case Slot(index=index):
            return itemgetter(index)
        case Either(items=items):
            return _either([compiled(item, functions, asked) for item in items])
        case Every(items=items):
            return _every([compiled(item, functions, asked) for item in items])
        case Apply(function=name, args=args) if name not in functions:
            at, parts = asked(name), [compiled(arg, functions, asked) for arg in args]
            return lambda env: env[at](*[part(env) for part in parts])
        case Apply(function=name, args=args):
            return _applied(functions[name], args, functions, asked)


def _applied(
    function: Callable[..., Any], args: tuple[Expression, ...], functions: Functions, asked: Asked
) -> Evaluate:
    slots = [arg.index for arg in args if isinstance(arg, Slot)]
    if len(slots) == len(args):
        return _of_slots(function, slots)
    spine = _spine(function, args, functions)
    if spine is not None:
        return spine
    parts = [compiled(arg, functions, asked) for arg in args]
    if len(parts) == 1:
        only = parts[0]
        return lambda env: function(only(env))
    if len(parts) == 2:
        one, two = parts
        return lambda env: function(one(env), two(env))
    return lambda env: function(*[part(env) for part in parts])


def _spine(
    function: Callable[..., Any], args: tuple[Expression, ...], functions: Functions
) -> Evaluate | None:
    """Return operators that lean left, as in `(K - B - 1) % R`, as one call; None: it does not."""
    match args:
        case (Apply(function=name, args=(Slot(index=a), Slot(index=b))), Slot(index=c)) if (
            name in functions
        ):
            inner = functions[name]
            return lambda env: function(inner(env[a], env[b]), env[c])
        case (
            Apply(
                function=middle,
                args=(Apply(function=name, args=(Slot(index=a), Slot(index=b))), Slot(index=c)),
            ),
            Slot(index=d),
        ) if name in functions and middle in functions:
            inner, outer = functions[name], functions[middle]
            return lambda env: function(outer(inner(env[a], env[b]), env[c]), env[d])
        case _:
            return None


def _of_slots(function: Callable[..., Any], slots: list[int]) -> Evaluate:
    match slots:
        case []:
            return lambda env: function()
        case [a]:
            return lambda env: function(env[a])
        case [a, b]:
            return lambda env: function(env[a], env[b])
        case [a, b, c]:
            return lambda env: function(env[a], env[b], env[c])
        case _:
            pick = itemgetter(*slots)
            return lambda env: function(*pick(env))


def _either(parts: list[Evaluate]) -> Evaluate:
    def either(env: Slots) -> bool:
        for part in parts:  # noqa: SIM110 - any() would make a generator each time
            if part(env):
                return True
        return False

    return either


def _every(parts: list[Evaluate]) -> Evaluate:
    def every(env: Slots) -> bool:
        for part in parts:  # noqa: SIM110
            if not part(env):
                return False
        return True

    return every
