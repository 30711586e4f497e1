"""Relative provenance: a tuple's annotation is the graph of derivations that lead to it.

Green et al. 2007, as Liu et al. 2008 compare it (section 7.2): an edge says that a tuple follows
from others at once, a leaf is a base tuple. A tuple holds as long as a walk over its edges, from
leaves that are true, comes to it. A graph is a set of edges, kept as the bits of an integer.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import cast

from whence.network.model import Annotation, Control, Host, Key, Premise, Row
from whence.network.provenance.products import bits
from whence.network.provenance.variables import Variables

Graph = tuple[int, int]  # the tuple it is about, and its edges
Node = int | tuple[str, Row]  # a variable, or a derived tuple


class Relative:
    """The derivation graphs of one processor."""

    name = "relative"
    retracting = False
    annotated = True

    def __init__(self, *, made: int = 0) -> None:
        self._made = made
        self.variables = Variables(0, 1)
        self._place: dict[Node, int] = {}
        self._nodes: list[Node] = []
        self._edge: dict[tuple[int, ...], int] = {}
        self._edges: list[tuple[int, ...]] = []  # a head and its premises, by their places
        self._free: list[int] = []
        self._leaf: dict[int, int] = {}  # edges that need a variable, by its number
        self._false = 0  # edges that need a variable that is false
        self._restricting: tuple[frozenset[Hashable], int] = (frozenset(), 0)

    def attach(self, host: Host) -> None:
        """Number the variables of this processor apart from those of all others."""
        everyone = sorted([host.name, *host.peers])
        self.variables = Variables(everyone.index(host.name), len(everyone), self._made)

    def base(self, relation: str, row: Row) -> Annotation:
        """Return the edge from a fresh variable to the tuple."""
        root = self._put((relation, row))
        return root, self._bit((root, self._put(self.variables.fresh())))

    def variable(self, annotation: Annotation) -> Hashable:
        """Return the number of the variable that `base` made."""
        _, edge = cast("Graph", annotation)
        return cast("int", self._nodes[self._edges[edge.bit_length() - 1][1]])

    def derive(
        self, rule: str, head: tuple[str, Row], premises: Sequence[Premise]
    ) -> Annotation | None:
        """Return the graphs of the premises, and an edge from them to the head."""
        root = self._put(head)
        graph = 0
        edge = [root]
        for _, _, annotation in premises:
            if annotation is None:
                return None
            premise, edges = cast("Graph", annotation)
            edge.append(premise)
            graph |= edges
        out = (root, graph | self._bit(tuple(edge)))
        return self._without(out, self._false) if self._false & graph else out

    def merge(
        self, relation: str, row: Row, old: Annotation | None, new: Annotation
    ) -> tuple[Annotation | None, Annotation | None]:
        """Return both graphs in one; any edge that was not known is news."""
        if self._false:
            alive = self._without(cast("Graph", new), self._false)
            if alive is None:
                return old, None
            new = alive
        if old is None:
            return new, new
        root, known = cast("Graph", old)
        total = known | cast("Graph", new)[1]
        return (old, None) if total == known else ((root, total), new)

    def withdraw(
        self, relation: str, row: Row, old: Annotation | None, gone: Annotation
    ) -> Annotation | None:
        """Fail: with variables, nothing is ever retracted but a variable."""
        raise AssertionError(f"a derivation of {relation}{row} was retracted")

    def arrive(self, annotation: Annotation) -> Annotation | None:
        """Return what `decode` gave, which leaves out what is false; None if that was all."""
        return annotation if cast("Graph", annotation)[1] else None

    def kill(self, variables: Iterable[Hashable]) -> frozenset[Hashable]:
        """Remember that variables are false."""
        news = self.variables.kill(cast("Iterable[int]", variables))
        for number in news:
            self._false |= self._leaf.get(number, 0)
        return news

    def restrict(self, annotation: Annotation, dead: frozenset[Hashable]) -> Annotation | None:
        """Return what can still be walked of a graph; None when the walk does not come home."""
        return self._without(cast("Graph", annotation), self._mask(dead))

    def affected(
        self, annotated: Iterable[tuple[Key, Annotation]], dead: frozenset[Hashable]
    ) -> list[Key]:
        """Return the keys of graphs with an edge from one of these variables."""
        mask = self._mask(dead)
        return [key for key, one in annotated if one is not None and cast("Graph", one)[1] & mask]

    def settle(self) -> None:
        """Let new edges have the bits of those from false variables."""
        for place in bits(self._false):
            edge = self._edges[place]
            del self._edge[edge]
            self._free.append(place)
        if self._false:
            for number in [n for n, edges in self._leaf.items() if edges & self._false]:
                del self._leaf[number]
            self._false = 0

    def control(self, source: str, message: Control) -> None:
        """Fail: there are no such messages."""
        raise AssertionError(f"no scheme knows the message {message.kind!r}")

    def encode(self, annotation: Annotation) -> object:
        """Return the tuples and variables of a graph, the root first, and the edges by places."""
        root, graph = cast("Graph", annotation)
        places = {root: 0}
        edges = [
            [places.setdefault(node, len(places)) for node in self._edges[place]]
            for place in bits(graph)
        ]
        nodes = [node if isinstance(node := self._nodes[n], int) else list(node) for n in places]
        return [nodes, edges]

    def decode(self, value: object) -> Annotation:
        """Return the graph without variables that are false, and without edges if it is too."""
        nodes, edges = cast("tuple[Sequence[object], Sequence[Sequence[int]]]", value)
        dead = self.variables.dead
        places: list[int | None] = [
            (None if dead(node) else self._put(node))
            if isinstance(node, int)
            else self._put(cast("Node", (node[0], _row(node[1]))))  # type: ignore[index]
            for node in nodes
        ]
        graph = 0
        whole = True
        for edge in edges:
            known = [places[at] for at in edge]
            if None in known:
                whole = False
            else:
                graph |= self._bit(tuple(cast("list[int]", known)))
        out = (cast("int", places[0]), graph)
        return out if whole else self._walked(out) or (out[0], 0)

    def size(self, annotation: Annotation) -> int:
        """Return the bytes of the graph on the wire."""
        from msgspec import msgpack

        return len(msgpack.encode(self.encode(annotation)))

    def _mask(self, dead: frozenset[Hashable]) -> int:
        if self._restricting[0] is not dead:
            mask = 0
            for number in dead:
                mask |= self._leaf.get(cast("int", number), 0)
            self._restricting = (dead, mask)
        return self._restricting[1]

    def _put(self, node: Node) -> int:
        place = self._place.get(node)
        if place is None:
            place = self._place[node] = len(self._nodes)
            self._nodes.append(node)
        return place

    def _bit(self, edge: tuple[int, ...]) -> int:
        bit = self._edge.get(edge)
        if bit is None:
            if self._free:
                place = self._free.pop()
                self._edges[place] = edge
            else:
                place = len(self._edges)
                self._edges.append(edge)
            bit = self._edge[edge] = 1 << place
            for premise in edge[1:]:
                node = self._nodes[premise]
                if isinstance(node, int):
                    self._leaf[node] = self._leaf.get(node, 0) | bit
                    if self.variables.dead(node):
                        self._false |= bit
        return bit

    def _without(self, graph: Graph, dead: int) -> Graph | None:
        root, edges = graph
        return self._walked((root, edges & ~dead)) if edges & dead else graph

    def _walked(self, graph: Graph) -> Graph | None:
        """Return the edges whose premises can be derived, if the root is among their heads."""
        root, edges = graph
        waiting: dict[int, list[int]] = {}  # edges by a premise that they still need
        missing: dict[int, int] = {}
        found: set[int] = set()
        stack = []
        for place in bits(edges):
            edge = self._edges[place]
            needed = {p for p in edge[1:] if not isinstance(self._nodes[p], int)}
            missing[place] = len(needed)
            for premise in needed:
                waiting.setdefault(premise, []).append(place)
            if not needed:
                stack.append(place)
        kept = 0
        while stack:
            place = stack.pop()
            kept |= 1 << place
            head = self._edges[place][0]
            if head not in found:
                found.add(head)
                for other in waiting.get(head, ()):
                    missing[other] -= 1
                    if not missing[other]:
                        stack.append(other)
        return (root, kept) if root in found else None


def _row(value: object) -> object:
    return tuple(_row(v) for v in value) if isinstance(value, list | tuple) else value
