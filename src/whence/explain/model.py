"""What explanations are made of: facts, proofs, and the reasons for an absence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from whence.semiring.hypergraph import Hypergraph
from whence.syntax.nodes import Rule

Value: TypeAlias = "int | float | str | tuple[Value, ...] | None"
"""A number, a symbol, a record (nil is None)."""


class Shown:
    """An explanation that can be printed, and renders in notebooks."""

    __slots__ = ()

    def to(self, form: str, *, depth: int | None = None) -> str:
        """Return it as `text`, `json`, `dot`, `mermaid`, `prov-json` or `html`.

        With `depth` only what is at most so many steps away.
        """
        from whence.explain.forms import formatted

        return formatted(self, form, depth=depth)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return self.to("text")

    def _repr_html_(self) -> str:
        return self.to("html")


@dataclass(frozen=True, slots=True)
class Fact:
    """A tuple of a relation."""

    relation: str
    row: tuple[Value, ...]

    def __str__(self) -> str:
        from whence.explain.words import fact_text

        return fact_text(self)


@dataclass(frozen=True, slots=True)
class Absence:
    """A premise that is a negation: no tuple of the relation matches; None stands for any value."""

    relation: str
    pattern: tuple[Value | None, ...]
    text: str
    """The literal with its values, as the rule states it."""


@dataclass(frozen=True, slots=True)
class Holds:
    """A premise that is a constraint, with its values in place of variables."""

    text: str


@dataclass(frozen=True, slots=True)
class Folded:
    """A premise that is an aggregate: its value, and proofs of some of the facts it is over."""

    text: str
    value: Value
    size: int
    """How many facts (or combinations of facts) the aggregate is over."""
    over: tuple[Proof, ...]


@dataclass(frozen=True, slots=True)
class Given(Shown):
    """A base fact: it was given, not derived."""

    fact: Fact
    annotation: object = None


@dataclass(frozen=True, slots=True, repr=False)
class Derived(Shown):
    """A fact that an instance of a rule derives from premises."""

    fact: Fact
    rule: Rule
    number: int
    """The place of the rule in the program, from 1."""
    bindings: tuple[tuple[str, Value], ...]
    premises: tuple[Premise, ...]
    height: int
    annotation: object = None

    def __repr__(self) -> str:
        return f"<Derived {self.fact} by rule {self.number}, height {self.height}>"


@dataclass(frozen=True, slots=True)
class Cut(Shown):
    """A fact whose proof was left out, because the depth asked for ends here."""

    fact: Fact
    height: int | None = None


Proof: TypeAlias = Given | Derived | Cut
Premise: TypeAlias = Given | Derived | Cut | Absence | Holds | Folded


@dataclass(frozen=True, slots=True)
class Failed:
    """An instance of a rule that would have derived the fact, but for what is missing."""

    rule: Rule
    number: int
    bindings: tuple[tuple[str, Value], ...]
    holds: tuple[str, ...]
    """The literals that do hold, with their values."""
    missing: tuple[Missing, ...]
    open: tuple[str, ...] = ()
    """The literals that wait for values which only what is missing could give."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A literal of a failed instance that does not hold."""

    kind: str
    """`fact` (it is not there), `negation` (it is there), or `constraint` (it is false)."""
    text: str
    relation: str | None = None
    pattern: tuple[Value | None, ...] = ()
    """For facts and negations: the values known, None where any would do."""
    why: WhyNot | None = None
    """Why a missing fact is missing, where that was asked for and it is a derived one."""


@dataclass(frozen=True, slots=True)
class WhyNot(Shown):
    """Why a fact does not hold: for each rule that could derive it, the nearest failures."""

    fact: Fact
    failed: tuple[Failed, ...]
    reasons: tuple[str, ...] = ()
    """What is to say beside: no rule derives the relation, a rule's head cannot match, a search
    that was cut short."""


@dataclass(frozen=True, slots=True, repr=False)
class Cone(Shown):
    """All that can take part in a derivation of a fact: a graph whose node 0 is the fact."""

    graph: Hypergraph
    """Its `rules` number the rules of the program from 1, as proofs do."""
    facts: tuple[Fact, ...]
    """The fact of each node."""
    base: tuple[bool, ...]
    """Whether each fact was given; it may be derived as well."""
    rules: tuple[Rule, ...]
    """All rules of the program: number n is `rules[n - 1]`."""
    beside: tuple[tuple[Absence | Holds | Folded, ...], ...]
    """What each instance rests on beside its premises; aggregates come without proofs."""

    def __repr__(self) -> str:
        return f"<Cone {self.facts[0]}, {len(self.facts)} facts, {self.graph.instances} instances>"
