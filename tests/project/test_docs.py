"""What the documents show is what happens.

A fence `souffle title=NAME` writes that file; `console` runs each `$` line and compares what it
prints (`...` stands for anything); `python` runs as a doctest. All fences of a page share a folder.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.main import get_command

from whence.app.cli import app

ROOT = Path(__file__).parents[2]
ON_SPARK = ("docs/howto/spark.md", "docs/howto/stream.md", "docs/tutorial/lineage.md")
"""Pages whose commands start sessions of Spark; their Python runs in a process of its own."""
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)(?:[ ]title=(\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@dataclass(frozen=True)
class Block:
    kind: str
    title: str | None
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield Block(found[1], found[2], found[3], line)


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with what it is shown to print."""
    command, output = "", ""
    for line in block.text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, output
            command, output = line[2:], ""
        elif line.startswith("> ") and not output:
            command += "\n" + line[2:]
        else:
            output += line + "\n"
    if command:
        yield command, output


def make_recipe(target: str) -> str:
    """Return what `make TARGET` runs once the environment stands."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(rf"^{target}:[^\n]*\n\t@?([^\n]*)", text, re.MULTILINE)
    assert recipe, f"the Makefile has no target {target}"
    return recipe[1].replace("$(BIN)/", "")


def run(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "80", "TERM": "dumb"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    return done.stdout


def same(shown: str, printed: str) -> bool:
    pattern = re.escape(shown.rstrip()).replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, printed.rstrip(), re.DOTALL) is not None


def runs(page: Path) -> bool:
    return any(b.kind in ("console", "python") for b in blocks(page))


def on_spark(page: Path) -> bool:
    return page.relative_to(ROOT).as_posix() in ON_SPARK


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=str(page.relative_to(ROOT)),
            marks=[pytest.mark.spark, pytest.mark.slow] if on_spark(page) else [],
        )
        for page in filter(runs, PAGES)
    ],
)
def test_every_command_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    names: dict[str, object] = {}
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if block.kind == "console":
            for command, shown in commands(block):
                first = command.split()[:2]
                if first[0] in ("git", "cd", "pip"):
                    continue
                if first == ["make", "run"]:
                    command = make_recipe("run")
                elif first[0] == "make":
                    assert make_recipe(first[1])
                    continue
                printed = run(command, tmp_path)
                assert same(shown, printed), f"{where}: `{command}` printed\n{printed}"
        elif block.kind == "python" and not on_spark(page):
            check_doctest(block, where, tmp_path, names)
        elif block.title:
            target = tmp_path / block.title
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
    if on_spark(page):
        python = [b.text for b in blocks(page) if b.kind == "python" and ">>>" in b.text]
        (tmp_path / "page.txt").write_text("\n".join(python), encoding="utf-8")
        options = "-o ELLIPSIS -o NORMALIZE_WHITESPACE"
        printed = run(f"python -m doctest {options} page.txt", tmp_path)
        assert not printed, f"{page.relative_to(ROOT)}: Python printed\n{printed}"


def check_doctest(block: Block, where: str, folder: Path, names: dict[str, object]) -> None:
    if ">>>" not in block.text:
        compile(block.text, where, "exec")
        return
    test = doctest.DocTestParser().get_doctest(block.text, names, where, where, block.line)
    said: list[str] = []
    before = Path.cwd()
    os.chdir(folder)
    try:
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        runner = doctest.DocTestRunner(optionflags=flags, verbose=False)
        runner.run(test, out=said.append, clear_globs=False)
        names.update(test.globs)
    finally:
        os.chdir(before)
    assert not said, "".join(said)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in link:
            assert (page.parent / link).exists(), f"{page.relative_to(ROOT)} links to {link}"


def test_the_readme_is_short_and_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 150
    assert "make run" in text
    assert "make test" in text


def sections(page: Path) -> dict[str, str]:
    parts = re.split(r"^## `whence (\w+)`", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_command_reference_names_every_command_and_option() -> None:
    documented = sections(ROOT / "docs" / "reference" / "cli.md")
    command = get_command(app)
    there = command.commands  # type: ignore[attr-defined]
    assert set(documented) == set(there)
    for name, each in there.items():
        options = {o for p in each.params for o in p.opts if o.startswith("-")}
        shown = set(re.findall(r"`(--?[a-z][a-z-]*)", documented[name], re.IGNORECASE))
        assert options <= shown, f"not documented for {name}: {sorted(options - shown)}"
        assert shown <= options, f"documented for {name} but not there: {sorted(shown - options)}"
