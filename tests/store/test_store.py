"""A store gives back what was put in, in order, across reopening, checkpoints and failures."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interrupts import interrupted
from store.disk import Recording, Sync, SyncFolder, Unsynced, Write
from store.life import looked_at, pack, read, reopened
from whence.diagnostics import DataError, UsageError, WhenceError
from whence.store import Store, check
from whence.store.files import Bytes, Files

STEPS = st.lists(
    st.one_of(st.binary(max_size=300), st.sampled_from(["checkpoint", "reopen", "forget"])),
    max_size=25,
)


@given(STEPS)
def test_what_is_read_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, steps: list[bytes | str]
) -> None:
    folder = tmp_path_factory.mktemp("model") / "db"
    history: list[bytes] = []
    store = Store.open(folder, files=Unsynced())
    for step in steps:
        if isinstance(step, bytes):
            history.append(step)
            assert store.append(step) == len(history)
        elif step == "checkpoint":
            store.checkpoint(pack(history))
        else:
            if step == "reopen":
                store.close()
            del store
            store = Store.open(folder, files=Unsynced())
            assert read(store.recovered) == history
            assert read(store.recovered) == history, "batches can be read again"
        assert store.commit == len(history)
        assert looked_at(folder) == history
    store.close()
    assert reopened(folder) == history


@pytest.mark.parametrize("size", [0, 1, 1 << 18, (1 << 18) - 40, 3_000_000])
def test_a_batch_and_a_snapshot_may_have_any_size(size: int, tmp_path: Path) -> None:
    body = os.urandom(size)
    with Store.open(tmp_path / "db") as store:
        store.append(body)
        store.append(memoryview(body))
        store.append(bytearray(b"end"))
    with Store.open(tmp_path / "db") as store:
        assert [found for _, found in store.recovered.batches] == [body, body, b"end"]
        store.checkpoint(body)
    with Store.open(tmp_path / "db") as store:
        assert store.recovered.snapshot == body
        assert store.recovered.snapshot_commit == 3
        assert list(store.recovered.batches) == []


def test_a_checkpoint_leaves_one_snapshot_and_one_segment(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a" / "b" / "db") as store:
        for number in range(1, 6):
            store.append(b"x" * 100)
            store.checkpoint(b"state")
            store.checkpoint(b"the same commit again")
            assert sorted(path.name for path in store.path.iterdir()) == [
                "lock",
                f"log-{number + 1:012d}.wal",
                "mark",
                f"snapshot-{number:012d}.snap",
            ]
            assert store.log_size == 0
            assert store.snapshot_commit == number
        store.append(b"y")
        assert store.log_size > 0
    assert check(store.path).commit == 6


def test_an_append_is_synced_before_the_mark_says_so(tmp_path: Path) -> None:
    files = Recording(tmp_path / "db")
    with Store.open(tmp_path / "db", files=files) as store:
        before = len(files.notes)
        store.append(b"body")
        notes = [type(note) for note in files.notes[before:]]
    assert notes == [Write, Sync, Write]


def test_without_sync_an_append_waits_for_nothing(tmp_path: Path) -> None:
    files = Recording(tmp_path / "db")
    with Store.open(tmp_path / "db", sync=False, files=files) as store:
        before = len(files.notes)
        store.append(b"body")
        assert not {Sync, SyncFolder} & {type(note) for note in files.notes[before:]}


def test_the_folder_of_a_second_writer_is_refused_and_the_first_one_named(tmp_path: Path) -> None:
    with Store.open(tmp_path / "db") as store:
        store.append(b"one")
        with pytest.raises(UsageError, match=rf"W0662.*process {os.getpid()}\b"):
            Store.open(tmp_path / "db")
        code = "import sys; from whence.store import Store; Store.open(sys.argv[1])"
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "db")], capture_output=True, text=True
        )
        assert f"is open for writing in process {os.getpid()}" in done.stderr
        store.append(b"two")
    assert reopened(tmp_path / "db") == [b"one", b"two"]


def test_a_store_that_was_opened_before_a_fork_is_not_written_in_the_child(tmp_path: Path) -> None:
    with Store.open(tmp_path / "db") as store:
        store._pid -= 1  # as it is in a forked child
        with pytest.raises(UsageError, match=r"W0670.*fork"):
            store.append(b"one")
        with pytest.raises(UsageError, match="W0670"):
            store.checkpoint(b"")
        store.close()
        store._pid += 1
        assert store.append(b"one") == 1


def test_a_closed_store_takes_nothing(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "db")
    store.close()
    store.close()
    for act in (store.append, store.checkpoint):
        with pytest.raises(UsageError, match=r"W0670.*closed"):
            act(b"")


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hello")
    with pytest.raises(UsageError, match=r"W0660.*it is a file"):
        Store.open(tmp_path / "file")
    with pytest.raises(WhenceError, match=r"W0661.*not a directory"):
        Store.open(tmp_path / "file" / "below")


def test_a_folder_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(UsageError, match=r"W0660.*`notes.txt`"):
        Store.open(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_folder_without_permission_is_refused(tmp_path: Path) -> None:
    Store.open(tmp_path / "db").close()
    os.chmod(tmp_path / "db" / "lock", 0o600)
    tmp_path.chmod(0o755)
    (tmp_path / "closed").mkdir(mode=0o500)
    code = """
import os, sys
from whence.diagnostics import DataError
from whence.store import Store
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
for path in sys.argv[1:]:
    try:
        Store.open(path)
    except DataError as error:
        print(error.diagnostics[0].code, error.diagnostics[0].message)
"""
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == os.geteuid() and path != Path("/"):
            os.chmod(path, path.stat().st_mode | 0o055)
    if os.geteuid() != 0:
        os.chmod(tmp_path / "db" / "lock", 0o000)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "db"), str(tmp_path / "closed" / "new")],
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert done.stdout.count("W0661") == 2, done.stderr
    assert done.stdout.count("permission denied") == 2


class Failing(Unsynced):
    """A device on which a kind of call fails from some moment on."""

    def __init__(self) -> None:
        self.failing: dict[str, int] = {}

    def _maybe(self, what: str) -> None:
        if what in self.failing:
            code = self.failing[what]
            raise OSError(code, os.strerror(code))

    def write(self, handle: int, parts: tuple[Bytes, ...], offset: int) -> None:  # type: ignore[override]
        if "write" in self.failing:
            super().write(handle, (b"".join(parts)[:-1],), offset)  # all but one byte
        self._maybe("write")
        super().write(handle, parts, offset)

    def sync(self, handle: int) -> None:
        self._maybe("sync")

    def truncate(self, handle: int, size: int) -> None:
        self._maybe("truncate")
        super().truncate(handle, size)

    def rename(self, source: Path, target: Path) -> None:
        self._maybe(f"rename {target.name[:3]}")
        super().rename(source, target)

    def sync_folder(self, path: Path) -> None:
        self._maybe("folder")


def test_a_full_disk_fails_the_append_and_nothing_else(tmp_path: Path) -> None:
    files = Failing()
    with Store.open(tmp_path / "db", files=files) as store:
        store.append(b"one")
        for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            files.failing = {"write": code}
            with pytest.raises(DataError, match=r"W0668[^\0]*nothing of it is kept"):
                store.append(b"two, which is longer than what comes after it")
            assert store.commit == 1
            with pytest.raises(DataError, match="W0668"):
                store.checkpoint(b"state")
            files.failing = {}
            assert looked_at(store.path) == [b"one"]
        assert store.append(b"2") == 2
        store.checkpoint(pack([b"one", b"2"]))
        store.append(b"3")
    assert reopened(tmp_path / "db") == [b"one", b"2", b"3"]


def test_a_write_that_cannot_be_undone_ends_writing(tmp_path: Path) -> None:
    files = Failing()
    store = Store.open(tmp_path / "db", files=files)
    store.append(b"one")
    files.failing = {"write": errno.ENOSPC, "truncate": errno.EIO}
    with pytest.raises(DataError, match=r"W0668[^\0]*it may be there"):
        store.append(b"two")
    files.failing = {}
    for act in (store.append, store.checkpoint):
        with pytest.raises(DataError, match="W0669"):
            act(b"three")
    store.close()
    assert reopened(tmp_path / "db") == [b"one"]


def test_a_device_that_fails_to_sync_ends_writing(tmp_path: Path) -> None:
    files = Failing()
    store = Store.open(tmp_path / "db", files=files)
    store.append(b"one")
    files.failing = {"sync": errno.EIO}
    with pytest.raises(DataError, match="W0668"):
        store.append(b"two")
    files.failing = {}
    with pytest.raises(DataError, match="W0669"):
        store.append(b"two")
    store.close()
    assert reopened(tmp_path / "db") in ([b"one"], [b"one", b"two"])


def test_a_device_that_fails_once_ends_writing_even_when_the_batch_is_taken_back(
    tmp_path: Path,
) -> None:
    files = Recording(tmp_path / "db")
    store = Store.open(tmp_path / "db", files=files)
    store.append(b"one")
    files.fail_sync = errno.EIO
    with pytest.raises(DataError, match=r"W0668[^\0]*nothing of it is kept"):
        store.append(b"two")
    with pytest.raises(DataError, match=r"W0669.*input/output error"):
        store.append(b"two")
    store.close()
    assert reopened(tmp_path / "db") == [b"one"]


def test_closing_on_a_failing_device_says_so_and_lets_go(tmp_path: Path) -> None:
    files = Failing()
    store = Store.open(tmp_path / "db", files=files)
    store.append(b"one")
    files.failing = {"sync": errno.EIO}
    with pytest.raises(DataError, match=r"W0661.*input/output error"):
        store.close()
    assert reopened(tmp_path / "db") == [b"one"]


@pytest.mark.parametrize("where", ["rename sna", "rename log", "folder", "sync"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_checkpoint_that_fails_on_its_way_loses_nothing(
    code: int, where: str, tmp_path: Path
) -> None:
    files = Failing()
    store = Store.open(tmp_path / "db", files=files)
    store.append(b"one")
    files.failing = {where: code}
    with pytest.raises(DataError, match="W0668"):
        store.checkpoint(pack([b"one"]))
    files.failing = {}
    history = [b"one"]
    if code == errno.EIO or where == "folder":  # whether the new segment is durable is not known
        with pytest.raises(DataError, match="W0669"):
            store.append(b"two")
    else:
        store.append(b"two")
        history.append(b"two")
    store.close()
    assert reopened(tmp_path / "db") == history
    assert not list((tmp_path / "db").glob("*.tmp"))


class Interrupted(Unsynced):
    """A user who presses Ctrl-C while the n-th call is on its way, before or after its effect."""

    def __init__(self) -> None:
        self.calls = -1
        self.late = False

    def write(self, handle: int, parts: tuple[Bytes, ...], offset: int) -> None:  # type: ignore[override]
        self._come(False)
        super().write(handle, parts, offset)
        self._come(True)

    def sync(self, handle: int) -> None:
        self._come(False)
        self._come(True)

    def _come(self, after: bool) -> None:
        if self.late == after and self.calls >= 0:
            self.calls -= 1
            if self.calls == -1:
                raise KeyboardInterrupt


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("calls", range(4))
def test_an_interrupt_leaves_a_batch_in_or_out(calls: int, late: bool, tmp_path: Path) -> None:
    files = Interrupted()
    with Store.open(tmp_path / "db", files=files) as store:
        history = [b"one"]
        store.append(b"one")
        files.calls, files.late = calls, late
        try:
            store.append(b"a long batch that is interrupted")
        except KeyboardInterrupt:
            pass
        else:
            assert calls == 3
        files.calls = -1
        if store.commit == 2:
            history.append(b"a long batch that is interrupted")
        assert store.append(b"next") == len(history) + 1
        history.append(b"next")
    assert reopened(tmp_path / "db") == history


def test_an_interrupt_at_any_line_leaves_a_batch_in_or_out(tmp_path: Path) -> None:
    for line in itertools.count(1):
        folder = tmp_path / f"db{line}"
        with Store.open(folder, files=Unsynced()) as store:
            history = [b"one"]
            store.append(b"one")
            store._lock = threading.RLock()  # tracing interrupts even between a block and its end
            parts = ("store", "log", "mark")
            with interrupted(line, *(f"whence.store.{part}" for part in parts)) as lines:
                store.append(b"a long batch that is interrupted")
            if store.commit == 2:
                history.append(b"a long batch that is interrupted")
            assert store.append(b"next") == len(history) + 1
            history.append(b"next")
        assert reopened(folder) == history, f"line {line}"
        if not lines.came:
            break
    assert line > 20


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("calls", range(9))
def test_an_interrupted_checkpoint_loses_nothing(calls: int, late: bool, tmp_path: Path) -> None:
    files = Interrupted()
    with Store.open(tmp_path / "db", files=files) as store:
        store.append(b"one")
        files.calls, files.late = calls, late
        try:
            store.checkpoint(pack([b"one"]))
        except KeyboardInterrupt:
            assert calls < 7
        else:
            assert calls >= 7
        files.calls = -1
        assert store.append(b"two") == 2
        store.checkpoint(pack([b"one", b"two"]))
        store.append(b"three")
    assert reopened(tmp_path / "db") == [b"one", b"two", b"three"]


def test_opening_that_fails_at_the_end_lets_go_of_everything_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store.open(tmp_path / "db").close()
    closed: list[int] = []

    class Counting(Failing):
        def close(self, handle: int) -> None:
            closed.append(handle)
            super().close(handle)

        def names(self, folder: Path) -> list[str]:
            self.looks = getattr(self, "looks", 0) + 1
            if self.looks == 4:  # the look for what can be removed is the last
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return super().names(folder)

    with pytest.raises(DataError, match="W0661"):
        Store.open(tmp_path / "db", files=Counting())
    before = len(closed)
    import gc

    gc.collect()
    assert len(closed) == before
    Store.open(tmp_path / "db").close()


def test_a_forgotten_store_lets_go_of_its_lock(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "db")
    store.append(b"one")
    del store
    assert reopened(tmp_path / "db") == [b"one"]


def test_threads_append_one_after_the_other(tmp_path: Path) -> None:
    with Store.open(tmp_path / "db", files=Unsynced()) as store:
        numbers: list[int] = []
        threads = [
            threading.Thread(target=lambda: numbers.extend(store.append(b"x") for _ in range(50)))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(numbers) == list(range(1, 201))
    assert len(reopened(tmp_path / "db")) == 200


def test_a_real_limit_on_the_size_of_files_is_survived(tmp_path: Path) -> None:
    code = """
import resource, signal, sys
from whence.diagnostics import DataError
from whence.store import Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
done = 0
with Store.open(sys.argv[1]) as store:
    for _ in range(100):
        try:
            done = store.append(b"x" * 999)
        except DataError as error:
            failed = error
    assert failed.diagnostics[0].code == "W0668", failed
    done = store.append(b"y")
    store.checkpoint(b"state")
    done = store.append(b"z" * 999)
print(done)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "db")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with Store.open(tmp_path / "db") as store:
        assert store.commit == int(done.stdout)
        assert store.recovered.snapshot == b"state"
        assert list(store.recovered.batches) == [(store.commit, b"z" * 999)]


def test_a_device_that_is_really_full_is_survived(tmp_path: Path) -> None:
    device = tmp_path / "device"
    device.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(device)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small device can be mounted by the superuser only")
    try:
        (device / "filler").write_bytes(bytes(20_000))
        with Store.open(device / "db") as store:
            with pytest.raises(DataError, match=r"W0668.*no space left"):
                for _ in range(300):
                    store.append(b"x" * 1000)
            count = store.commit
            assert count > 10
            with pytest.raises(DataError, match=r"W0668.*no space left"):
                store.append(b"x" * 8000)
            for size in (0, 60_000):
                with pytest.raises(DataError, match=r"W0668.*no space left"):
                    store.checkpoint(b"s" * size)
            assert check(store.path).commit == count
        with Store.open(device / "db") as store:
            assert [body for _, body in store.recovered.batches] == [b"x" * 1000] * count
            (device / "filler").unlink()
            store.checkpoint(b"small")
            assert store.append(b"x" * 1000) == count + 1
    finally:
        subprocess.run(["umount", str(device)], check=True)


def test_a_short_write_is_carried_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.pwrite
    monkeypatch.setattr(os, "pwritev", lambda handle, parts, at: write(handle, parts[0][:3], at))
    monkeypatch.setattr(os, "pwrite", lambda handle, data, at: write(handle, data[:1000], at))
    with Store.open(tmp_path / "db", files=Unsynced()) as store:
        store.append(b"x" * 5000)
    assert reopened(tmp_path / "db", Unsynced()) == [b"x" * 5000]


def test_a_write_that_takes_nothing_is_a_full_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(tmp_path / "db") as store:
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwritev", lambda handle, parts, at: 0)
            patch.setattr(os, "pwrite", lambda handle, data, at: 0)
            with pytest.raises(DataError, match=r"W0668.*no space left"):
                store.append(b"one")
        assert store.append(b"one") == 1


def test_a_termination_signal_between_calls_leaves_the_store_as_a_kill_would(
    tmp_path: Path,
) -> None:
    code = """
import os, signal, sys
from whence.store import Store
store = Store.open(sys.argv[1])
store.append(b"one")
os.kill(os.getpid(), signal.SIGTERM)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "db")])
    assert done.returncode == -signal.SIGTERM
    assert reopened(tmp_path / "db", Files()) == [b"one"]
