"""An explanation as facts and the steps between them, each once: what every format prints.

Proofs share sub-proofs and may be very deep, so all walks here use their own stacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias, assert_never

from whence.explain.model import (
    Absence,
    Cone,
    Cut,
    Derived,
    Failed,
    Folded,
    Given,
    Holds,
    Premise,
    Proof,
    Value,
    WhyNot,
)
from whence.explain.words import fact_text
from whence.syntax.nodes import Rule

Explanation: TypeAlias = Given | Derived | Cut | Cone | WhyNot
"""What can be printed."""


class Standing(Enum):
    """How it stands with a fact."""

    GIVEN = "given"
    DERIVED = "derived"
    CUT = "cut"
    """It holds, and why is left out."""
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Node:
    """A fact, or where some values do not matter, the pattern of one."""

    text: str
    standing: Standing
    relation: str | None = None
    row: tuple[Value, ...] | None = None
    given: bool = False
    """Whether it was given; it may be derived as well."""
    height: int | None = None
    annotation: object = None
    steps: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """A literal that is no fact to explain: a negation, a constraint, or a literal that holds."""

    kind: str
    """`absence`, `constraint`, or of a failed instance `holds` and `open`, any literal."""
    text: str
    holds: bool | None = True
    """None where that depends on values which only what is missing could give."""


@dataclass(frozen=True, slots=True)
class Aggregated:
    """An aggregate with its value, and some of the facts it is over."""

    text: str
    value: Value
    size: int
    over: tuple[int, ...]


Item: TypeAlias = int | Condition | Aggregated
"""A premise: the number of a node, or what is beside."""


@dataclass(frozen=True, slots=True)
class Step:
    """An instance of a rule that derives its head, or would have."""

    head: int
    rule: int
    premises: tuple[Item, ...]
    bindings: tuple[tuple[str, Value], ...] = ()

    @property
    def nodes(self) -> Iterator[int]:
        """The facts among the premises, and those that aggregates are over."""
        for item in self.premises:
            match item:
                case int(number):
                    yield number
                case Aggregated(over=over):
                    yield from over


@dataclass(frozen=True, slots=True)
class Diagram:
    """Facts and steps; node 0 is what was asked."""

    kind: str
    """`proof`, `derivations` or `why-not`."""
    nodes: tuple[Node, ...]
    steps: tuple[Step, ...]
    rules: Mapping[int, Rule]
    """The rules that steps name, by number."""


def diagram(explanation: Explanation) -> Diagram:
    """Return the facts and steps of an explanation."""
    match explanation:
        case Given() | Derived() | Cut():
            return _Maker("proof").proof(explanation)
        case Cone():
            return _of_cone(explanation)
        case WhyNot():
            return _Maker("why-not").why_not(explanation)
        case _:
            assert_never(explanation)


def trimmed(whole: Diagram, depth: int) -> Diagram:
    """Return what is at most so many steps away from the fact that was asked."""
    kept, level = {0: 0}, [0]
    for _ in range(depth):
        below = (n for node in level for s in whole.nodes[node].steps for n in whole.steps[s].nodes)
        level = [n for n in dict.fromkeys(below) if n not in kept]
        kept.update({n: len(kept) + i for i, n in enumerate(level)})
    nodes: list[Node] = []
    steps: list[Step] = []
    last = set(level)
    for old in kept:
        node = whole.nodes[old]
        if old in last and node.steps:
            standing = Standing.CUT if node.standing is Standing.DERIVED else node.standing
            nodes.append(replace(node, standing=standing, steps=()))
            continue
        first = len(steps)
        steps.extend(_renumbered(whole.steps[s], kept) for s in node.steps)
        nodes.append(replace(node, steps=tuple(range(first, len(steps)))))
    return Diagram(whole.kind, tuple(nodes), tuple(steps), _named(whole.rules, steps))


def _renumbered(step: Step, numbers: Mapping[int, int]) -> Step:
    def item(old: Item) -> Item:
        match old:
            case int():
                return numbers[old]
            case Aggregated():
                return replace(old, over=tuple(numbers[n] for n in old.over))
            case _:
                return old

    return replace(step, head=numbers[step.head], premises=tuple(map(item, step.premises)))


def _named(rules: Mapping[int, Rule], steps: list[Step]) -> dict[int, Rule]:
    return {number: rules[number] for number in sorted({step.rule for step in steps})}


class _Maker:
    """Numbers facts as they are met, and works off those whose steps are still to come."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.nodes: list[Node] = []
        self.steps: list[Step] = []
        self.rules: dict[int, Rule] = {}
        self._seen: dict[object, int] = {}

    def proof(self, root: Proof) -> Diagram:
        pending: list[tuple[int, Derived]] = []

        def number(proof: Proof) -> int:
            # A proof that is shared is one object; hashing it would walk all of it.
            key = id(proof) if isinstance(proof, Derived) else (type(proof), proof.fact)
            if key not in self._seen:
                self._seen[key] = len(self.nodes)
                self.nodes.append(_proved(proof))
                if isinstance(proof, Derived):
                    pending.append((self._seen[key], proof))
            return self._seen[key]

        def item(premise: Premise) -> Item:
            match premise:
                case Given() | Derived() | Cut():
                    return number(premise)
                case Folded(text, value, size, over):
                    return Aggregated(text, value, size, tuple(number(p) for p in over))
                case _:
                    return _condition(premise)

        number(root)
        while pending:
            head, proof = pending.pop()
            premises = tuple(item(premise) for premise in proof.premises)
            self._add(Step(head, proof.number, premises, proof.bindings), proof.rule)
        return self._done()

    def why_not(self, root: WhyNot) -> Diagram:
        pending: list[tuple[int, WhyNot]] = []

        def number(text: str, node: Node, why: WhyNot | None) -> int:
            if text not in self._seen:
                self._seen[text] = len(self.nodes)
                self.nodes.append(node)
            place = self._seen[text]
            if why is not None and place not in explained:
                explained.add(place)
                self.nodes[place] = replace(self.nodes[place], notes=why.reasons)
                pending.append((place, why))
            return place

        def items(failed: Failed) -> Iterator[Item]:
            for text in failed.holds:
                yield Condition("holds", text)
            for missing in failed.missing:
                if missing.kind == "fact":
                    absent = Node(missing.text, Standing.ABSENT, missing.relation)
                    yield number(missing.text, absent, missing.why)
                else:
                    kind = "absence" if missing.kind == "negation" else missing.kind
                    yield Condition(kind, missing.text, holds=False)
            for text in failed.open:
                yield Condition("open", text, holds=None)

        explained: set[int] = set()
        fact = root.fact
        asked = Node(fact_text(fact), Standing.ABSENT, fact.relation, fact.row)
        number(asked.text, asked, root)
        while pending:
            head, why = pending.pop()
            for failed in why.failed:
                step = Step(head, failed.number, tuple(items(failed)), failed.bindings)
                self._add(step, failed.rule)
        return self._done()

    def _add(self, step: Step, rule: Rule) -> None:
        node = self.nodes[step.head]
        self.nodes[step.head] = replace(node, steps=(*node.steps, len(self.steps)))
        self.steps.append(step)
        self.rules[step.rule] = rule

    def _done(self) -> Diagram:
        rules = _named(self.rules, self.steps)
        return Diagram(self.kind, tuple(self.nodes), tuple(self.steps), rules)


def _proved(proof: Proof) -> Node:
    fact = proof.fact
    text, at = fact_text(fact), (fact.relation, fact.row)
    match proof:
        case Given():
            return Node(text, Standing.GIVEN, *at, given=True, annotation=proof.annotation)
        case Derived():
            kept = {"height": proof.height, "annotation": proof.annotation}
            return Node(text, Standing.DERIVED, *at, **kept)  # type: ignore[arg-type]
        case Cut():
            return Node(text, Standing.CUT, *at, height=proof.height)
        case _:
            assert_never(proof)


def _condition(premise: Absence | Holds) -> Condition:
    return Condition("absence" if isinstance(premise, Absence) else "constraint", premise.text)


def _of_cone(cone: Cone) -> Diagram:
    graph = cone.graph
    heads, numbers = graph.heads.tolist(), graph.rules.tolist()
    start, premises = graph.start.tolist(), graph.premises.tolist()
    steps = []
    of_head: list[list[int]] = [[] for _ in cone.facts]
    for instance, head in enumerate(heads):
        of_head[head].append(instance)
        items: list[Item] = premises[start[instance] : start[instance + 1]]
        for beside in cone.beside[instance]:
            if isinstance(beside, Folded):
                items.append(Aggregated(beside.text, beside.value, beside.size, ()))
            else:
                items.append(_condition(beside))
        steps.append(Step(head, numbers[instance], tuple(items)))
    nodes = []
    for fact, given, found in zip(cone.facts, cone.base, of_head, strict=True):
        standing = Standing.DERIVED if found else Standing.GIVEN
        text = fact_text(fact)
        nodes.append(Node(text, standing, fact.relation, fact.row, given=given, steps=tuple(found)))
    rules = {number: cone.rules[number - 1] for number in sorted(set(numbers))}
    return Diagram("derivations", tuple(nodes), tuple(steps), rules)
