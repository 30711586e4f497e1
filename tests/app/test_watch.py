"""`whence watch` as a process: updates in by pipe, file and folder, changes out as they commit."""

from __future__ import annotations

import json
import os
import pty
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.commands import whence
from whence.database import Database

PROGRAM = """
.decl link(x: symbol, y: symbol)
.decl reach(x: symbol, y: symbol)
.decl cost(x: symbol, c: number)
.decl total(n: number)
.output reach
reach(x, y) :- link(x, y).
reach(x, z) :- link(x, y), reach(y, z).
total(n) :- n = sum c : { cost(_, c) }.
"""
PATIENCE = 60.0


class Watching:
    """A running `whence watch`: what it is sent, and the lines it prints."""

    def __init__(self, *args: object, stdin: int = subprocess.PIPE) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "whence", "watch", *map(str, args)],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._errors: list[bytes] = []
        self._readers = [
            threading.Thread(target=self._read, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.decode().rstrip("\n"))

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self._errors.extend(self.process.stderr)

    def send(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def commit(self) -> set[str]:
        """Return the changes of the next commit."""
        found = set()
        while (line := self._lines.get(timeout=PATIENCE)) != "commit.":
            found.add(line)
        return found

    def wait_for_error(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while text not in b"".join(self._errors).decode():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def end(self, number: int | None = None) -> tuple[int, str]:
        """Send a signal, or the end of the input, and return exit code and messages."""
        if number is not None:
            self.process.send_signal(number)
        elif self.process.stdin is not None:
            self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return code, b"".join(self._errors).decode()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "reach.dl"
    path.write_text(PROGRAM)
    return path


@pytest.fixture
def start(program: Path) -> Iterator[type[Watching]]:
    """Start watchers of the program, and end those that a test left behind."""
    started: list[Watching] = []

    def begin(*args: object, **options: int) -> Watching:
        started.append(Watching(program, *args, **options))
        return started[-1]

    yield begin  # type: ignore[misc]
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()
        for stream in (each.process.stdin, each.process.stdout, each.process.stderr):
            if stream is not None:
                stream.close()


# ── in this process ──


def run(program: Path, updates: str | bytes, *args: object) -> tuple[int, list[str], str]:
    ended = whence("watch", program, "--updates", "-", *args, stdin=updates)
    return ended.code, ended.out.splitlines(), ended.err


def test_changes_come_out_commit_by_commit(program: Path) -> None:
    code, out, err = run(program, '+link("A", "B").\n+link("B", "C").\ncommit.\n-link("A", "B").')
    assert (code, err) == (0, "")
    first, second = out.index("commit."), len(out) - 1
    assert set(out[:first]) == {'+reach("A", "B").', '+reach("B", "C").', '+reach("A", "C").'}
    assert set(out[first + 1 : second]) == {'-reach("A", "B").', '-reach("A", "C").'}


def test_json_goes_in_and_comes_out(program: Path) -> None:
    line = json.dumps({"op": "+", "relation": "link", "row": ["A", "B"]})
    code, out, _ = run(program, f'{line}\n{{"commit": 1}}\n', "--format", "json")
    assert code == 0
    assert list(map(json.loads, out)) == [
        {"op": "+", "relation": "reach", "row": ["A", "B"]},
        {"commit": 1},
    ]


def test_a_commit_that_changes_nothing_prints_nothing(program: Path) -> None:
    assert run(program, '-link("A", "B").\ncommit.\ncommit.\n')[1] == []


def test_what_comes_out_can_go_in(program: Path, tmp_path: Path) -> None:
    _, out, _ = run(program, '+link("A", "B").\n+link("B", "A").\ncommit.\n-link("B", "A").\n')
    other = tmp_path / "copy.dl"
    other.write_text(".decl reach(x: symbol, y: symbol)\n.output reach")
    assert sorted(run(other, "\n".join(out))[1]) == sorted(out)


def test_relations_to_print_may_be_named(program: Path) -> None:
    updates = '+cost("a", 5).\n+link("A", "B").\n'
    assert run(program, updates, "-r", "total")[1] == ["-total(0).", "+total(5).", "commit."]
    code, _, err = run(program, updates, "--relation", "totl")
    assert code == 2
    assert "did you mean `total`?" in err


def test_facts_are_replaced_by_key(program: Path) -> None:
    updates = '~cost("a", 5).\ncommit.\n~cost("a", 7).\n~cost("a", 8).\n'
    _, out, _ = run(program, updates, "--key", "cost=x", "--relation", "cost")
    assert out == ['+cost("a", 5).', "commit.", '-cost("a", 5).', '+cost("a", 8).', "commit."]
    code, _, err = run(program, updates, "--key", "cost=z")
    assert (code, "no column `z`" in err) == (2, True)


def test_it_begins_with_facts_from_files(program: Path, tmp_path: Path) -> None:
    program.write_text(PROGRAM + ".input link")
    (tmp_path / "link.facts").write_text("B\tC\n")
    _, out, _ = run(program, '+link("A", "B").', "-F", tmp_path)
    assert set(out) == {'+reach("A", "B").', '+reach("A", "C").', "commit."}


def test_windows_by_event_time(program: Path) -> None:
    updates = '+link("A", "B") @ 1.\ncommit.\n+link("B", "C") @ 40.\n'
    assert '-reach("A", "B").' in run(program, updates, "--ttl", "link=30s")[1]
    assert '-reach("A", "B").' in run(program, updates, "--window", "link=0.5m")[1]
    assert '-reach("A", "B").' not in run(program, updates, "--ttl", "link=1m")[1]
    assert '-reach("A", "B").' in run(program, updates, "--last", "link=1")[1]
    assert '-reach("A", "B").' not in run(program, updates, "--last", "link=1:x")[1]
    assert '-reach("A", "B").' in run(program, updates, "--ttl", "link=30s", "--last", "link=5")[1]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--ttl", "link"], "NAME=VALUE"),
        (["--ttl", "link=soon"], "not a duration"),
        (["--ttl", "link=0"], "W0811"),
        (["--ttl", "lnk=5s"], "did you mean `link`?"),
        (["--last", "link=x"], "no number of facts"),
        (["--batch", "never"], "not a duration"),
    ],
)
def test_options_that_make_no_sense_are_refused(program: Path, args: list[str], said: str) -> None:
    code, out, err = run(program, "", *args)
    assert (code, out) == (2, [])
    assert said in re.sub(r"[│\s]+", " ", err)


def test_a_bad_line_stops_it_and_what_was_committed_stands(program: Path) -> None:
    code, out, err = run(program, '+link("A", "B").\ncommit.\n+link("B", "C").\n+lnk("C", "D").\n')
    assert code == 3
    assert out == ['+reach("A", "B").', "commit."]
    assert "error[W0683]" in err
    assert "<stdin>:4:2" in err


def test_bad_lines_are_skipped_and_counted_on_request(program: Path) -> None:
    bad = b"+nonsense(1).\n" * 7 + b'+link("\xff", "B").\n'
    code, out, err = run(program, bad + b'+link("A", "B").\n', "--on-error", "skip")
    assert (code, out) == (0, ['+reach("A", "B").', "commit."])
    assert err.count("W0683") == 5
    assert "skipped 8 bad lines" in err


def test_times_that_do_not_mix_name_their_transaction(program: Path) -> None:
    updates = '+link("A", "B") @ 5.\ncommit.\n+link("B", "C").\n'
    code, _, err = run(program, updates, "--ttl", "link=5s")
    assert code == 3
    assert "W0681" in err
    assert "in the transaction that ends at <stdin>:3" in err


def test_without_commits_batches_have_a_number_of_lines(program: Path) -> None:
    updates = "".join(f'+link("{n}", "x").\n' for n in range(5))
    out = run(program, updates, "--batch", "2")[1]
    assert [n for n, line in enumerate(out) if line == "commit."] == [2, 5, 7]
    out = run(program, "commit.\n" + updates, "--batch", "2")[1]
    assert out.count("commit.") == 1  # an input that says when is taken at its word


def test_program_and_updates_do_not_share_standard_input(program: Path) -> None:
    assert whence("watch", "-", "--updates", "-").code == 2


def test_updates_that_cannot_be_read_are_an_error(program: Path, tmp_path: Path) -> None:
    ended = whence("watch", program, "--updates", tmp_path / "none")
    assert ended.code == 3
    assert "W0691" in ended.err


def test_a_very_long_line_is_one_bad_line(program: Path) -> None:
    updates = "x" * 3_000_000 + '+link("B", "C").\n+link("A", "B").\n'
    code, out, err = run(program, updates, "--on-error", "skip")
    assert (code, out) == (0, ['+reach("A", "B").', "commit."])
    assert "W0686" in err
    assert "skipped 1 bad line" in err


# ── as a process ──


def test_changes_come_as_soon_as_they_are_committed(start: type[Watching]) -> None:
    watching = start("--updates", "-")
    watching.send('+link("A", "B").\ncommit.\n')
    assert watching.commit() == {'+reach("A", "B").'}
    watching.send('+link("B", "C").\n-link("A", "B").\ncomm')
    watching.send("it.\n")
    assert watching.commit() == {'-reach("A", "B").', '+reach("B", "C").'}
    watching.send('-link("B", "C").')  # the end of the input ends line and batch
    code, err = watching.end()
    assert watching.commit() == {'-reach("B", "C").'}
    assert (code, err) == (0, "")


def test_a_named_pipe_is_a_source(start: type[Watching], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    watching = start("--updates", tmp_path / "pipe")
    with (tmp_path / "pipe").open("w") as pipe:
        pipe.write('+link("A", "B").\ncommit.\n')
        pipe.flush()
        assert watching.commit() == {'+reach("A", "B").'}
    assert watching.end() == (0, "")


def test_waiting_for_a_pipe_can_be_interrupted(start: type[Watching], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    watching = start("--updates", tmp_path / "pipe", "--ttl", "link=1s")
    time.sleep(2.0)
    assert watching.end(signal.SIGINT)[0] == 130


def test_facts_from_files_expire_by_the_clock(start: type[Watching], program: Path) -> None:
    program.write_text(PROGRAM + ".input link")
    (program.parent / "link.facts").write_text("A\tB\n")
    watching = start("--updates", "-", "-F", program.parent, "--ttl", "link=500ms")
    assert watching.commit() == {'-reach("A", "B").'}
    assert watching.end()[0] == 0


def test_batches_end_after_a_time(start: type[Watching]) -> None:
    watching = start("--updates", "-", "--batch", "50ms")
    watching.send('+link("A", "B").\n')
    assert watching.commit() == {'+reach("A", "B").'}
    watching.send('-link("A", "B").\n')
    assert watching.commit() == {'-reach("A", "B").'}
    assert watching.end()[0] == 0


def test_facts_expire_by_the_clock_while_nothing_comes(start: type[Watching]) -> None:
    watching = start("--updates", "-", "--ttl", "link=300ms")
    watching.send('+link("A", "B").\ncommit.\n')
    assert watching.commit() == {'+reach("A", "B").'}
    began = time.monotonic()
    assert watching.commit() == {'-reach("A", "B").'}
    assert time.monotonic() - began < 10
    assert watching.end()[0] == 0


def test_a_file_is_followed_as_it_grows_is_cut_short_and_replaced(
    start: type[Watching], tmp_path: Path
) -> None:
    updates = tmp_path / "updates.txt"
    updates.write_text('+link("A", "B").\ncommit.\n')
    watching = start("--updates", updates, "--follow")
    assert watching.commit() == {'+reach("A", "B").'}
    with updates.open("a") as file:
        file.write('+link("B", "C").\ncommit.')
        file.flush()
        time.sleep(0.2)
        file.write("\n")
    assert watching.commit() == {'+reach("B", "C").', '+reach("A", "C").'}
    updates.write_text("")
    watching.wait_for_error("was cut short")
    with updates.open("a") as file:
        file.write('-link("B", "C").\ncommit.\n')
    assert watching.commit() == {'-reach("B", "C").', '-reach("A", "C").'}
    updates.rename(tmp_path / "updates.1")
    with (tmp_path / "updates.1").open("a") as file:
        file.write('+link("C", "D").')  # the old file still ends as it likes
    (tmp_path / "fresh").write_text('-link("A", "B").\ncommit.\n')
    (tmp_path / "fresh").rename(updates)
    assert watching.commit() == {'+reach("C", "D").'}
    watching.wait_for_error("was replaced")
    assert watching.commit() == {'-reach("A", "B").'}
    code, err = watching.end(signal.SIGINT)
    assert code == 130
    assert "interrupted\n5 commits of 5 updates in " in err


def test_the_files_of_a_folder_are_read_in_order_and_once(
    start: type[Watching], tmp_path: Path
) -> None:
    folder = tmp_path / "updates"
    folder.mkdir()
    (folder / "002").write_text('-link("A", "B").\n')
    (folder / "001").write_text('+link("A", "B").\n')
    (folder / ".003").write_text("not yet")
    (folder / "003.tmp").write_text("not yet")
    watching = start("--updates", folder, "--follow", "--batch", "10ms")
    assert watching.commit() == {'+reach("A", "B").'}
    assert watching.commit() == {'-reach("A", "B").'}
    (folder / "003.tmp").write_text('+link("B", "C").\n')
    (folder / "003.tmp").rename(folder / "003")
    assert watching.commit() == {'+reach("B", "C").'}
    (folder / "000").write_text('+link("X", "Y").\n')
    watching.wait_for_error("came too late")
    (folder / "004").write_text('-link("B", "C").\n')
    assert watching.commit() == {'-reach("B", "C").'}
    assert watching.end(signal.SIGTERM)[0] == 143


def test_an_interrupt_ends_it_with_a_summary_and_without_the_open_batch(
    start: type[Watching],
) -> None:
    watching = start("--updates", "-")
    watching.send('+link("A", "B").\ncommit.\n+link("B", "C").\n')
    assert watching.commit() == {'+reach("A", "B").'}
    code, err = watching.end(signal.SIGINT)
    assert code == 130
    assert re.fullmatch(r"interrupted\n1 commit of 1 update in .* percentile\n", err)
    assert watching._lines.empty()


def test_a_reader_that_goes_away_ends_it_quietly(program: Path) -> None:
    command = f'yes \'+link("A", "B").\ncommit.\n-link("A", "B").\ncommit.\' | {sys.executable} -m whence watch {program} --updates - | head -2; echo ${{PIPESTATUS[1]}}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.splitlines() == ['+reach("A", "B").', "commit.", "141"]
    assert done.stderr == ""


def test_a_terminal_shows_rates_and_sizes_and_stdout_stays_clean(
    start: type[Watching], program: Path
) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "whence", "watch", str(program), "--updates", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
    ) as process:
        os.close(theirs)
        out, _ = process.communicate(b'+link("A", "B").\ncommit.\n', timeout=PATIENCE)
        shown = b""
        while True:
            try:
                data = os.read(ours, 1 << 16)
            except OSError:  # how Linux says that the other side is closed
                break
            if not data:
                break
            shown += data
        os.close(ours)
    assert out == b'+reach("A", "B").\ncommit.\n'
    text = shown.decode()
    assert "1 commit (" in text
    assert "reach" in text
    assert "1 commit of 1 update in" in text


# ── where it was ──


def test_it_goes_on_after_the_last_commit(program: Path, tmp_path: Path) -> None:
    updates, state = tmp_path / "updates.txt", tmp_path / "state"
    updates.write_text('+link("A", "B").\ncommit.\n# so far\n+cost("a", 1).\n')
    args = ("watch", program, "--updates", updates, "--state", state)
    assert whence(*args).out.splitlines() == ['+reach("A", "B").', "commit."]
    assert whence(*args).out == ""  # all of it is read
    with updates.open("a") as file:
        file.write('+link("B", "C").\n')
    out = whence(*args).out.splitlines()
    assert set(out) == {'+reach("B", "C").', '+reach("A", "C").', "commit."}
    assert '-reach("A", "B").' not in whence(*args, "--from-start").out
    with Database(state) as db:
        assert len(db["reach"]) == 3
        assert db["total"].rows() == [(1,)]


def test_it_does_not_go_on_in_another_file_or_program(program: Path, tmp_path: Path) -> None:
    updates, state = tmp_path / "updates.txt", tmp_path / "state"
    updates.write_text('+link("A", "B").\ncommit.\n+link("B", "C").\n')
    args = ("watch", program, "--updates", updates, "--state", state)
    assert whence(*args).code == 0
    updates.write_text('+link("X", "Y").\ncommit.\n')
    ended = whence(*args)
    assert (ended.code, "W0814" in ended.err) == (2, True)
    assert whence(*args, "--from-start").out.splitlines() == ['+reach("X", "Y").', "commit."]
    program.write_text(PROGRAM + '\nlink("Q", "R").')
    ended = whence(*args)
    assert (ended.code, "W0816" in ended.err) == (2, True)


def test_it_goes_on_in_a_folder_and_windows_keep_their_timers(
    program: Path, tmp_path: Path
) -> None:
    folder, state = tmp_path / "updates", tmp_path / "state"
    folder.mkdir()
    args = ("watch", program, "--updates", folder, "--state", state, "--ttl", "link=30s")
    (folder / "1").write_text('+link("A", "B") @ 0.\ncommit.\n')
    (folder / "2").write_text('+link("B", "C") @ 10.\n')
    assert whence(*args).out.count("commit.") == 2
    (folder / "1").unlink()
    with (folder / "2").open("a") as file:
        file.write('+link("C", "D") @ 20.\n')
    assert '+reach("C", "D").' in whence(*args).out
    (folder / "2").unlink()  # whoever reads the folder may clear it
    (folder / "3").write_text('+cost("a", 1) @ 30.\n')
    out = whence(*args).out.splitlines()
    assert '-reach("A", "B").' in out
    assert '-reach("B", "C").' not in out


@pytest.mark.slow
def test_a_killed_watch_applies_no_update_twice_and_loses_none(
    start: type[Watching], program: Path, tmp_path: Path
) -> None:
    # A replacement shows an update that is applied twice; the number of commits shows it, too.
    updates, state = tmp_path / "updates.txt", tmp_path / "state"
    lines = []
    for n in range(200):
        lines.append(f'~cost("a", {n}).\n+cost("n{n}", 1).\ncommit.\n')
    updates.write_text("".join(lines))
    options = ("--updates", updates, "--state", state, "--key", "cost=x", "-r", "cost")
    for seen in (3, 17, 40):
        watching = start(*options)
        for _ in range(seen):
            watching.commit()
        watching.process.kill()
        watching.end()
    ended = whence("watch", program, *options)
    assert ended.code == 0
    assert '+cost("a", 199).' in ended.out
    with Database(state) as db:
        assert db.commits == 200
        assert set(db["cost"]) == {("a", 199), *((f"n{n}", 1) for n in range(200))}
