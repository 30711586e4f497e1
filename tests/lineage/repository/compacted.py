"""A process that adds runs to a repository and compacts it until it is killed, and says each run."""

from __future__ import annotations

import os
import sys

from lineage.repository.killed import graph_of
from whence.lineage.reduced import reduced_of
from whence.lineage.repository.repository import Repository


def names(repository: Repository) -> list[str]:
    """Return the names of all runs, compacted or not."""
    return [name for run in repository.runs for name in run.compacted or (run.run,)]


def main(folder: str) -> None:
    repository = Repository(folder)
    os.write(1, b"%d\n" % len(names(repository)))
    while True:
        number = len(names(repository)) + 1
        repository.add(reduced_of(graph_of(number)), workflow="w", job="j", run=str(number))
        os.write(1, b"%d\n" % number)
        if number % 2:
            repository.compact()


if __name__ == "__main__":
    main(sys.argv[1])
