"""Reachability with provenance in synchronous rounds, slow and obvious: the tests' judge of counts.

The model of Liu et al. 2008 (section 3): links have one direction, a tuple lives at the node that
its first argument names, `link(x, z)` is shipped to z and joins `reachable(z, y)` there, and the
result is shipped to x. What a node sends in one round arrives in the next, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Link = tuple[str, str]
Sum = frozenset[frozenset[str]]  # a sum of products of variables, none of which contains another

TRUE: Sum = frozenset({frozenset()})
SHIPS = ("set", "plain", "eager", "lazy")
EXAMPLE: Mapping[Link, str] = {
    ("A", "B"): "p1",
    ("B", "C"): "p2",
    ("C", "A"): "p3",
    ("C", "B"): "p4",
}
"""The network of figure 3, with the variables of its links."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """One message from a node to another."""

    round: int
    source: str
    target: str
    sign: str
    """`+` and `-` for tuples that come and go, `0` for a link whose variable is false."""
    relation: str
    row: Link
    annotation: Sum


@dataclass(slots=True)
class _Site:
    links: dict[Link, Sum] = field(default_factory=dict)
    """Links to here, which their sources have shipped."""
    reachable: dict[Link, Sum] = field(default_factory=dict)
    sent: dict[Link, Sum] = field(default_factory=dict)
    buffered: dict[Link, Sum] = field(default_factory=dict)


def absorb(products: Iterable[frozenset[str]]) -> Sum:
    """Drop the products that contain another: `a or (a and b)` is `a`."""
    kept = set(products)
    return frozenset(p for p in kept if not any(q < p for q in kept))


def both(a: Sum, b: Sum) -> Sum:
    """Return the conjunction."""
    return absorb(p | q for p in a for q in b)


def without(a: Sum, variable: str) -> Sum:
    """Return the sum when a variable is false; an empty one is false."""
    return frozenset(p for p in a if variable not in p)


class Rounds:
    """The network with provenance, or with `set` semantics; `ship` is one of `SHIPS`."""

    def __init__(self, links: Mapping[Link, str], ship: str) -> None:
        self.ship = ship
        self.variables = dict(links)
        self.shipped: list[Shipped] = []
        self.sites = {name: _Site() for name in sorted({end for link in links for end in link})}
        self._round = 0
        posted: list[Shipped] = []
        for link, variable in links.items():
            annotation = TRUE if ship == "set" else frozenset({frozenset({variable})})
            self.sites[link[0]].reachable[link] = annotation
            self._post(posted, link[0], link[1], "link", link, annotation)
        self._settle(posted)

    @property
    def view(self) -> dict[Link, Sum]:
        """All tuples of `reachable` with their annotations."""
        return {row: s for site in self.sites.values() for row, s in site.reachable.items()}

    def delete(self, link: Link) -> None:
        """Delete a link: everybody is told that its variable is false."""
        variable = self.variables.pop(link)
        owner = link[0]
        for name in self.sites:
            if name != owner:
                self.shipped.append(Shipped(self._round, owner, name, "0", "link", link, TRUE))
        posted: list[Shipped] = []
        for name, site in self.sites.items():
            for table in (site.links, site.reachable, site.sent, site.buffered):
                for row, annotation in list(table.items()):
                    table[row] = without(annotation, variable)
                    if not table[row]:
                        del table[row]
            for row in [row for row in site.buffered if row not in site.sent]:
                annotation = site.sent[row] = site.buffered.pop(row)
                self._post(posted, name, row[0], "reachable", row, annotation)
        self._settle(posted)

    def _settle(self, posted: list[Shipped]) -> None:
        while posted:
            self._round += 1
            arrived, posted = posted, []
            for message in arrived:
                site = self.sites[message.target]
                table = site.links if message.relation == "link" else site.reachable
                known = table.get(message.row, frozenset())
                table[message.row] = absorb(known | message.annotation)
                if table[message.row] != known:
                    self._derive(posted, message)

    def _derive(self, posted: list[Shipped], news: Shipped) -> None:
        here = news.target
        site = self.sites[here]
        if news.relation == "link":
            found = [
                ((news.row[0], y), both(news.annotation, known))
                for (_, y), known in site.reachable.items()
            ]
        else:
            found = [
                ((x, news.row[1]), both(known, news.annotation))
                for (x, _), known in site.links.items()
            ]
        for row, annotation in found:
            self._minship(posted, here, row, annotation)

    def _minship(self, posted: list[Shipped], here: str, row: Link, annotation: Sum) -> None:
        site = self.sites[here]
        if self.ship in ("eager", "lazy") and row in site.sent:
            if absorb(site.sent[row] | annotation) == site.sent[row]:
                return
            if self.ship == "lazy":
                site.buffered[row] = absorb(site.buffered.get(row, frozenset()) | annotation)
                return
        site.sent[row] = absorb(site.sent.get(row, frozenset()) | annotation)
        self._post(posted, here, row[0], "reachable", row, annotation)

    def _post(
        self, posted: list[Shipped], source: str, target: str, relation: str, row: Link, a: Sum
    ) -> None:
        message = Shipped(self._round + 1, source, target, "+", relation, row, a)
        posted.append(message)
        if source != target:
            self.shipped.append(message)


def overdeletion(links: Iterable[Link], gone: Link) -> tuple[Sequence[Shipped], set[Link]]:
    """Delete a link as DRed does (Gupta et al. 1993); return what is shipped, and `reachable`.

    A node remembers for each of its tuples who has derived it, so that after the deletions it knows
    by itself which of the deleted tuples are still derived by something that was not deleted.
    """
    shipped: list[Shipped] = []
    reachable = set(Rounds(dict.fromkeys(links, ""), "set").view)
    left = [link for link in links if link != gone]
    derived = {
        row: {z for x, z in links if x == row[0] and (z, row[1]) in reachable} for row in reachable
    }

    def send(sign: str, turn: int, source: str, relation: str, row: Link, target: str) -> None:
        if source != target:
            shipped.append(Shipped(turn, source, target, sign, relation, row, TRUE))

    send("-", 0, gone[0], "link", gone, gone[1])
    deleted: set[Link] = set()
    lost = [(gone, gone[0])] + [((gone[0], y), gone[1]) for z, y in reachable if z == gone[1]]
    for row, z in lost[1:]:
        send("-", 1, z, "reachable", row, row[0])
    turn = 1
    while lost:
        turn += 1
        news = []
        for row, z in lost:
            derived[row].discard(z)
            if row not in deleted:
                deleted.add(row)
                news += [((x, row[1]), row[0]) for x, z in left if z == row[0]]
        for row, z in news:
            send("-", turn, z, "reachable", row, row[0])
        lost = news
    again = [row for row in deleted if row in left or derived[row]]
    reachable -= deleted
    while again:
        turn += 1
        more = []
        for row in again:
            if row not in reachable:
                reachable.add(row)
                more += [((x, row[1]), row[0]) for x, z in left if z == row[0]]
        for row, z in more:
            send("+", turn, z, "reachable", row, row[0])
        again = [row for row, _ in more]
    return shipped, reachable
