"""How nodes are named: 0, 1, 2…; random 63-bit ids; or symbols. The graph stays the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final, Literal, TypeAlias, get_args

from benchmarks.cases import Case
from benchmarks.inputs import node_count

Spelling: TypeAlias = Literal["dense", "sparse", "symbols"]
SPELLINGS: Final[tuple[Spelling, ...]] = get_args(Spelling)

NODE_TYPE: Final = ".type Node <: number"
"""The one line of every program that says what a node is."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A case at one size and in one spelling, on disk."""

    case: Case
    size: int
    spelling: Spelling
    program: Path
    facts: Path
    columns: tuple[tuple[str, int], ...]
    """The input relations with their number of columns."""

    @property
    def label(self) -> str:
        return f"{self.case.name} {self.size:,} {self.spelling}"

    @property
    def expected(self) -> int | None:
        """The number of output tuples, where it is known beforehand."""
        return self.case.tuples if self.size == self.case.full else None


def names(count: int, spelling: Spelling) -> list[str]:
    """Return the names of nodes 0 to `count` - 1."""
    match spelling:
        case "dense":
            return [str(node) for node in range(count)]
        case "sparse":
            rng, ids = Random(63), dict[int, None]()
            while len(ids) < count:
                ids[rng.getrandbits(63)] = None
            return [str(number) for number in ids]
        case "symbols":
            return [f"node-{node:06d}" for node in range(count)]


def program_text(case: Case, spelling: Spelling, *, write: bool = False) -> str:
    """Return the program for a spelling; with `write`, one that writes its outputs too."""
    text = case.path.read_text(encoding="utf-8")
    assert text.count(NODE_TYPE) == 1, f"{case.path} must say `{NODE_TYPE}` once"
    if spelling == "symbols":
        text = text.replace(NODE_TYPE, ".type Node <: symbol")
    return f"{text}\n.output {', '.join(case.outputs)}\n" if write else text


def prepare(
    case: Case, size: int, spelling: Spelling, folder: Path, *, write: bool = False
) -> Workload:
    """Write the program and the facts under `folder`."""
    home = folder / f"{case.name}-{size}-{spelling}"
    facts = home / "facts"
    facts.mkdir(parents=True, exist_ok=True)
    program = home / case.path.name
    program.write_text(program_text(case, spelling, write=write), encoding="utf-8")
    relations = case.facts(size)
    name = names(node_count(relations.values()), spelling)
    for relation, rows in relations.items():
        lines = ("\t".join((name[x], name[y], *map(str, rest))) for x, y, *rest in rows)
        text = "".join(f"{line}\n" for line in lines)
        (facts / f"{relation}.facts").write_text(text, encoding="utf-8")
    columns = tuple((relation, len(rows[0])) for relation, rows in relations.items())
    return Workload(case, size, spelling, program, facts, columns)
