"""The definition of what a program means: naive evaluation over plain Python values.

No index, no plan, no rewrite: stratum by stratum, every rule over everything, until nothing is
new. What bodies mean is in `solver.py`. The judge of all engines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from whence.analysis.strata import strata
from whence.engine.solver import Bindings, Names, Row, Solver, Value, names_of
from whence.functor import UserFunctors
from whence.syntax.nodes import Atom, Kind, Program, Subsumption


def evaluate(
    program: Program,
    facts: Mapping[str, Iterable[Row]],
    functors: UserFunctors | None = None,
) -> dict[str, set[Row]]:
    """Return every relation of a program whose types are resolved, given the input facts."""
    state = State(program, functors or UserFunctors())
    for name, rows in facts.items():
        state.relations[name].update(dict.fromkeys(rows))
    for stratum in strata(program):
        state.complete(stratum.relations, stratum.recursive)
    return {name: set(rows) for name, rows in state.relations.items()}


class State(Solver):
    """The relations so far; rows keep the order in which they were derived."""

    def __init__(self, program: Program, functors: UserFunctors) -> None:
        super().__init__(program, functors)
        self.program = program
        self.relations: dict[str, dict[Row, None]] = {d.name: {} for d in program.relations}
        self.codes: dict[Value, int] = {}

    def rows(self, atom: Atom, given: Bindings, scope: Names) -> Iterable[Row]:
        """Return all tuples, as they are now."""
        return list(self.relations[atom.relation])

    def ordinal(self, value: Value, kind: Kind) -> int:
        """Return how many values were asked for before this one was."""
        return self.codes.setdefault(value, len(self.codes))

    def complete(self, names: Sequence[str], recursive: bool) -> None:
        """Apply the rules of a stratum until they give nothing new."""
        while True:
            before = {name: list(self.relations[name]) for name in names}
            derived = [
                (head.relation, row)
                for rule in self.program.rules
                if any(head.relation in before for head in rule.heads)
                for scope in [names_of(*rule.heads, *rule.body)]
                for found in self.solve(rule.body, {}, scope)
                for head in rule.heads
                if head.relation in before
                for row in self.row(head.args, found, scope)
            ]
            for name, row in derived:
                self.relations[name].setdefault(row)
            for name in names:
                self.drop_dominated(name)
            if not recursive or before == {name: list(self.relations[name]) for name in names}:
                return

    def drop_dominated(self, name: str) -> None:
        """Drop rows that others dominate; of two that dominate each other the later one goes."""
        rows = list(self.relations[name])
        order = {row: place for place, row in enumerate(rows)}
        pairs = {
            (worse, better)
            for subsumption in self.program.subsumptions
            if subsumption.dominated.relation == name
            for worse, better in self.dominations(subsumption)
            if worse != better
        }
        for worse, better in pairs:
            if (better, worse) not in pairs or order[better] < order[worse]:
                self.relations[name].pop(worse, None)

    def dominations(self, rule: Subsumption) -> Iterator[tuple[Row, Row]]:
        """Yield the pairs of a dominated and a dominating row."""
        scope = names_of(rule.dominated, rule.dominating, *rule.body)
        rows = list(self.relations[rule.dominated.relation])
        for worse in rows:
            for given in self.unify(rule.dominated.args, worse, {}, scope):
                for better in rows:
                    for found in self.unify(rule.dominating.args, better, given, scope):
                        if any(True for _ in self.solve(rule.body, found, scope)):
                            yield worse, better
