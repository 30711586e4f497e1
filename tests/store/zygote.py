"""A process that forks writers of a database on demand, so that each starts in no time.

For each line with the path of a folder it forks one, which says its process number, then each
commit. The facts after n commits are a function of n, and the note of each commit is n.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import whence
from whence import durable
from whence.database import Database

PROGRAM = """
.decl link(x: number, y: number)
.decl path(x: number, y: number)
.decl name(x: number, text: symbol, weight: float)
path(x, y) :- link(x, y).
path(x, z) :- path(x, y), link(y, z).
"""
LENGTH = 5


def links(commit: int) -> list[tuple[int, int]]:
    """Return the links after so many commits: the last few of a chain."""
    return [(n, n + 1) for n in range(max(1, commit - LENGTH + 1), commit + 1)]


def step(db: Database, commit: int) -> None:
    """Make the commit with this number."""
    with db.transaction(note=commit) as t:
        t.insert("link", [(commit, commit + 1)])
        if commit > LENGTH:
            t.delete("link", [(commit - LENGTH, commit - LENGTH + 1)])
        t.replace("name", [(0, f"commit {commit}", commit / 7)], key="x")


def judge(db: Database) -> int:
    """Return the commit that the database is at, with everything as it should be."""
    commit = db.note or 0
    assert isinstance(commit, int)
    if "link" in db:
        there = links(commit)
        assert db["link"].rows() == there
        assert db["path"].rows() == sorted((x, y) for x, _ in there for _, y in there if x < y)
        name = [(0, f"commit {commit}", commit / 7)] if commit else []
        assert db["name"].rows() == name
    return commit


def start() -> subprocess.Popen[bytes]:
    """Start the process; it ends with its input."""
    return subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def write(folder: Path, floor: int) -> None:
    durable.FLOOR = floor  # type: ignore[misc]
    db = whence.Database(folder, threads=1)
    if "link" not in db:
        db.load(PROGRAM)
    commit = db.note or 0
    assert isinstance(commit, int)
    while True:
        commit += 1
        step(db, commit)
        os.write(1, b"%d\n" % commit)


def main() -> None:
    warm = Database(threads=1)  # what every child would load and compile
    warm.load(PROGRAM)
    for commit in range(1, 2 * LENGTH):
        step(warm, commit)
    for line in sys.stdin:
        folder, floor = line.rstrip("\n").split("\t")
        child = os.fork()
        if not child:
            os.write(1, b"pid %d\n" % os.getpid())
            write(Path(folder), int(floor))
        os.waitpid(child, 0)
        os.write(1, b"dead\n")


if __name__ == "__main__":
    main()
