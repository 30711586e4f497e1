"""A process that adds runs to a repository until it is killed, and says each on its output."""

from __future__ import annotations

import os
import sys
from random import Random

from whence.lineage.reduced import Link, Name, reduced_of
from whence.lineage.repository.repository import Repository


def graph_of(number: int) -> list[tuple[Link, Name, Name]]:
    """Return the edges of the run with this number: a function of it, so anybody can judge."""
    random = Random(number)
    rows: list[tuple[Link, Name, Name]] = []
    for _ in range(random.randint(0, 8)):
        node = ("t", random.randint(0, 9))
        rows.append((Link.PAIR, (f"t{number % 3}", random.randint(0, 9)), node))
        rows.append((Link.OUT, ("u", random.randint(0, 9)), ("group/f", 0)))
        rows.append((Link.IN, ("group/f", 0), node))
    return rows


def main(folder: str) -> None:
    repository = Repository(folder)
    os.write(1, b"%d\n" % len(repository.runs))
    while True:
        number = len(repository.runs) + 1
        repository.add(reduced_of(graph_of(number)), workflow="w", job="j", run=str(number))
        os.write(1, b"%d\n" % number)


if __name__ == "__main__":
    main(sys.argv[1])
