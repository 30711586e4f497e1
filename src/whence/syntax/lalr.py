"""Run an LALR(1) table over tokens, calling an action for each production.

Lark computes the table; the loop is ours because recovery, the set of tokens that could have
come, and speed (a quarter of the time of lark's own loop) hang on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from whence.syntax.scanner import Token
from whence.syntax.table import END, Table

Recover = Callable[[int, frozenset[str]], int]
"""Told the index of an unexpected token and what could have come; returns where to go on."""


def run(
    table: Table,
    tokens: Sequence[Token],
    actions: object,
    start: str,
    recover: Recover,
    begins: list[int],
) -> object:
    """Return the value of the start symbol; after an error, start afresh where `recover` says.

    `begins` gets the index of the first token of each statement.
    """
    states = table.states
    reductions = [
        (p.origin, p.size, getattr(actions, p.action) if p.action else None)
        for p in table.productions
    ]
    first, last = table.starts[start], table.ends[start]
    stack: list[int] = [first]
    values: list[object] = []
    index = 0
    while True:
        token = tokens[index]
        kind = token[0]
        while True:
            action = states[stack[-1]].get(kind)
            if action is None:
                if kind == END and stack[-1] == last:
                    return values[-1]
                index = recover(index, expected(table, stack))
                if index >= len(tokens):
                    return None
                stack, values = [first], []
                break
            if action >= 0:
                if len(stack) <= 2:
                    begins.append(index)
                stack.append(action)
                values.append(token)
                index += 1
                break
            origin, size, make = reductions[~action]
            if size:
                value = make(*values[-size:]) if make else values[-1]
                del stack[-size:]
                del values[-size:]
            else:
                value = make() if make else None
            stack.append(states[stack[-1]][origin])
            values.append(value)
            if kind == END and stack[-1] == last:
                return value


def expected(table: Table, stack: list[int]) -> frozenset[str]:
    """Return the terminals that could come next, exactly: lookaheads of merged states lie."""
    return frozenset(k for k in table.states[stack[-1]] if k.isupper() and _shifts(table, stack, k))


def _shifts(table: Table, stack: list[int], kind: str) -> bool:
    trial = stack[:]
    while True:
        action = table.states[trial[-1]].get(kind)
        if action is None:
            return kind == END and trial[-1] in table.ends.values()
        if action >= 0:
            return True
        production = table.productions[~action]
        if production.size:
            del trial[-production.size :]
        trial.append(table.states[trial[-1]][production.origin])
