"""`whence lineage demo` writes to no folder that is there."""

from __future__ import annotations

from pathlib import Path

from app.commands import whence


def test_a_folder_that_is_there_is_refused(tmp_path: Path) -> None:
    done = whence("lineage", "demo", "--out", str(tmp_path))
    assert done.code == 2
    assert "W1181" in done.err
    assert list(tmp_path.iterdir()) == []
