"""A process that writes to a store until it is killed, and says each commit on its output.

The n-th batch is a function of n, and a snapshot says n, so anybody can judge what is there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whence.store import Recovered, Store
from whence.store.files import Files


class Quick(Files):
    """No waiting for the device, for those whom only processes concern."""

    def sync(self, handle: int) -> None:
        pass

    def sync_folder(self, path: Path) -> None:
        pass


def body(number: int) -> bytes:
    """Return what the batch with this number holds."""
    return f"{number}:".encode() * (number * 7919 % 61)


def state(commit: int) -> bytes:
    """Return what the snapshot of this commit holds."""
    return f"state {commit}".encode() * 40


def judge(recovered: Recovered, before: int = 0) -> int:
    """Return the commit of what was recovered, all of which is as it should be."""
    if recovered.afresh:
        before = recovered.snapshot_commit
        assert recovered.snapshot == (state(before) if before else None)
    for number, found in recovered.batches:
        assert number == before + 1
        assert found == body(number)
        before = number
    return before


@contextmanager
def started(
    folder: Path, commits: int, every: int, *options: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that commits so many batches, with a checkpoint now and then."""
    command = [sys.executable, __file__, str(folder), str(commits), str(every), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        try:
            yield child
        finally:
            child.kill()  # it must not outlive a test that fails


def main(folder: str, commits: str, every: str, *options: str) -> None:
    files = Quick() if "quick" in options else Files()
    with Store.open(folder, sync="unsynced" not in options, files=files) as store:
        judge(store.recovered)
        os.write(1, b"%d\n" % store.commit)
        for _ in range(int(commits)):
            number = store.append(body(store.commit + 1))
            os.write(1, b"%d\n" % number)
            if number % int(every) == 0:
                store.checkpoint(state(number))


if __name__ == "__main__":
    main(*sys.argv[1:])
