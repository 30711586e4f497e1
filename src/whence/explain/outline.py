"""An explanation as an outline: lines within lines, each fact explained once.

A fact that is met again is referred to by its number; what is too deep to be read at the margin
goes on below. Lines are made one at a time, and the whole is never held.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from whence.explain.diagram import Aggregated, Condition, Diagram, Item, Node, Standing, Step
from whence.explain.words import annotation_cell, bindings_text, place_text, rule_text
from whence.syntax.tuples import value_text

Tone: TypeAlias = Literal["fact", "given", "rule", "quiet", "good", "bad", "label"]
"""What a part of a line is, for those who colour it."""
Part: TypeAlias = tuple[str, Tone]

DEEP: Final = 16
"""Levels within one another that are still read easily."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the outline; an empty one stands between its sections."""

    parts: tuple[Part, ...] = ()
    last: tuple[bool, ...] = ()
    """Of each level down to this line, whether it is the last of its siblings there."""
    opens: bool = False
    """Whether lines within this one follow."""

    @property
    def text(self) -> str:
        """The line without what leads to it."""
        return "".join(text for text, _ in self.parts)


@dataclass(frozen=True, slots=True)
class _Branch:
    """A line to be, and the branches within it, once somebody looks."""

    parts: tuple[Part, ...]
    inner: Callable[[], list[_Inner]] | None = None


_Inner: TypeAlias = int | _Branch
"""A fact by its number, for what to say of it is only known when its turn comes."""


Show: TypeAlias = Callable[[object], int | float | str]


def outline(diagram: Diagram, show: Show = annotation_cell) -> Iterator[Line]:
    """Yield the lines; `show` says how annotations are printed."""
    return _Outline(diagram, show).lines()


class _Outline:
    def __init__(self, diagram: Diagram, show: Show) -> None:
        self.diagram = diagram
        self.show = show
        self._labels: dict[int, int] = {}
        self._printed: set[int] = set()
        self._later: deque[int] = deque()
        """The facts that are too deep where they were met, in the order in which they follow."""
        met: set[int] = {0}
        self._again: set[int] = set()
        """The facts with steps that are a premise more than once."""
        for step in diagram.steps:
            for number in step.nodes:
                (self._again if number in met else met).add(number)

    def lines(self) -> Iterator[Line]:
        yield from self._section(self._node(0, 0))
        while self._later:
            yield Line()
            yield from self._section(self._explained(self._later.popleft()))
        yield from self._rules()

    def _section(self, root: _Branch) -> Iterator[Line]:
        pending: list[tuple[_Inner, tuple[bool, ...]]] = [(root, ())]
        while pending:
            found, last = pending.pop()
            branch = self._node(found, len(last)) if isinstance(found, int) else found
            inner = branch.inner() if branch.inner is not None else []
            yield Line(branch.parts, last, bool(inner))
            for place in range(len(inner) - 1, -1, -1):
                pending.append((inner[place], (*last, place == len(inner) - 1)))

    # ── facts ──

    def _node(self, number: int, level: int) -> _Branch:
        """Return the branch of a fact where it is met: explained, or where it is explained."""
        node = self.diagram.nodes[number]
        if not node.steps:
            return _Branch((*self._fact(node), *_standing(node)), lambda: _notes(node))
        if number in self._printed:
            return self._reference(number, "above")
        if number in self._later or level >= DEEP:
            return self._postponed(number)
        return self._explained(number)

    def _explained(self, number: int) -> _Branch:
        self._printed.add(number)
        node = self.diagram.nodes[number]
        if number in self._again and number not in self._labels:
            self._labels[number] = len(self._labels) + 1
        label: tuple[Part, ...] = ()
        if number in self._labels:
            label = ((f"  #{self._labels[number]}", "label"),)
        steps = [self.diagram.steps[s] for s in node.steps]

        def inner() -> list[_Inner]:
            if len(steps) == 1 and self.diagram.kind != "why-not":
                return [self._item(item) for item in steps[0].premises]
            return [*map(self._step, steps), *_notes(node)]

        parts = (*self._fact(node), *_reason(node, steps, self.diagram.kind), *label)
        return _Branch(parts, inner)

    def _postponed(self, number: int) -> _Branch:
        if number not in self._later:
            self._later.append(number)
        return self._reference(number, "below")

    def _reference(self, number: int, where: str) -> _Branch:
        label = self._labels.setdefault(number, len(self._labels) + 1)
        parts = self._fact(self.diagram.nodes[number])
        return _Branch(
            (*parts, ("  see ", "quiet"), (f"#{label}", "label"), (f" {where}", "quiet"))
        )

    def _fact(self, node: Node) -> tuple[Part, ...]:
        tone: Tone = "given" if node.standing is Standing.GIVEN else "fact"
        if node.standing is Standing.ABSENT:
            tone = "bad"
        shown = node.text if node.annotation is None else str(self.show(node.annotation))
        if shown == node.text:  # a fact that is annotated with its own name says nothing more
            return ((node.text, tone),)
        return ((node.text, tone), (f" [{shown}]", "label"))

    # ── what is within them ──

    def _step(self, step: Step) -> _Branch:
        text = f"by rule {step.rule}"
        if self.diagram.kind == "why-not":
            text = f"rule {step.rule}"
        values = bindings_text(step.bindings)
        parts: tuple[Part, ...] = ((text, "rule"),)
        if values:
            parts += ((f" with {values}", "quiet"),)
        if not step.premises:
            return _Branch(parts)
        return _Branch(parts, lambda: [self._item(item) for item in step.premises])

    def _item(self, item: Item) -> _Inner:
        match item:
            case int(number):
                return number
            case Condition(_, text, True):
                return _Branch(((text, "fact"), (f"  {_holding(item)}", "good")))
            case Condition(_, text, None):
                return _Branch(((text, "quiet"), ("  waits for the rest", "quiet")))
            case Condition(kind, text, _):
                words = "there is such a fact" if kind == "absence" else "does not hold"
                return _Branch(((text, "bad"), (f"  {words}", "bad")))
            case Aggregated(text, value, size, over):
                count = f"over {size:,} {'fact' if size == 1 else 'facts'}"
                shown = f"{text} = {value_text(value)}"
                parts: tuple[Part, ...] = ((shown, "fact"), (f"  {count}", "quiet"))
                if not over:
                    return _Branch(parts)
                return _Branch(parts, lambda: self._over(over, size))

    def _over(self, over: tuple[int, ...], size: int) -> list[_Inner]:
        found: list[_Inner] = [*over]
        if size > len(over):
            found.append(_Branch(((f"… and {size - len(over):,} more", "quiet"),)))
        return found

    def _rules(self) -> Iterator[Line]:
        if not self.diagram.rules:
            return
        yield Line()
        names = {n: f"rule {n}" for n in self.diagram.rules}
        places = {n: place_text(rule) for n, rule in self.diagram.rules.items()}
        width, wide = max(map(len, names.values())), max(map(len, places.values()))
        for number, rule in self.diagram.rules.items():
            place = f"  {places[number]:<{wide}}" if wide else ""
            yield Line(
                (
                    (f"{names[number]:<{width}}", "rule"),
                    (place, "quiet"),
                    (f"  {rule_text(rule)}", "fact"),
                )
            )


def _standing(node: Node) -> tuple[Part, ...]:
    match node.standing:
        case Standing.GIVEN:
            return (("  given", "quiet"),)
        case Standing.CUT:
            more = "1 more step" if node.height == 1 else f"{node.height} more steps"
            high = "" if node.height is None else f", {more} high"
            return ((f"  … cut here{high}", "quiet"),)
        case Standing.ABSENT:
            return (("  is not there", "bad"),)
        case Standing.DERIVED:
            return ()


def _reason(node: Node, steps: list[Step], kind: str) -> tuple[Part, ...]:
    if kind == "why-not":
        return (("  is not there", "bad"),)
    given = "given, and " if node.given else ""
    if len(steps) == 1:
        return ((f"  {given}by rule {steps[0].rule}", "rule"),)
    return ((f"  {given}in {len(steps)} ways", "rule"),)


def _notes(node: Node) -> list[_Inner]:
    return [_Branch(((note, "quiet"),)) for note in node.notes]


def _holding(condition: Condition) -> str:
    return "no such fact" if condition.kind == "absence" else "holds"
