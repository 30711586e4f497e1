"""The library lists what is there, its programs are sound, and its pages show how to run them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whence.analysis.ndlog.check import check_ndlog
from whence.app.cli import app
from whence.diagnostics import UsageError
from whence.network.protocols import library
from whence.network.protocols.library import PROTOCOLS, protocol, protocol_path
from whence.network.rewrite.passes import prepare
from whence.syntax.ndlog import parse_ndlog

DOCS = Path(__file__).parents[3] / "docs" / "reference"
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def page(name: str) -> str:
    return (DOCS / "protocols" / f"{name}.md").read_text(encoding="utf-8")


def test_all_files_are_listed() -> None:
    folder = Path(library.__file__).parent
    assert {path.stem for path in folder.glob("*.ndlog")} == set(PROTOCOLS)


def test_a_wrong_name_is_a_mistake_with_the_right_one_in_the_hint() -> None:
    with pytest.raises(UsageError, match="did you mean `chord`") as error:
        protocol_path("cord")
    assert error.value.diagnostics[0].code == "W1460"


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_has_no_errors_and_reads_as_it_prints(name: str) -> None:
    program = protocol(name)
    assert not [d for d in check_ndlog(program) if d.severity == "error"]
    again = parse_ndlog(str(program))
    assert (again.rules, again.tables) == (program.rules, program.tables)
    assert prepare(program).rules
    assert all(rule.name for rule in program.rules)
    assert len({rule.name for rule in program.rules}) == len(program.rules)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_page_speaks_of_every_table(name: str) -> None:
    program = protocol(name)
    arity = {atom.relation: len(atom.args) for rule in program.rules for atom in rule.heads}
    shown = dict(re.findall(r"^\| `(\w+)\((.*?)\)` \|", page(name), re.MULTILINE))
    assert set(shown) == {table.relation for table in program.tables}
    for relation, columns in shown.items():
        assert len(columns.split(",")) == arity.get(relation, len(columns.split(",")))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_page_shows_a_run_that_finds_something(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = dict(FENCE.findall(page(name)))
    (tmp_path / "facts.ndlog").write_text(blocks.get("ndlog", ""), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    command = shlex.split(blocks["sh"])
    assert command[:4] == ["whence", "net", "run", name]
    done = CliRunner().invoke(app, [*command[1:], "--quiet"])
    assert done.exit_code == 0, done.output
    (query,) = protocol(name).queries
    found = re.match(r"(\w+): ([\d,]+) tuples", done.output)
    assert found is not None
    assert found[1] == query.atom.relation
    assert int(found[2].replace(",", "")) > 0


def test_the_index_has_every_protocol_with_its_description() -> None:
    index = (DOCS / "protocols.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| \[(\w+)\]\(protocols/\w+\.md\) \| (.*) \|$", index, re.MULTILINE))
    assert shown == PROTOCOLS
