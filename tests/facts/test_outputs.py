"""Files appear all together or not at all, and nothing is left beside them."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from whence.diagnostics import DataError
from whence.facts.outputs import Outputs


def put(outputs: Outputs, path: Path, text: str) -> None:
    with outputs.open(path) as out:
        out.write(text.encode())


def test_files_appear_only_on_commit(tmp_path: Path) -> None:
    with Outputs() as outputs:
        put(outputs, tmp_path / "a", "1")
        put(outputs, tmp_path / "b", "2")
        assert not (tmp_path / "a").exists()
        outputs.commit()
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"a": "1", "b": "2"}


def test_a_failure_leaves_the_old_files_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    with pytest.raises(KeyboardInterrupt), Outputs() as outputs:
        put(outputs, tmp_path / "a", "new")
        put(outputs, tmp_path / "deep" / "er" / "b", "new")
        raise KeyboardInterrupt
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"a": "old"}


def test_a_failure_while_writing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no space"), Outputs() as outputs:
        with outputs.open(tmp_path / "a") as out:
            out.write(b"half")
            raise OSError(28, "No space left on device")
        outputs.commit()
    assert list(tmp_path.iterdir()) == []


def test_missing_folders_are_made(tmp_path: Path) -> None:
    with Outputs() as outputs:
        put(outputs, tmp_path / "x" / "y" / "a", "1")
        outputs.commit()
    assert (tmp_path / "x" / "y" / "a").read_text() == "1"


def test_two_outputs_may_not_have_one_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two outputs have this name"), Outputs() as outputs:
        put(outputs, tmp_path / "a", "1")
        put(outputs, tmp_path / "." / "a", "2")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(DataError, match="is a directory"), Outputs() as outputs:
        put(outputs, tmp_path / "a", "1")


def test_a_link_keeps_pointing_at_its_file(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with Outputs() as outputs:
        put(outputs, tmp_path / "link", "new")
        outputs.commit()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_device_is_written_to(tmp_path: Path) -> None:
    with Outputs() as outputs:
        put(outputs, Path("/dev/null"), "gone")
        outputs.commit()
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_permissions_are_those_of_an_ordinary_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    (tmp_path / "private").write_text("")
    (tmp_path / "private").chmod(0o600)
    with Outputs() as outputs:
        put(outputs, tmp_path / "new", "1")
        put(outputs, tmp_path / "private", "1")
        outputs.commit()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600


def test_an_interrupt_during_commit_waits_until_all_files_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def interrupted(self: Path, target: Path) -> Path:
        os.kill(os.getpid(), signal.SIGINT)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt), Outputs() as outputs:
        put(outputs, tmp_path / "a", "1")
        put(outputs, tmp_path / "b", "2")
        outputs.commit()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]
