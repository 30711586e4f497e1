"""The cases: a program, its input at several sizes, and the same in SQL where SQL can say it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import inputs
from benchmarks.inputs import Facts

PROGRAMS: Final = Path(__file__).parent / "programs"

CLOSURE_SQL: Final = """
WITH RECURSIVE path(x, y) AS (
    SELECT c0, c1 FROM edge
    UNION
    SELECT path.x, edge.c1 FROM path JOIN edge ON path.y = edge.c0
)
SELECT count(*) FROM path
"""

SAME_GENERATION_SQL: Final = """
WITH RECURSIVE sg(x, y) AS (
    SELECT a.c0, b.c0 FROM parent a JOIN parent b ON a.c1 = b.c1 WHERE a.c0 <> b.c0
    UNION
    SELECT a.c0, b.c0
    FROM sg JOIN parent a ON a.c1 = sg.x JOIN parent b ON b.c1 = sg.y
)
SELECT count(*) FROM sg
"""


@dataclass(frozen=True, slots=True)
class Case:
    """One benchmark; `tuples` is the size of its outputs at size `full`."""

    name: str
    program: str
    facts: Callable[[int], Facts]
    outputs: tuple[str, ...]
    full: int
    tuples: int
    smaller: int
    larger: int
    tiny: int
    sql: str = ""

    @property
    def path(self) -> Path:
        return PROGRAMS / f"{self.program}.dl"

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The three sizes at which growth is measured."""
        return self.smaller, self.full, self.larger


def _closure(
    name: str, facts: Callable[[int], Facts], tuples: int, tiny: int, sizes: tuple[int, int, int]
) -> Case:
    smaller, full, larger = sizes
    return Case(name, "tc", facts, ("path",), full, tuples, smaller, larger, tiny, sql=CLOSURE_SQL)


CASES: Final[tuple[Case, ...]] = (
    _closure("tc_random", inputs.random_graph, 3_932_265, 150, (1000, 2000, 3000)),
    _closure("tc_grid", inputs.grid, 3_345_300, 6, (40, 60, 80)),
    _closure("tc_chain", inputs.chain, 4_498_500, 200, (1500, 3000, 4500)),
    _closure("tc_scalefree", inputs.scale_free, 8_515_999, 1000, (10_000, 20_000, 30_000)),
    Case(
        "sg",
        "sg",
        inputs.family,
        ("sg",),
        full=6000,
        tuples=6_053_075,
        smaller=3000,
        larger=9000,
        tiny=300,
        sql=SAME_GENERATION_SQL,
    ),
    Case(
        "andersen",
        "andersen",
        inputs.pointer_program,
        ("pointsTo",),
        full=2000,
        tuples=859_076,
        smaller=1000,
        larger=3000,
        tiny=150,
    ),
    Case(
        "cspa",
        "cspa",
        inputs.function_bodies,
        ("valueFlow", "valueAlias", "memoryAlias"),
        full=20_000,
        tuples=356_943 + 2_541_145 + 912_785,
        smaller=10_000,
        larger=30_000,
        tiny=600,
    ),
    Case(
        "apsp",
        "apsp",
        inputs.roads,
        ("dist",),
        full=400,
        tuples=153_664,
        smaller=200,
        larger=600,
        tiny=40,
    ),
)

BY_NAME: Final[dict[str, Case]] = {case.name: case for case in CASES}
