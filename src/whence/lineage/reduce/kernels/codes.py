"""Numbers that kernels and their callers share: kinds of edges, counters, flags, roles."""

from __future__ import annotations

from typing import Final

USED: Final = 0
GENERATED: Final = 1
MEMBER: Final = 3
END: Final = 4

# Where kernels count, in an array that they and their callers share.
ROWS: Final = 0
NODES: Final = 1
EDGES: Final = 2
SELVES: Final = 3
LATE: Final = 4
LAST_SELF: Final = 5
POSITION: Final = 0
EMITTED: Final = 1

# Flags of nodes.
ENDED: Final = 1
WAS_USED: Final = 2
HAS_SOURCE: Final = 4
SENT: Final = 8

# What a node is in a contraction.
INNER: Final = 0
TERMINAL: Final = 1
ROOT: Final = 2
KEPT: Final = 3
GROUP: Final = 4
LIST: Final = 5

# A key has a space, a bit for activities and an attempt: 31, 1 and 32 bits.
SPACE_BITS: Final = 31
ACTIVITY: Final = 1 << SPACE_BITS
