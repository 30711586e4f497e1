"""Absorption provenance: a tuple's annotation is a monotone Boolean function of base tuples.

Liu et al. 2008, section 4. A function of one product is an integer, of a few products a tuple of
them, and of more a decision diagram; all three mean the same. A base tuple that goes makes its
variable false, here and wherever it is mentioned.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, cast

from whence.diagnostics import Diagnostic, LimitError
from whence.network.model import Annotation, Control, Host, Key, Premise, Row
from whence.network.provenance import products, wire
from whence.network.provenance.variables import Variables
from whence.semiring.bdd import Diagrams, Formula

if TYPE_CHECKING:
    from collections.abc import Callable

Function = int | tuple[int, ...] | Formula

FALSE: tuple[int, ...] = ()
"""What a message says when all that it says is false by now."""
NODES = 250_000
"""Nodes of all diagrams of one processor, unless somebody asks for more."""
PRODUCTS = 24
"""A sum of more products than these is kept as a decision diagram."""


class Absorption:
    """The functions of one processor; their diagrams have at most so many nodes together."""

    name = "absorption"
    retracting = False
    annotated = True

    def __init__(self, *, budget: int = NODES, limit: int = PRODUCTS, made: int = 0) -> None:
        self._budget = budget
        self._limit = limit
        self._made = made
        self._diagrams: Diagrams | None = None
        self._variables: dict[int, Formula] = {}
        self._named = ""
        self._restricting: tuple[frozenset[Hashable], int] = (frozenset(), 0)
        self.variables = Variables(0, 1)

    def attach(self, host: Host) -> None:
        """Number the variables of this processor apart from those of all others."""
        everyone = sorted([host.name, *host.peers])
        self._named = host.name
        self.variables = Variables(everyone.index(host.name), len(everyone), self._made)

    def base(self, relation: str, row: Row) -> Annotation:
        """Return a fresh variable."""
        return self.variables.bit(self.variables.fresh())

    def variable(self, annotation: Annotation) -> Hashable:
        """Return the number of a variable."""
        return self.variables.number(cast("int", annotation).bit_length() - 1)

    def derive(
        self, rule: str, head: tuple[str, Row], premises: Sequence[Premise]
    ) -> Annotation | None:
        """Return the conjunction of the premises."""
        out: Function = 0
        for _, _, annotation in premises:
            if annotation is None:
                return None
            if type(annotation) is int and type(out) is int:
                out |= annotation
            else:
                out = self._both(out, cast("Function", annotation))
        if self.variables.false:
            return self._live(out)
        return out

    def merge(
        self, relation: str, row: Row, old: Annotation | None, new: Annotation
    ) -> tuple[Annotation | None, Annotation | None]:
        """Return the disjunction; news are the products that the old ones do not absorb."""
        if self.variables.false:
            alive = self._live(cast("Function", new))
            if alive is None:
                return old, None
            new = alive
        if old is None:
            return new, new
        if type(old) is int and type(new) is int:
            common = old & new
            if common == old:
                return old, None
            if common == new:
                return new, new
            return (old, new), new
        return self._either(cast("Function", old), cast("Function", new))

    def withdraw(
        self, relation: str, row: Row, old: Annotation | None, gone: Annotation
    ) -> Annotation | None:
        """Fail: with variables, nothing is ever retracted but a variable."""
        raise AssertionError(f"a derivation of {relation}{row} was retracted")

    def arrive(self, annotation: Annotation) -> Annotation | None:
        """Return what `decode` gave, which leaves out what is false; None if that was all."""
        return None if annotation == FALSE else annotation

    def kill(self, variables: Iterable[Hashable]) -> frozenset[Hashable]:
        """Remember that variables are false."""
        return self.variables.kill(cast("Iterable[int]", variables))

    def restrict(self, annotation: Annotation, dead: frozenset[Hashable]) -> Annotation | None:
        """Return the function with these variables false; None when it is false."""
        mask = self._mask(dead)
        if type(annotation) is int:
            return None if annotation & mask else annotation
        return self._without(cast("Function", annotation), mask)

    def affected(
        self, annotated: Iterable[tuple[Key, Annotation]], dead: frozenset[Hashable]
    ) -> list[Key]:
        """Return the keys of functions that mention one of these variables."""
        mask = self._mask(dead)
        if not mask:
            return []
        return [
            key
            for key, one in annotated
            if (one & mask if type(one) is int else one is not None and _mentions(one, mask))
        ]

    def settle(self) -> None:
        """Let new variables have the bits of those that are false."""
        if self.variables.false:
            self.variables.settle()

    def control(self, source: str, message: Control) -> None:
        """Fail: there are no such messages."""
        raise AssertionError(f"no scheme knows the message {message.kind!r}")

    def encode(self, annotation: Annotation) -> object:
        """Return the function as bytes: its products or its diagram, whichever is shorter."""
        number = self.variables.number
        if type(annotation) is int:
            return wire.pack_product([number(place) for place in products.bits(annotation)])
        if isinstance(annotation, tuple):
            sums = [[number(place) for place in products.bits(one)] for one in annotation]
            short = wire.pack_sum(sums)
            if len(sums) < wire.SHARED:
                return short
            return min(short, self._packed(self._diagram(annotation)), key=len)
        return self._packed(cast("Formula", annotation))

    def decode(self, value: object) -> Annotation:
        """Return the function in these bytes, without variables that are false."""
        dead, bit = self.variables.dead, self.variables.bit
        packed = cast("bytes", value)
        out: Function | None
        if wire.is_product(packed):
            product, known = 0, self.variables.bits
            for number in wire.unpack_product(packed):
                found_bit = known.get(number)
                if found_bit is None:
                    if dead(number):
                        return FALSE
                    found_bit = bit(number)
                product |= found_bit
            return FALSE if product & self.variables.false else product
        if wire.is_diagram(packed):
            out = self._unpacked(wire.unpack_diagram(packed))
            return FALSE if out is None else out
        found = []
        for numbers in wire.unpack_sum(packed):
            product = 0
            for number in numbers:
                if dead(number):
                    break
                product |= bit(number)
            else:
                found.append(product)
        return self._sum(tuple(found)) or FALSE

    def size(self, annotation: Annotation) -> int:
        """Return the bytes of the function on the wire."""
        return len(cast("bytes", self.encode(annotation)))

    @property
    def nodes(self) -> int:
        """How many nodes the diagrams of this processor have by now."""
        return self._diagrams.size if self._diagrams is not None else 0

    def pressed(self) -> bool:
        """Return whether half of the budget is used: time to ship less."""
        return 2 * self.nodes > self._budget

    def products(self, annotation: Annotation) -> frozenset[frozenset[int]]:
        """Return a function as its sets of variables, by their numbers."""
        number = self.variables.number
        if isinstance(annotation, Formula):
            home = self._home()
            places = home.primes(annotation, self._budget)
            return frozenset(
                frozenset(number(cast("int", home.labels[i])) for i in p) for p in places
            )
        several = annotation if isinstance(annotation, tuple) else (cast("int", annotation),)
        return frozenset(frozenset(number(i) for i in products.bits(one)) for one in several)

    def _mask(self, dead: frozenset[Hashable]) -> int:
        if self._restricting[0] is not dead:
            self._restricting = (dead, self.variables.mask(cast("frozenset[int]", dead)))
        return self._restricting[1]

    def _live(self, function: Function) -> Function | None:
        return self._without(function, self.variables.false)

    def _without(self, function: Function, mask: int) -> Function | None:
        if isinstance(function, int):
            return None if function & mask else function
        if isinstance(function, tuple):
            return self._sum(products.without(function, mask))
        left = self._home().without(function, products.bits(mask))
        return None if left == self._home().false else left

    def _sum(self, several: tuple[int, ...]) -> Function | None:
        if len(several) < 2:
            return several[0] if several else None
        return several if len(several) <= self._limit else self._diagram(several)

    def _both(self, a: Function, b: Function) -> Function:
        if not isinstance(a, Formula) and not isinstance(b, Formula):
            left = a if isinstance(a, tuple) else (a,)
            right = b if isinstance(b, tuple) else (b,)
            if len(left) * len(right) <= self._limit * self._limit:
                # A conjunction of what is not false is not false: variables are never negated.
                return cast("Function", self._sum(products.both(left, right)))
        return self._within(lambda home: home.both(self._diagram(a), self._diagram(b)))

    def _either(self, old: Function, new: Function) -> tuple[Function, Function | None]:
        if not isinstance(old, Formula) and not isinstance(new, Formula):
            known = old if isinstance(old, tuple) else (old,)
            more = new if isinstance(new, tuple) else (new,)
            total, fresh = products.add(known, more)
            return cast("Function", self._sum(total)), self._sum(fresh)
        if isinstance(old, Formula) and not isinstance(new, Formula):
            # Most derivations are absorbed, which a walk down the diagram finds out.
            fresh = tuple(
                one
                for one in (new if isinstance(new, tuple) else (new,))
                if not self._home().holds(old, lambda at, one=one: bool(one >> at & 1))  # type: ignore[misc]
            )
            if not fresh:
                return old, None
            new = cast("Function", self._sum(fresh))
        a, b = self._diagram(old), self._diagram(new)
        out = self._within(lambda home: home.either(a, b))
        return (old, None) if out == a else (out, new)

    def _diagram(self, function: Function) -> Formula:
        if isinstance(function, Formula):
            return function
        several = function if isinstance(function, tuple) else (function,)

        def build(home: Diagrams) -> Formula:
            out = home.false
            # Variables of tuples that came together stand together, as they do in derivations.
            known = self._variables
            for place in products.bits(reduce(or_, several)):
                if place not in known:
                    known[place] = home.variable(place)
            for one in several:
                product = home.true
                # From the last variable up, each conjunction adds a node on top of the diagram.
                for place in reversed(products.bits(one)):
                    product = home.both(known[place], product)
                out = home.either(out, product)
            return out

        return self._within(build)

    def _packed(self, formula: Formula) -> bytes:
        home = self._home()
        number = self.variables.number
        labels = [number(cast("int", label)) for label in home.labels]
        nodes = [(labels[variable], high, low) for variable, high, low in home.nodes(formula)]
        dag = wire.pack_diagram(nodes)
        try:
            sums = home.primes(formula, wire.MOST)
        except LimitError:
            return dag
        return min(dag, wire.pack_sum([sorted(labels[i] for i in p) for p in sums]), key=len)

    def _unpacked(self, nodes: list[tuple[int, int, int]]) -> Function | None:
        dead, bit = self.variables.dead, self.variables.bit

        def build(home: Diagrams) -> Formula:
            known = [home.false, home.true]
            for number, high, low in nodes:
                if dead(number):
                    known.append(known[low])
                    continue
                place = bit(number).bit_length() - 1
                needs = home.both(home.variable(place), known[high])
                known.append(home.either(needs, known[low]))
            return known[-1]

        out = self._within(build)
        return None if out == self._home().false else out

    def _home(self) -> Diagrams:
        if self._diagrams is None:
            self._diagrams = Diagrams(self._budget)
        return self._diagrams

    def _within(self, operation: Callable[[Diagrams], Formula]) -> Formula:
        try:
            return operation(self._home())
        except LimitError as error:
            raise LimitError(
                Diagnostic(
                    "W1440",
                    f"the provenance at `{self._named}` has more than {self._budget:,} nodes of "
                    "decision diagrams",
                    notes=(
                        "all derivations of each tuple are kept there, and their number may grow "
                        "exponentially with the links",
                    ),
                    hint="ship lazily, which keeps one derivation from each sender, or give a "
                    "larger budget",
                )
            ) from error


def _mentions(function: object, mask: int) -> bool:
    if isinstance(function, tuple):
        return any(product & mask for product in function)
    return True  # a diagram finds out by itself
