"""`python -m experiments lineage|network`: the figures of the papers, drawn again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from experiments.lineage import command as lineage
from experiments.network import command as network

COMMANDS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "lineage": lineage.main,
    "network": network.main,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 when everything ran and all answers are right."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] and words[0] in COMMANDS:
        return COMMANDS[words[0]](words[1:])
    print(__doc__, file=sys.stdout if words[:1] in (["-h"], ["--help"]) else sys.stderr)
    return 0 if words[:1] in (["-h"], ["--help"]) else 2


if __name__ == "__main__":
    sys.exit(main())
