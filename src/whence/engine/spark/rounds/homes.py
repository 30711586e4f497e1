"""Where the rows of a recursive relation lie: the columns that its frames are partitioned by.

With a pivot and nothing large beside the recursion, a round moves no row at all. Else rows lie
where the joins with all of them look for them, or anywhere: then what is derived is made distinct
before it moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whence.plan.nodes import Exists, Keyed, Probe, Scan, Stratum, StratumPlan, Version
from whence.plan.pivot import pivot
from whence.syntax.nodes import Variable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Home:
    """The columns, none where what makes rows one decides."""

    columns: tuple[int, ...] = ()

    def of(self, frame: DataFrame, partitions: int) -> DataFrame:
        """Return the frame with its rows at home."""
        if not self.columns:
            return frame
        return frame.repartition(partitions, *(f"c{i}" for i in self.columns))


def home_of(
    name: str,
    plan: StratumPlan,
    keyed: Keyed | None,
    stratum: Stratum,
    is_small: Callable[[str], bool],
) -> Home:
    """Return where the rows of a relation of the stratum are to lie."""
    if not stratum.recursive:
        return Home()
    allowed = None if keyed is None else set(keyed.key)
    column = pivot(stratum)
    if column is not None and (allowed is None or column in allowed) and _stays(plan, is_small):
        return Home((column,))
    asked: Counter[int] = Counter()
    for rule in plan.repeated:
        for step in rule.steps:
            if (
                isinstance(step, Probe | Exists)
                and step.relation == name
                and step.version is not Version.DELTA
            ):
                at = [c for c, o in step.key if isinstance(o, Variable)]
                if len(at) == 1 and (allowed is None or at[0] in allowed):
                    asked[at[0]] += 1
    if asked:
        return Home((min(asked, key=lambda c: (-asked[c], c)),))
    return Home()


def _stays(plan: StratumPlan, is_small: Callable[[str], bool]) -> bool:
    """Say whether joins with deltas leave their rows where they are."""
    own = set(plan.relations)
    for rule in plan.repeated:
        for step in rule.steps:
            match step:
                case Scan(version=Version.DELTA):
                    continue
                case Scan(relation=relation) | Probe(relation=relation) | Exists(relation=relation):
                    if relation in own or not is_small(relation):
                        return False
                case _:
                    continue
    return True
