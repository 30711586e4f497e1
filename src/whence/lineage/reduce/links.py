"""Rows of a contracted graph as Arrow: links of a reduced graph, with the names of nodes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from whence.lineage.reduce import kernels as k
from whence.lineage.reduce.graph import Graph, attempts_of
from whence.lineage.reduced import REDUCED, group_space

Array = np.ndarray[Any, Any]

_FEW: Final = 1000


def links(
    graph: Graph, role: Array, names: Array | None, sources: Array, targets: Array
) -> pa.RecordBatch:
    """Return edges between outputs, groups and inputs as a batch of `REDUCED`.

    `names` says which node's name a node has if not its own.
    """
    source = sources if names is None else names[sources]
    target = targets if names is None else names[targets]
    from_group = (role[sources] == k.GROUP) | ((graph.flags[source] & k.SENT) > 0)
    to_group = (role[targets] == k.GROUP) | ((graph.flags[target] & k.SENT) > 0)
    if graph.inner:
        inner = np.zeros(len(graph.spaces), np.bool_)
        inner[graph.inner] = True
        stay = from_group | ~inner[graph.space_of(source)]
        stay &= to_group | ~inner[graph.space_of(target)]
        source, target = source[stay], target[stay]
        from_group, to_group = from_group[stay], to_group[stay]
    # The four kinds of link count both ends: PAIR, OUT, IN, NEST.
    kind = 2 * from_group.astype(np.uint8) + to_group.astype(np.uint8)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(kind),
            _spaces(graph, source, from_group),
            pa.array(graph.numbers[source]),
            _spaces(graph, target, to_group),
            pa.array(graph.numbers[target]),
        ],
        schema=REDUCED,
    )


def _spaces(graph: Graph, nodes: Array, group: Array) -> pa.DictionaryArray:
    codes: Array = graph.space_of(nodes).astype(np.int32)
    if len(graph.spaces) > _FEW:  # names without numbers are spaces of their own
        known, codes = np.unique(codes, return_inverse=True)
        codes = codes.astype(np.int32)
        texts = [graph.spaces[code] for code in known.tolist()]
    else:
        texts = list(graph.spaces)
    if group.any():
        keys, places = np.unique(graph.keys[nodes[group]], return_inverse=True)
        codes[group] = (len(texts) + places).astype(np.int32)
        attempts = attempts_of(keys).tolist()
        for key, attempt in zip(keys.tolist(), attempts, strict=True):
            space = graph.spaces[key & (k.ACTIVITY - 1)]
            entity = not key & k.ACTIVITY
            texts.append(group_space(space, 0 if entity else attempt, entity=entity))
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(texts, pa.utf8()))
