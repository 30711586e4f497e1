"""MinShip: what goes at once, what waits, and when it goes after all."""

from __future__ import annotations

from typing import Any, cast

from whence.network.clock import SimulatedClock
from whence.network.introspect import Log
from whence.network.model import Annotation, Host, Message, Row, Update
from whence.network.provenance.absorption import Absorption
from whence.network.provenance.minship import MinShip


class Processor:
    """As much of a node as a shipper needs."""

    name = "here"
    peers = ("there",)

    def __init__(self, shipper: MinShip, **options: int) -> None:
        self.clock = SimulatedClock()
        self.log = Log(self.clock, 10)
        self.scheme = Absorption(**options)
        self.sent: list[Update] = []
        self.kept: list[Update] = []
        self.shipper = shipper
        self.scheme.attach(cast("Host", self))
        shipper.attach(cast("Host", self))

    def send(self, target: str, message: Message) -> None:
        self.sent += cast("list[Update]", message)

    def enqueue(self, update: Update) -> None:
        self.kept.append(update)

    def run(self) -> None:
        self.shipper.flush()

    def base(self) -> Any:
        return self.scheme.base("b", ())

    def push(self, row: Row, annotation: Annotation, target: str = "there") -> None:
        self.shipper.push(target, (1, "r", row, annotation))
        self.shipper.flush()

    def kill(self, annotation: Annotation) -> None:
        self.shipper.kill(self.scheme.kill([self.scheme.variable(annotation)]))
        self.shipper.flush()
        self.scheme.settle()

    def shipped(self) -> list[tuple[Row, Annotation]]:
        """Return what was sent since somebody asked."""
        sent, self.sent = self.sent, []
        return [(row, annotation) for _, _, row, annotation in sent]


def test_the_first_derivation_goes_and_others_wait_until_it_is_lost() -> None:
    here = Processor(MinShip())
    p, q, r = here.base(), here.base(), here.base()
    for annotation in (p, q, q | r):  # the last is absorbed when it is time
        here.push((1,), annotation)
    assert here.shipped() == [((1,), p)]
    here.kill(p)
    assert here.shipped() == [((1,), q)]
    here.kill(q)
    assert here.shipped() == []


def test_what_was_never_sent_is_not_sent_when_it_is_lost_and_what_comes_again_is() -> None:
    here = Processor(MinShip())
    p = here.base()
    here.push((1,), p)
    here.kill(p)
    assert here.shipped() == [((1,), p)]
    again = here.base()
    here.push((1,), again)
    assert here.shipped() == [((1,), again)]


def test_part_of_what_was_sent_is_enough() -> None:
    here = Processor(MinShip())
    p, q, r = here.base(), here.base(), here.base()
    here.push((1,), (p, q))
    here.push((1,), r)
    here.kill(p)
    assert here.shipped() == [((1,), (p, q))]
    here.kill(q)
    assert here.shipped() == [((1,), r)]


def test_a_batch_goes_when_it_is_full_each_tuple_once() -> None:
    here = Processor(MinShip(batch=3))
    bases = [here.base() for _ in range(4)]
    for annotation in bases:
        here.push((1,), annotation)
    assert here.shipped() == [((1,), bases[0]), ((1,), tuple(bases[1:]))]


def test_a_timer_sends_what_waits_and_is_set_only_then() -> None:
    here = Processor(MinShip(every=2.0))
    p, q = here.base(), here.base()
    here.push((1,), p)
    assert here.shipper.idle()
    here.push((1,), q)
    assert not here.shipper.idle()
    here.clock.run_until(1.9)
    assert here.shipped() == [((1,), p)]
    here.clock.run_until(2.1)
    assert here.shipped() == [((1,), q)]
    assert here.shipper.idle()


def test_tuples_of_the_processor_itself_are_kept_back_too() -> None:
    here = Processor(MinShip())
    p, q = here.base(), here.base()
    here.push((1,), p, "here")
    here.push((1,), q, "here")
    assert here.kept == [(1, "r", (1,), p)]
    here.kill(p)
    assert here.kept[1:] == [(1, "r", (1,), q)]


def test_of_what_is_sent_from_one_place_only_the_best_goes() -> None:
    here = Processor(MinShip())
    here.shipper.select("r", (0,), [("min", 1), ("max", 2)])
    bases = [here.base() for _ in range(4)]
    rows: list[Row] = [("g", 3, 1), ("g", 5, 1), ("g", 5, 7), ("g", 4, 0)]
    for row, annotation in zip(rows, bases, strict=True):
        here.push(row, annotation)
    # The second is as good as the first for the other aggregate; the last is best for none.
    assert here.shipped() == [(rows[0], bases[0]), (rows[1], bases[1]), (rows[2], bases[2])]
    here.kill(bases[0])
    assert here.shipped() == [(rows[3], bases[3])]
    here.kill(bases[3])
    assert here.shipped() == []


def test_eager_shipping_is_given_up_when_provenance_grows_too_large() -> None:
    here = Processor(MinShip(batch=1), limit=1, budget=100)
    bases = [here.base() for _ in range(60)]
    here.push((1,), bases[0])
    for one, other in zip(bases[1:30], reversed(bases[30:]), strict=False):
        here.push((1,), one | other)
        if here.shipper.turned_lazy is not None:
            break
    assert here.shipper.lazy
    assert [entry.what for entry in here.log.entries] == ["provenance"]
    here.shipped()
    here.push((1,), bases[-1])
    assert here.shipped() == []
    here.kill(bases[0])
    here.push((2,), bases[-1])
    assert here.shipped()[-1] == ((2,), bases[-1])
