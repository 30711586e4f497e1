"""Sources of updates: whole lines, their places, and what happens to files meanwhile."""

from __future__ import annotations

import io
import os
import signal
import time
from pathlib import Path

import pytest

from whence.app.cli.live import LiveDisplay
from whence.app.sources import Chunk, Directory, GrowingFile, Lines, Place, Stream
from whence.app.watch import Progress, Stopped, stopping
from whence.diagnostics import DataError, Diagnostic, UsageError
from whence.view.base import Change, Changes
from whence.view.updates import MAX_LINE


def lines(chunk: Chunk | None) -> list[bytes]:
    assert chunk is not None
    return chunk.lines


def test_lines_are_whole_and_places_count_bytes_and_lines() -> None:
    cut = Lines(Place())
    assert lines(cut.cut(b"a\nbc\r\nd\re", "x")) == [b"a\n", b"bc\r\n"]
    assert (cut.place.offset, cut.place.line, cut.place.length) == (6, 2, 4)
    assert lines(cut.cut(b"f", "x")) == []
    assert lines(cut.cut(b"\n", "x")) == [b"d\ref\n"]
    assert lines(cut.cut(b"end", "x", last=True)) == [b"end"]
    assert (cut.place.offset, cut.place.line) == (14, 4)


def test_of_a_line_without_end_only_the_beginning_is_kept() -> None:
    cut = Lines(Place())
    (begun,) = lines(cut.cut(b"x" * (MAX_LINE + 5), "x"))
    assert len(begun) > MAX_LINE
    assert lines(cut.cut(b"y" * 10, "x")) == []
    assert lines(cut.cut(b"z\n+good\n", "x")) == [b"+good\n"]
    assert cut.place.offset == MAX_LINE + 5 + 10 + 2 + 6


def test_a_pipe_ends_with_its_writer() -> None:
    reading, writing = os.pipe()
    stream = Stream(reading, "<pipe>")
    assert lines(stream.read(0.0)) == []
    os.write(writing, b"a\nb")
    assert lines(stream.read(None)) == [b"a\n"]
    os.close(writing)
    assert lines(stream.read(None)) == [b"b"]
    assert stream.read(None) is None
    os.close(reading)


def test_a_file_goes_on_after_a_place_it_knows(tmp_path: Path) -> None:
    path = tmp_path / "u"
    path.write_bytes(b"one\ntwo\nthree")
    file = GrowingFile(path)
    first = file.read(None)
    assert first is not None
    assert lines(first) == [b"one\n", b"two\n"]
    last = file.read(None)
    assert last is not None
    assert (last.lines, last.ends) == ([b"three"], True)
    assert file.read(None) is None
    file.close()
    again = GrowingFile(path, start=Place(**first.after(1).as_json()))  # type: ignore[arg-type]
    assert lines(again.read(None)) == [b"two\n"]
    again.close()
    with pytest.raises(UsageError, match="W0814"):
        GrowingFile(path, start=Place("", 4, 1, 4, 17))


def test_a_followed_file_may_grow_be_cut_short_and_be_replaced(tmp_path: Path) -> None:
    path, told = tmp_path / "u", list[Diagnostic]()
    path.write_bytes(b"one\n")
    file = GrowingFile(path, follow=True, warn=told.append)
    assert lines(file.read(0.0)) == [b"one\n"]
    assert lines(file.read(0.0)) == []
    with path.open("ab") as out:
        out.write(b"two\npart")
    assert lines(file.read(1.0)) == [b"two\n"]
    path.write_bytes(b"new\n")
    assert lines(file.read(1.0)) == []  # what was cut off is gone
    assert lines(file.read(1.0)) == [b"new\n"]
    path.rename(tmp_path / "old")
    assert lines(file.read(0.1)) == []  # nothing there yet
    with (tmp_path / "old").open("ab") as out:
        out.write(b"late")
    path.write_bytes(b"next\n")
    ended = file.read(1.0)
    while ended is not None and not ended.ends:
        ended = file.read(1.0)
    assert lines(ended) == [b"late"]
    assert lines(file.read(1.0)) == [b"next\n"]
    assert [d.message.split("` ")[1] for d in told] == [
        "was cut short and is read from its beginning",
        "was replaced and is read from its beginning",
    ]
    file.close()


def test_a_followed_folder_gives_files_that_come_later(tmp_path: Path) -> None:
    told = list[Diagnostic]()
    folder = Directory(tmp_path, follow=True, warn=told.append)
    assert lines(folder.read(0.0)) == []
    (tmp_path / "2").write_bytes(b"two\n")
    (tmp_path / "1").write_bytes(b"one")
    (tmp_path / "3.tmp").write_bytes(b"not yet")
    found = []
    while len(found) < 2:
        found += lines(folder.read(1.0))
    assert found == [b"one", b"two\n"]
    (tmp_path / "0").write_bytes(b"late\n")
    assert lines(folder.read(0.1)) == []
    assert ["came too late" in d.message for d in told] == [True]
    again = Directory(tmp_path, start=Place("1", 3, 1, 3, 2053932785))
    chunks = []
    while (chunk := again.read(None)) is not None:
        chunks += chunk.lines
    assert chunks == [b"two\n"]
    assert folder._current is not None
    folder._current.close()
    with pytest.raises(DataError, match="W0691"):
        Directory(tmp_path / "none")


def test_a_signal_ends_waiting_at_once_and_work_after_it_is_done() -> None:
    with stopping() as stop, pytest.raises(Stopped), stop.waiting():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
    with stopping() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Stopped) as raised:
            stop.check()
        assert raised.value.signal == signal.SIGTERM
        with pytest.raises(Stopped):  # twice means now
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)


def test_the_picture_has_rates_latencies_sizes_and_changes() -> None:
    from rich.console import Console

    progress = Progress()
    for n in range(10_100):
        progress.add(n / 1e6, 3)
    progress.skipped = 2
    display = LiveDisplay(["path"], lambda name: 1234)
    empty = lambda: None  # noqa: E731
    display.on_commit(Changes({"path": Change("path", 5, 2, empty, empty)}), progress)
    out = io.StringIO()
    Console(file=out, width=120).print(display.picture(progress, time.monotonic() + 1))
    shown = out.getvalue()
    for text in (
        "10,100 commits (",
        "30,300 updates (",
        "ms p99",
        "2 lines skipped",
        "1,234",
        "+5",
        "-2",
    ):
        assert text in shown
    assert "10,100 commits of 30,300 updates in" in progress.summary()
    assert "2 lines skipped" in progress.summary()
    assert len(progress.latencies) < 10_000
