"""LALR(1) tables: lark compiles a grammar file, and the result is kept beside it as JSON.

The stored table is used only while its checksum is that of the grammar, so an edited grammar is
never ignored; `python -m whence.syntax.table` stores it anew. Reading one takes milliseconds and
does not import lark.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

END: Final = "$END"
FOLDER: Final = Path(__file__).parent

STARTS: Final[dict[str, tuple[str, ...]]] = {
    "souffle": ("program", "goal"),
    "ndlog": ("program", "goal"),
}
"""The start symbols of each grammar."""


@dataclass(frozen=True, slots=True)
class Production:
    """`origin: …`, how many symbols it replaces, and the action it calls (none: pass the value)."""

    origin: str
    size: int
    action: str


@dataclass(frozen=True, slots=True)
class Table:
    """What a scanner and a parser need to know of a grammar.

    `states[s][symbol]` is the next state, or `~p` to reduce by production p.
    """

    states: tuple[dict[str, int], ...]
    productions: tuple[Production, ...]
    starts: dict[str, int]
    ends: dict[str, int]
    patterns: dict[str, str]
    """Terminals that are regular expressions, in the order of the grammar."""
    words: dict[str, str]
    """Fixed spellings and the terminal of each."""


@cache
def load(grammar: str) -> Table:
    """Return the table of the grammar file of that name."""
    text = _file(f"{grammar}.lark")
    return _read(f"{grammar}.json", _checksum(text)) or compile_grammar(text, STARTS[grammar])


def _file(name: str) -> str:
    """Return a file of this folder, which may be in an archive."""
    assert __spec__ is not None
    loader: Any = __spec__.loader
    return str(loader.get_data(str(FOLDER / name)), "utf-8")


def store() -> None:
    """Compile every grammar and write its table beside it."""
    for grammar, starts in STARTS.items():
        text = (FOLDER / f"{grammar}.lark").read_text(encoding="utf-8")
        table = compile_grammar(text, starts)
        (FOLDER / f"{grammar}.json").write_text(to_json(table, text), encoding="utf-8")


def to_json(table: Table, grammar: str) -> str:
    """Return the stored form: a checksum of the grammar and a checksum of the table itself."""
    body = json.dumps(
        {
            "states": table.states,
            "productions": [[p.origin, p.size, p.action] for p in table.productions],
            "starts": table.starts,
            "ends": table.ends,
            "patterns": table.patterns,
            "words": table.words,
        },
        separators=(",", ":"),
    )
    return f"{_checksum(grammar)} {_checksum(body)}\n{body}\n"


def _read(name: str, checksum: str) -> Table | None:
    try:
        head, body, *_ = _file(name).split("\n")
    except (OSError, ValueError):
        return None
    if head != f"{checksum} {_checksum(body)}":
        return None
    stored = json.loads(body)
    return Table(
        states=tuple(stored["states"]),
        productions=tuple(Production(*p) for p in stored["productions"]),
        starts=stored["starts"],
        ends=stored["ends"],
        patterns=stored["patterns"],
        words=stored["words"],
    )


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def compile_grammar(text: str, starts: tuple[str, ...]) -> Table:
    """Return the table that lark computes for a grammar."""
    from lark import Lark
    from lark.parsers.lalr_analysis import IntParseTable, Shift

    built = Lark(text, parser="lalr", lexer="basic", start=list(starts), maybe_placeholders=False)
    raw = IntParseTable.from_ParseTable(built.parser.parser._parse_table)
    numbers: dict[object, int] = {}
    productions: list[Production] = []
    states: dict[int, dict[str, int]] = {}
    for state, actions in raw.states.items():
        states[state] = {}
        for symbol, (action, argument) in sorted(actions.items()):
            if action is Shift:
                states[state][symbol] = argument
                continue
            if argument not in numbers:
                numbers[argument] = len(productions)
                size = len(argument.expansion)
                assert argument.alias or size == 1, f"name the action of {argument}"
                productions.append(Production(argument.origin.name, size, argument.alias or ""))
            states[state][symbol] = ~numbers[argument]
    _skip_units(states, productions)
    patterns: dict[str, str] = {}
    words: dict[str, str] = {}
    for terminal in built.terminals:
        spellings = _spellings(terminal.pattern.to_regexp())
        if spellings is None:
            patterns[terminal.name] = terminal.pattern.to_regexp()
        else:
            words.update((word, terminal.name) for word in spellings)
    return _number(
        Table(
            states=tuple(states[number] for number in range(len(states))),
            productions=tuple(productions),
            starts=dict(raw.start_states),
            ends=dict(raw.end_states),
            patterns=patterns,
            words=dict(sorted(words.items())),
        )
    )


def _number(table: Table) -> Table:
    """Number states and productions as met from the starts: lark's order differs between runs."""
    states: dict[int, int] = {}
    productions: dict[int, int] = {}
    queue = [state for _, state in sorted(table.starts.items())]
    for state in queue:
        if state in states:
            continue
        states[state] = len(states)
        for action in table.states[state].values():
            if action >= 0:
                queue.append(action)
            else:
                productions.setdefault(~action, len(productions))

    def renamed(action: int) -> int:
        return states[action] if action >= 0 else ~productions[~action]

    return replace(
        table,
        states=tuple({k: renamed(a) for k, a in table.states[old].items()} for old in states),
        productions=tuple(table.productions[old] for old in productions),
        starts={name: states[old] for name, old in sorted(table.starts.items())},
        ends={name: states[old] for name, old in sorted(table.ends.items())},
    )


def _skip_units(states: dict[int, dict[str, int]], productions: list[Production]) -> None:
    """Lead past the states that do nothing but pass a value on from one symbol to another.

    A plain variable would otherwise be reduced once for each level of the term grammar.
    """
    passes: dict[int, str] = {}
    for number, state in states.items():
        actions = set(state.values())
        if len(actions) == 1 and (action := next(iter(actions))) < 0:
            production = productions[~action]
            if not production.action:
                passes[number] = production.origin
    for state in states.values():
        for symbol, target in state.items():
            if symbol.isupper():
                continue
            while target in passes:
                target = state[passes[target]]
            state[symbol] = target


def _spellings(pattern: str) -> list[str] | None:
    """Return the fixed strings a terminal is made of; None if it is a true regular expression."""
    inner = pattern[3:-1] if pattern.startswith("(?:") and pattern.endswith(")") else pattern
    escaped = re.split(r"(?<!\\)\|", inner)
    plain = [re.sub(r"\\(.)", r"\1", part) for part in escaped]
    return plain if [re.escape(p) for p in plain] == escaped else None


if __name__ == "__main__":
    store()
