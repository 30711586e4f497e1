"""`whence run`: inputs, outputs, exit codes, and nothing half-written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.commands import whence

CLOSURE = """\
.decl edge(x: number, y: number)
.input edge
.decl path(x: number, y: number)
.output path
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


@pytest.fixture
def closure(tmp_path: Path) -> Path:
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "edge.facts").write_text("1\t2\n2\t3\n")
    program = tmp_path / "closure.dl"
    program.write_text(CLOSURE)
    return program


def files(folder: Path) -> dict[str, str]:
    return {p.name: p.read_text() for p in folder.iterdir()} if folder.exists() else {}


def test_outputs_go_to_the_output_directory(closure: Path) -> None:
    out = closure.parent / "out"
    ended = whence("run", closure, "-F", closure.parent / "facts", "-D", out)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert files(out) == {"path.csv": "1\t2\n1\t3\n2\t3\n"}


def test_a_dash_sends_outputs_to_stdout(closure: Path) -> None:
    ended = whence("run", closure, "-F", closure.parent / "facts", "-D", "-")
    assert (
        ended.out == "---------------\npath\n===============\n1\t2\n1\t3\n2\t3\n===============\n"
    )


def test_the_program_may_come_from_stdin(closure: Path) -> None:
    ended = whence("run", "-", "-D", "-", stdin=".decl a(x: number) .output a a(7).")
    assert ended.out == "---------------\na\n===============\n7\n===============\n"


def test_sizes_are_printed_as_souffle_prints_them(closure: Path) -> None:
    text = closure.read_text() + ".printsize edge\n.printsize path\n"
    closure.write_text(text)
    ended = whence("run", closure, "-F", closure.parent / "facts", "-D", closure.parent / "out")
    assert ended.out == "edge\t2\npath\t3\n"


def test_facts_may_come_from_stdin(tmp_path: Path) -> None:
    program = tmp_path / "p.dl"
    program.write_text(".decl a(x: symbol) .input a(IO=stdin) .output a(IO=stdout)")
    assert "hello\n" in whence("run", program, stdin="hello\n").out


def test_stats_are_written_as_json(closure: Path) -> None:
    stats = closure.parent / "stats.json"
    ended = whence(
        "run", closure, "-F", closure.parent / "facts", "-D", closure.parent, "--stats", stats
    )
    assert ended.code == 0
    found = json.loads(stats.read_text())
    for key in ("load_seconds", "evaluate_seconds", "write_seconds", "peak_memory_bytes"):
        assert found[key] > 0
    assert found["relations"]["path"]["tuples"] == 3
    assert found["relations"]["path"]["rounds"] >= 2


def test_a_wrong_program_ends_with_1_and_writes_nothing(closure: Path) -> None:
    closure.write_text(CLOSURE + "path(x, z) :- edge(x, y).\n")
    ended = whence("run", closure, "-F", closure.parent / "facts", "-D", closure.parent / "out")
    assert ended.code == 1
    assert "error[W02" in ended.err
    assert not (closure.parent / "out").exists()


def test_a_missing_program_ends_with_2(tmp_path: Path) -> None:
    assert whence("run", tmp_path / "none.dl").code == 2


@pytest.mark.parametrize(
    "options", [["--max-memory", "lots"], ["--timeout", "soon"], ["--engine", "steam"], ["-j", "0"]]
)
def test_a_senseless_option_ends_with_2(closure: Path, options: list[str]) -> None:
    assert whence("run", closure, *options).code == 2


def test_a_bad_row_ends_with_3_names_its_place_and_writes_nothing(closure: Path) -> None:
    (closure.parent / "facts" / "edge.facts").write_text("1\t2\n2\tx\n")
    ended = whence("run", closure, "-F", closure.parent / "facts", "-D", closure.parent / "out")
    assert ended.code == 3
    assert "`x` is not a number" in ended.err
    assert "edge.facts:2:3" in ended.err
    assert not (closure.parent / "out").exists()


def test_bad_rows_can_be_skipped(closure: Path) -> None:
    (closure.parent / "facts" / "edge.facts").write_text("1\t2\n2\tx\n")
    out = closure.parent / "out"
    ended = whence(
        "run", closure, "-F", closure.parent / "facts", "-D", out, "--on-bad-row", "skip"
    )
    assert ended.code == 0
    assert "warning[W0961]: skipped 1 bad row" in ended.err
    assert files(out) == {"path.csv": "1\t2\n"}


def test_a_missing_facts_file_ends_with_3(closure: Path) -> None:
    ended = whence("run", closure, "-F", closure.parent)
    assert ended.code == 3
    assert "there is no facts file" in ended.err


def test_a_reached_limit_ends_with_4_and_writes_nothing(closure: Path) -> None:
    out = closure.parent / "out"
    ended = whence("run", closure, "-F", closure.parent / "facts", "-D", out, "--max-tuples", "3")
    assert ended.code == 4
    assert "error[W07" in ended.err
    assert not out.exists()


def test_warnings_do_not_stop_a_run_and_quiet_hides_them(tmp_path: Path) -> None:
    program = tmp_path / "p.dl"
    program.write_text('.decl a(x: number) .output a(fielname="q")\na(1).\n')
    ended = whence("run", program, "-D", tmp_path / "out")
    assert ended.code == 0
    assert "warning[" in ended.err
    assert whence("run", program, "-D", tmp_path / "out", "--quiet").err == ""


ENDLESS = """\
.decl n(x: number)
.output n
n(0).
n(x + 1) :- n(x), x >= 0.
"""


def start(*args: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "whence", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
def test_an_interrupt_ends_with_130_and_writes_nothing(tmp_path: Path) -> None:
    program = tmp_path / "p.dl"
    program.write_text(ENDLESS)
    running = start("run", program, "-D", tmp_path / "out")
    time.sleep(3)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=20)
    assert running.returncode == 130
    assert b"Traceback" not in err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error_to_shout_about(tmp_path: Path) -> None:
    program = tmp_path / "p.dl"
    program.write_text(
        ".decl n(x: number)\nn(0).\nn(x + 1) :- n(x), x < 2000.\n"
        ".decl pair(x: number, y: number) .output pair(IO=stdout)\npair(x, y) :- n(x), n(y).\n"
    )
    running = start("run", program)
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.readline()
    running.stdout.close()
    err = running.stderr.read()
    running.wait(timeout=30)
    running.stderr.close()
    assert running.returncode == 141
    assert err == b""


@pytest.mark.slow
def test_a_timeout_ends_with_4(tmp_path: Path) -> None:
    program = tmp_path / "p.dl"
    program.write_text(ENDLESS)
    ended = whence("run", program, "-D", tmp_path / "out", "--timeout", "500ms")
    assert ended.code == 4
    assert not (tmp_path / "out").exists()


def test_output_to_a_full_device_is_an_error(closure: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    closure.write_text(CLOSURE.replace(".output path", '.output path(filename="/dev/full")'))
    ended = whence("run", closure, "-F", closure.parent / "facts")
    assert ended.code == 3
    assert "no space left" in ended.err


def started(*args: object, **streams: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "whence", *map(str, args)]
    return subprocess.Popen(command, text=True, **streams)  # type: ignore[call-overload,no-any-return]


def test_a_termination_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "wide.dl").write_text(
        ".decl n(x: number)\n.decl a(x: number, y: number)\n.output a\n"
        "n(0). n(x + 1) :- n(x), x < 1500.\na(x, y) :- n(x), n(y)."
    )
    out = tmp_path / "out"
    process = started("run", tmp_path / "wide.dl", "-D", out, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (out.exists() and files(out)) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode in (143, 0)
    assert not out.exists() or set(files(out)) == {"a.csv"}


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["check", "--help"]])
def test_a_full_stdout_is_an_error_without_a_traceback(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        process = started(*arguments, stdout=full, stderr=subprocess.PIPE)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (3, "error[W0612]: no space left on device\n\n")


def test_closed_streams_are_empty_ones(closure: Path) -> None:
    command = f"'{sys.executable}' -m whence run - -D - <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], timeout=60).returncode == 0


def test_a_pipe_may_be_an_output(closure: Path) -> None:
    folder = closure.parent
    command = f"'{sys.executable}' -m whence run {closure} -F {folder}/facts -D {folder}/out"
    found = subprocess.run(
        ["sh", "-c", f"{command} --stats /dev/stdout | cat"], capture_output=True, timeout=60
    )
    assert json.loads(found.stdout)["relations"]["path"]["tuples"] == 3


def test_a_size_or_a_number_of_threads_may_be_absurd(closure: Path) -> None:
    huge = "9" * 400
    options = ("--max-memory", f"{huge}G", "--timeout", f"{huge}h", "--threads", 10**8)
    ended = whence("run", closure, "-F", closure.parent / "facts", "-D", "-", *options)
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("what", [".input", ".output"])
def test_a_file_name_has_no_null_character(tmp_path: Path, what: str) -> None:
    program = tmp_path / "p.dl"
    program.write_text(f'.decl a(x: number)\n{what} a(filename="a\0b")\n')
    ended = whence("run", program, "-F", tmp_path, "-D", tmp_path)
    assert ended.code == 1
    assert "error[W0611]: no file has a name with a null character" in ended.err
