"""MinShip: of each tuple the first derivation is sent, and others wait until they are needed.

Liu et al. 2008, algorithm 3, corrected: what was sent is cleared of variables that are false, and
when nothing is left of it, what waits is sent at once. Lazy shipping sends it only then; eager
shipping also when so many derivations wait, or after some time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from whence.network.model import Annotation, Handle, Host, Row, Scheme, Update
from whence.network.provenance.absorption import Absorption
from whence.network.provenance.best import Outgoing

_Key = tuple[str, str, Row]  # the processor, relation and row


class MinShip:
    """The derivations that one processor has sent, and those that wait; all ways to its own too.

    Eager with a `batch`, a number of waiting derivations, or an interval `every` in seconds, or
    both; lazy with neither. Tuples of the processor itself pass here like all others, as in the
    paper, where every exchange has its operator: else derivations would be eager among themselves.
    """

    local = True

    def __init__(self, *, batch: int | None = None, every: float | None = None) -> None:
        self.batch = batch
        self.every = every
        self.sent: dict[_Key, Annotation] = {}
        self.held: dict[_Key, list[Annotation]] = {}
        self.turned_lazy: float | None = None
        """When provenance had grown so much that eager shipping was given up."""
        self._selections: dict[str, Outgoing] = {}
        self._waiting = 0
        self._out: dict[str, list[Update]] = {}
        self._timer: Handle | None = None
        self._host: Host
        self._scheme: Scheme

    def attach(self, host: Host) -> None:
        """Work for this processor."""
        self._host = host
        self._scheme = host.scheme
        if host.scheme.retracting:
            raise ValueError(f"{host.scheme.name} must ship every derivation")

    def select(
        self, relation: str, group: tuple[int, ...], best: Sequence[tuple[str, int]]
    ) -> None:
        """Send only those tuples of a relation that are best of what is sent from here."""
        self._selections[relation] = Outgoing(group, best)

    @property
    def lazy(self) -> bool:
        """Whether derivations wait until they are needed, however long."""
        return self.batch is None and self.every is None

    def push(self, target: str, update: Update) -> None:
        """Send the first derivation of a tuple, and keep others that it does not absorb."""
        _, relation, row, annotation = update
        if self._selections:
            selection = self._selections.get(relation)
            if selection is not None and not selection.push(
                self._scheme, target, relation, row, annotation
            ):
                return
        key = (target, relation, row)
        sent = self.sent.get(key)
        if sent is None:
            self.sent[key] = annotation
            self._post(target, update)
            return
        _, news = self._scheme.merge(relation, row, sent, annotation)
        if news is None:
            return
        held = self.held.get(key)
        if held is None:
            self.held[key] = [news]
        else:
            held.append(news)
        self._waiting += 1
        if self.lazy:
            return
        if isinstance(self._scheme, Absorption) and self._scheme.pressed():
            self._turn_lazy()
        elif self.batch is not None and self._waiting >= self.batch:
            self.release()
        elif self.every is not None and self._timer is None:
            self._timer = self._host.clock.call_at(self._host.clock.now() + self.every, self._tick)

    def release(self) -> None:
        """Send everything that waits."""
        held, self.held, self._waiting = self.held, {}, 0
        for key, several in held.items():
            annotation = self._merged(key, self.sent[key], several)
            if annotation is not None:
                self._send(key, annotation)

    def flush(self) -> None:
        """Give the transport what is to be sent, one message for each processor."""
        if self._out:
            out, self._out = self._out, {}
            for target, updates in out.items():
                self._host.send(target, updates)

    def kill(self, dead: frozenset[Hashable]) -> None:
        """Clear everything of variables that are false; send what waited for that."""
        restrict = self._scheme.restrict
        for target, updates in self._out.items():
            self._out[target] = [
                (sign, relation, row, left)
                for sign, relation, row, annotation in updates
                if (left := restrict(annotation, dead)) is not None
            ]
        self._out = {target: updates for target, updates in self._out.items() if updates}
        lost = []
        affected = self._scheme.affected
        for key in affected(self.sent.items(), dead):
            left = restrict(self.sent[key], dead)
            if left is None:
                lost.append(key)
                del self.sent[key]
            else:
                self.sent[key] = left
        pairs = ((key, one) for key, several in self.held.items() for one in several)
        for key in dict.fromkeys(affected(pairs, dead)):
            several = self.held[key]
            alive = [left for a in several if (left := restrict(a, dead)) is not None]
            self._waiting -= len(several) - len(alive)
            if alive:
                self.held[key] = alive
            else:
                del self.held[key]
        for key in lost:
            several = self.held.pop(key, [])
            self._waiting -= len(several)
            annotation = self._merged(key, None, several)
            if annotation is not None:
                self._send(key, annotation)
        for relation, selection in self._selections.items():
            for target, row, annotation in selection.kill(self._scheme, dead):
                self.push(target, (1, relation, row, annotation))

    def idle(self) -> bool:
        """Return whether no timer will send anything."""
        return self._timer is None

    def _merged(
        self, key: _Key, sent: Annotation | None, several: list[Annotation]
    ) -> Annotation | None:
        """Return the disjunction of those that are news after what was sent."""
        merge = self._scheme.merge
        total: Annotation | None = None
        for annotation in several:
            if sent is not None:
                _, news = merge(key[1], key[2], sent, annotation)
                if news is None:
                    continue
                annotation = news
            total, _ = merge(key[1], key[2], total, annotation)
        return total

    def _send(self, key: _Key, annotation: Annotation) -> None:
        target, relation, row = key
        self.sent[key], _ = self._scheme.merge(relation, row, self.sent.get(key), annotation)
        self._post(target, (1, relation, row, annotation))

    def _post(self, target: str, update: Update) -> None:
        if target == self._host.name:
            self._host.enqueue(update)
        else:
            self._out.setdefault(target, []).append(update)

    def _turn_lazy(self) -> None:
        """Send no more than is needed, as all derivations of each tuple are too much."""
        self.batch = self.every = None
        self.turned_lazy = self._host.clock.now()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._host.log.note(
            "provenance",
            self._host.name,
            "half of its nodes are used: derivations wait now",
        )

    def _tick(self) -> None:
        self._timer = None
        self.release()
        self._host.run()
