"""No provenance, and deletions by DRed: delete too much everywhere, then derive again.

Gupta et al. 1993, with counts (Hu et al. 2018): a processor counts the derivations of its tuples,
so that after over-deletion it knows by itself which of those that went still have a derivation from
what stayed. One processor leads. It lets all others get ready before any deletion is sent, and lets
them derive again once no update is on its way (Mattern 1987, the four-counter method).
"""

from __future__ import annotations

from typing import cast

from whence.network.model import Annotation, Control, Host, Row
from whence.network.provenance.counting import Counting

ASK, READY, BEGIN, POLL, COUNT, AGAIN, PREPARE = (
    f"dred-{kind}" for kind in ("ask", "ready", "begin", "poll", "count", "again", "prepare")
)


class OverDeletion(Counting):
    """The tuples of one processor that are kept back, and the phase it is in."""

    name = "dred"

    def __init__(self) -> None:
        self.deleting = False
        self.epochs = 0
        self._kept_back: dict[tuple[str, Row], int] = {}
        self._pending: list[tuple[str, Row]] = []
        self._asked = False
        self._host: Host
        self._leader = ""
        self._lead: _Lead | None = None

    def attach(self, host: Host) -> None:
        """Agree on a leader, which is the first by name."""
        self._host = host
        self._leader = min([host.name, *host.peers])
        if self._leader == host.name:
            self._lead = _Lead(host, self)

    def merge(
        self, relation: str, row: Row, old: Annotation | None, new: Annotation
    ) -> tuple[Annotation | None, Annotation | None]:
        """Count one more, also of a tuple that is kept back."""
        kept_back = self._kept_back.get((relation, row))
        if kept_back is not None:
            self._kept_back[relation, row] = kept_back + 1
            return None, None
        return super().merge(relation, row, old, new)

    def withdraw(
        self, relation: str, row: Row, old: Annotation | None, gone: Annotation
    ) -> Annotation | None:
        """Let a tuple go at its first loss, while deletions are on; until then remember it."""
        key = (relation, row)
        if not self.deleting:
            self._pending.append(key)
            if not self._asked:
                # The processor is in the middle of something, so the question has to wait.
                self._asked = True
                self._host.clock.call_at(self._host.clock.now(), self._ask)
            return old
        left = self._kept_back.get(key, 0) if old is None else old
        self._kept_back[key] = left - 1  # type: ignore[operator]
        return None

    def control(self, source: str, message: Control) -> None:
        """Do what the leader says, or lead."""
        match message.kind:
            case "dred-prepare":
                self.deleting = True
                self._asked = False
                self.tell(self._leader, READY, None)
            case "dred-begin":
                pending, self._pending = self._pending, []
                for relation, row in pending:
                    self._host.admit((-1, relation, row, None))
                self._host.run()
            case "dred-poll":
                counts = [message.body, self._host.updates_sent, self._host.updates_received]
                self.tell(self._leader, COUNT, counts)
            case "dred-again":
                self._derive_again()
            case _:
                if self._lead is not None:
                    self._lead.hear(source, message)

    def tell(self, target: str, kind: str, body: object) -> None:
        """Send a control message, if need be to oneself."""
        message = Control(kind, body)
        if target == self._host.name:
            self.control(target, message)
        else:
            self._host.send(target, message)

    def _ask(self) -> None:
        if self._pending:
            self.tell(self._leader, ASK, None)

    def _derive_again(self) -> None:
        self.deleting = False
        self.epochs += 1
        kept_back, self._kept_back = self._kept_back, {}
        for (relation, row), count in kept_back.items():
            for _ in range(count):
                self._host.admit((1, relation, row, None))
        self._host.run()


class _Lead:
    """What the leader knows: who has answered, and what the counters were before."""

    def __init__(self, host: Host, own: OverDeletion) -> None:
        self._host = host
        self._own = own
        self._busy = False
        self._wanted = False
        self._answers: dict[str, tuple[int, int]] = {}
        self._before: tuple[int, int] | None = None
        self._polls = 0

    def hear(self, source: str, message: Control) -> None:
        """Take an answer; when all have answered, go on."""
        if message.kind == ASK:
            self._wanted = True
            if not self._busy:
                self._start()
            return
        if message.kind == READY:
            self._answers[source] = (0, 0)
        elif message.kind == COUNT:
            turn, sent, received = cast("list[int]", message.body)
            if turn == self._polls:
                self._answers[source] = (sent, received)
        if len(self._answers) == 1 + len(self._host.peers):
            answers, self._answers = self._answers, {}
            if message.kind == READY:
                self._everyone(BEGIN, None)
                self._poll(None)
            else:
                self._counted(answers)

    def _start(self) -> None:
        self._busy, self._wanted = True, False
        self._answers = {}
        self._everyone(PREPARE, None)

    def _poll(self, before: tuple[int, int] | None) -> None:
        self._before = before
        self._polls += 1
        self._everyone(POLL, self._polls)

    def _counted(self, answers: dict[str, tuple[int, int]]) -> None:
        totals = (sum(s for s, _ in answers.values()), sum(r for _, r in answers.values()))
        if totals[0] != totals[1] or totals != self._before:
            self._poll(totals)
            return
        self._everyone(AGAIN, None)
        self._busy = False
        if self._wanted:
            self._start()

    def _everyone(self, kind: str, body: object) -> None:
        for peer in self._host.peers:
            self._host.send(peer, Control(kind, body))
        self._own.tell(self._host.name, kind, body)
