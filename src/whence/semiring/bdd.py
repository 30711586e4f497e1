"""Monotone Boolean functions as binary decision diagrams, which OxiDD makes; one manager each.

OxiDD's operations recurse over variables on the machine's stack and its nodes have a fixed room, so
both are bounded here, and what exceeds them is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whence.diagnostics import Diagnostic, LimitError
from whence.semiring.budget import too_many_terms

if TYPE_CHECKING:
    from oxidd.bdd import BDDFunction

NODES = 1_000_000
"""Nodes of all diagrams of an evaluation together, unless somebody asks for more."""
VARIABLES = 20_000
"""Variables of one function. A level takes about 100 bytes of stack, and 8 MB are usual."""
_CACHE = 1 << 18


@dataclass(frozen=True, slots=True)
class Formula:
    """A function; two are equal when they are the same function of one manager."""

    home: Diagrams
    function: BDDFunction
    width: int = field(compare=False)
    """At least as many as there are variables in it."""


class Diagrams:
    """A manager with its variables, which are numbered in the order of their first mention."""

    def __init__(self, budget: int = NODES) -> None:
        from oxidd.bdd import BDDManager

        self.budget = budget
        self.labels: list[Hashable] = []
        self._numbers: dict[Hashable, int] = {}
        self._manager = BDDManager(budget, _CACHE, 1)
        self.true = Formula(self, self._manager.true(), 0)
        self.false = Formula(self, self._manager.false(), 0)

    @property
    def size(self) -> int:
        """About how many nodes there are, with those that are garbage by now."""
        return self._manager.approx_num_inner_nodes()

    def variable(self, label: Hashable) -> Formula:
        """Return the variable of that label, a new one at the first mention."""
        number = self._numbers.get(label)
        if number is None:
            (number,) = self._manager.add_vars(1)
            self._numbers[label] = number
            self.labels.append(label)
        return Formula(self, self._within(lambda: self._manager.var(number)), 1)

    def both(self, a: Formula, b: Formula) -> Formula:
        """Return the conjunction."""
        width = self._width(a, b)
        return Formula(self, self._within(lambda: a.function & b.function), width)

    def either(self, a: Formula, b: Formula) -> Formula:
        """Return the disjunction."""
        width = self._width(a, b)
        return Formula(self, self._within(lambda: a.function | b.function), width)

    def without(self, formula: Formula, labels: Iterable[Hashable]) -> Formula:
        """Return a monotone function with these variables false.

        It is true for all values of them exactly where it is true when they are false.
        """
        numbers = [self._numbers[label] for label in labels if label in self._numbers]
        if not numbers:
            return formula

        def restricted() -> BDDFunction:
            product = self._manager.true()
            for number in numbers:
                product &= self._manager.var(number)
            return formula.function.forall(product)

        return Formula(self, self._within(restricted), formula.width)

    def holds(self, formula: Formula, true: Callable[[Hashable], bool]) -> bool:
        """Return the value of a function where exactly these variables are true."""
        function = formula.function
        while (variable := function.node_var()) is not None:
            parts = function.cofactors()
            assert parts is not None
            function = parts[0] if true(self.labels[variable]) else parts[1]
        return function == self.true.function

    def nodes(self, formula: Formula) -> list[tuple[int, int, int]]:
        """Return the inner nodes, children first, as a variable and what is when it is true or not.

        Of those two, 0 is false, 1 is true and n is the node at place n - 2.
        """
        places = {self.false.function: 0, self.true.function: 1}
        out: list[tuple[int, int, int]] = []
        for function, (variable, high, low) in self._nodes(formula).items():
            places[function] = len(out) + 2
            out.append((variable, places[high], places[low]))
        return out

    def support(self, formula: Formula) -> set[int]:
        """Return the numbers of the variables that the function depends on."""
        return {variable for variable, _, _ in self._nodes(formula).values()}

    def probability(
        self,
        formula: Formula,
        weights: Sequence[float],
        known: dict[BDDFunction, float] | None = None,
    ) -> float:
        """Return how likely the function is true, when each variable is by itself with its weight.

        Weighted model counting: one product and sum for each node. `known` keeps what was counted
        for nodes, for other functions of the same manager and the same weights.
        """
        known = {} if known is None else known
        known[self.true.function], known[self.false.function] = 1.0, 0.0
        nodes = self._nodes(formula, known)
        for function, (variable, high, low) in nodes.items():
            weight = weights[variable]
            known[function] = weight * known[high] + (1.0 - weight) * known[low]
        return known[formula.function]

    def primes(self, formula: Formula, budget: int) -> set[frozenset[int]]:
        """Return the prime implicants of a monotone function, as sets of variables.

        With x on top they are those of the function without x, and x with each of those of the
        function with x that does not make it true without x already.
        """
        found: dict[BDDFunction, set[frozenset[int]]] = {
            self.true.function: {frozenset()},
            self.false.function: set(),
        }
        nodes = self._nodes(formula)
        for function, (variable, high, low) in nodes.items():
            without = found[low]
            needs = {p | {variable} for p in found[high] if not self._implied(p, low, nodes)}
            found[function] = without | needs
            if len(found[function]) > budget:
                raise too_many_terms("absorption", budget)
        return found[formula.function]

    def _implied(self, assumed: frozenset[int], function: BDDFunction, nodes: _Nodes) -> bool:
        while function in nodes:
            variable, high, low = nodes[function]
            function = high if variable in assumed else low
        return function == self.true.function

    def _nodes(self, formula: Formula, known: dict[BDDFunction, float] | None = None) -> _Nodes:
        """Return the inner nodes below a function that are not known, children before parents."""
        out: _Nodes = {}
        stack = [(formula.function, False)]
        while stack:
            function, seen = stack.pop()
            if function in out or (known is not None and function in known):
                continue
            parts = function.cofactors()
            variable = function.node_var()
            if parts is None or variable is None:
                continue
            high, low = parts
            if seen:
                out[function] = (variable, high, low)
            else:
                stack += [(function, True), (high, False), (low, False)]
        return out

    def _width(self, a: Formula, b: Formula) -> int:
        if not a.home is b.home is self:
            # OxiDD would end the process.
            raise ValueError("these annotations are of different evaluations")
        width = a.width + b.width
        if width > VARIABLES:
            # The same variables may have been counted over and over.
            width = len(self.support(a) | self.support(b))
            if width > VARIABLES:
                raise LimitError(
                    Diagnostic(
                        "W0923",
                        f"an annotation depends on more than {VARIABLES:,} facts, too many for "
                        "decision diagrams",
                        hint="annotate fewer facts, or ask for `which`",
                    )
                )
        return width

    def _within(self, operation: Callable[[], BDDFunction]) -> BDDFunction:
        """Run an operation; when there is no room, collect garbage and run it again."""
        from oxidd.util import DDMemoryError

        try:
            return operation()
        except DDMemoryError:
            # OxiDD collects in the background, too; while it does, a call of `gc` does nothing.
            for pause in (0.0, 0.001, 0.01, 0.1):
                time.sleep(pause)
                self._manager.gc()
                try:
                    return operation()
                except DDMemoryError:
                    continue
        raise LimitError(
            Diagnostic(
                "W0922",
                f"decision diagrams have more than {self.budget:,} nodes",
                notes=(
                    "their size may grow exponentially with the facts, and depends on the order "
                    "in which facts are first met",
                ),
                hint="annotate fewer facts, ask for the facts of one goal, or use `minwhy` or "
                "`which`",
            )
        )


_Nodes = dict["BDDFunction", tuple[int, "BDDFunction", "BDDFunction"]]
"""Inner nodes with their variable, and what remains when it is true or false."""
