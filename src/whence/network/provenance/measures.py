"""What a view costs, measured alike for every scheme, in bytes of the real encoding.

Liu et al. (2008), section 7.1: provenance per tuple, and the state of operators. Traffic is counted
by transports, and time by whoever waits.
"""

from __future__ import annotations

from dataclasses import dataclass

from whence.network.model import Row, Scheme
from whence.network.node import Node
from whence.network.provenance.minship import MinShip
from whence.network.simulation import Network
from whence.network.transport.wire import WireCodec


@dataclass(frozen=True, slots=True)
class Measures:
    """What processors hold, all together."""

    tuples: int
    """Of the view."""
    provenance_bytes: int
    """Of the annotations of the view's tuples."""
    state_bytes: int
    """Of the rows and annotations of all tables, and of what shippers remember."""

    @property
    def provenance_per_tuple(self) -> float:
        """Bytes of provenance for each tuple of the view."""
        return self.provenance_bytes / self.tuples if self.tuples else 0.0


def measured(network: Network, view: str) -> Measures:
    """Measure a network that keeps a view."""
    tuples = provenance = state = 0
    codec = WireCodec()
    for node in network:
        noted = node.scheme.annotated
        for name, relation in node.relations.items():
            rows = relation.table.rows
            for row, annotation in rows.items():
                size = node.scheme.size(annotation) if noted and annotation is not None else 0
                state += size + _row_bytes(codec, name, row)
                if name == view:
                    tuples += 1
                    provenance += size
        state += _shipper_bytes(codec, node, node.scheme)
    return Measures(tuples, provenance, state)


def _row_bytes(codec: WireCodec, relation: str, row: Row) -> int:
    return len(codec.encode([(1, relation, row, None)]))


def _shipper_bytes(codec: WireCodec, node: Node, scheme: Scheme) -> int:
    shipper = node.shipper
    if not isinstance(shipper, MinShip):
        return 0
    total = 0
    for (_, relation, row), annotation in shipper.sent.items():
        total += _row_bytes(codec, relation, row) + scheme.size(annotation)
    for (_, relation, row), several in shipper.held.items():
        total += _row_bytes(codec, relation, row) + sum(map(scheme.size, several))
    return total
