"""Updates for streams in tests: files that appear whole, and who says what views should hold."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from whence import session
from whence.facts.schema import arrow_schema, columns_of
from whence.rows import tuples_of

CLOSURE = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""

SAME_GENERATION = """
.decl up(x: number, y: number)
.decl down(x: number, y: number)
.decl flat(x: number, y: number)
.decl sg(x: number, y: number)
.decl cousins(x: number, n: number)
.decl alone(x: number)
.output sg, cousins, alone
sg(x, y) :- flat(x, y).
sg(x, y) :- up(x, a), sg(a, b), down(b, y).
cousins(x, n) :- sg(x, _), n = count : { sg(x, _) }.
alone(x) :- up(x, _), !sg(x, _).
"""

ANNOTATED = """
.decl link(x: number, y: number, @prov:tropical)
.decl dist(x: number, y: number, @prov)
.output dist
dist(x, y) :- link(x, y).
dist(x, z) :- dist(x, y), link(y, z).
"""

Fact = tuple[str, tuple[Any, ...]]


@dataclass
class Feed:
    """Random updates of some relations, written as files of a folder; knows what is there."""

    folder: Path
    relations: Sequence[str]
    nodes: int = 12
    seed: int = 0
    there: dict[str, set[tuple[Any, ...]]] = field(default_factory=dict)
    written: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._random = random.Random(self.seed)

    def write(self, updates: int, *, deletes: float = 0.4) -> None:
        """Let one more file appear, with as many random updates."""
        lines = []
        for _ in range(updates):
            name = self._random.choice(self.relations)
            held = self.there.setdefault(name, set())
            if held and self._random.random() < deletes:
                row = self._random.choice(sorted(held))
                held.discard(row)
                lines.append(f"-{name}({', '.join(map(str, row))}).")
            else:
                row = (self._random.randrange(self.nodes), self._random.randrange(self.nodes))
                held.add(row)
                lines.append(f"+{name}({', '.join(map(str, row))}).")
        self.lines(lines)

    def lines(self, lines: Iterable[str]) -> None:
        """Let one more file appear, with these lines."""
        beside = self.folder / f".{self.written}"
        beside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        # Spark takes files in the order of their times.
        os.utime(beside, (1_700_000_000 + self.written, 1_700_000_000 + self.written))
        beside.rename(self.folder / f"{self.written:06d}.txt")
        self.written += 1

    def expected(self, text: str, relation: str) -> set[tuple[Any, ...]]:
        """Return what the embedded engine says the relation holds now."""
        program = session.parse(text)
        inputs = {}
        for name, rows in self.there.items():
            schema = arrow_schema(columns_of(program, name))
            columns = list(zip(*sorted(rows), strict=True)) or [()] * len(schema)
            inputs[name] = pa.table(
                [pa.array(v, f.type) for v, f in zip(columns, schema, strict=True)], schema=schema
            )
        return set(tuples_of(session.evaluate(program, inputs).table(relation)))


def rows_of(frame: Any) -> set[tuple[Any, ...]]:
    """Return the rows of a frame, none of them twice."""
    rows = [tuple(row) for row in frame.collect()]
    assert len(set(rows)) == len(rows)
    return set(rows)


def total(frame: Any) -> set[tuple[Any, ...]]:
    """Return what changes come to, each of which has to fit what was there."""
    there: set[tuple[Any, ...]] = set()
    for op, *row, _ in sorted(
        (tuple(r) for r in frame.collect()), key=lambda r: (r[-1], -ord(r[0]))
    ):
        if op == "-":
            there.remove(tuple(row))
        else:
            assert tuple(row) not in there
            there.add(tuple(row))
    return there
