"""`whence net run`: results, numbers, pictures and mistakes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from typer.testing import CliRunner

from whence.app.cli import app
from whence.network.protocols.library import protocol_path
from whence.network.topology.catalogue import make


def call(*args: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["net", "run", *args])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


def as_json(*args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(call(*args, "--format", "json", "--quiet"))
    return found


def shortest(spec: str, nodes: int, seed: int) -> dict[tuple[str, str], float]:
    graph = nx.Graph()
    for link in make(spec, nodes, seed).links:
        graph.add_edge(link.source, link.target, weight=link.cost)
    return {
        (a, b): cost
        for a, row in nx.all_pairs_dijkstra_path_length(graph)
        for b, cost in row.items()
        if a != b
    }


def paths(found: dict[str, Any]) -> dict[tuple[str, str], float]:
    rows = found["relations"]["shortestPath"]
    return {(source, target): cost for source, target, _, cost in rows if source != target}


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--scheme", "absorption", "--ship", "lazy"),
        ("--processors", "3"),
        ("--loss", "0.2", "--jitter", "20ms"),
        pytest.param(("--real",), marks=pytest.mark.network),
        pytest.param(("--real", "--processors", "3"), marks=pytest.mark.network),
    ],
    ids=" ".join,
)
def test_path_vector_finds_the_shortest_paths(options: tuple[str, ...]) -> None:
    found = as_json(
        "path_vector", "--topology", "gnm:costs=9", "--nodes", "8", "--seed", "2", *options
    )
    assert paths(found) == shortest("gnm:costs=9", 8, 2)
    assert found["bytes"] > 0
    assert found["converged_seconds"] <= found["seconds"]
    assert found["processors"] == (3 if "--processors" in options else 8)


@pytest.mark.network
def test_a_process_for_each_node_finds_the_same(tmp_path: Path) -> None:
    facts = tmp_path / "facts.ndlog"
    facts.write_text('link(@"n0", "n2", 1).\nlink(@"n2", "n0", 1).\n')
    args = ("path_vector", "--topology", "line", "--nodes", "3")
    found = as_json(*args, "--processes", "--facts", str(facts))
    assert paths(found) == {
        (a, b): 1 for a in ("n0", "n1", "n2") for b in ("n0", "n1", "n2") if a != b
    }
    assert found["clock"] == "real"
    assert found["firings"]
    assert found["bytes"] > 0
    for wrong in ('link(@"n9", "n2", 1).', 'link(@"n0", "n2").', 'nothing(@"n0").'):
        facts.write_text(wrong)
        call(*args, "--processes", "--facts", str(facts), code=3)


def test_the_same_seed_gives_the_same_bytes() -> None:
    args = ("path_vector", "--topology", "gnm", "--nodes", "8", "--loss", "0.1", "--jitter", "5ms")
    one, two, other = as_json(*args), as_json(*args), as_json(*args, "--seed", "1")
    for found in (one, two, other):
        del found["wall_seconds"]
    assert one == two
    assert one["bytes"] != other["bytes"]


def test_text_has_the_first_rows_and_what_it_cost() -> None:
    said = call("reachable", "--topology", "line", "--nodes", "3", "--limit", "2")
    assert said.startswith("reachable: 9 tuples\n  n0  n0\n  n0  n1\n  … and 7 more\n")
    assert "line: 3 nodes, 2 links" in said
    assert "KB per node" in said


def test_a_file_with_facts_of_its_own_is_run(tmp_path: Path) -> None:
    program = tmp_path / "greet.ndlog"
    program.write_text(
        "materialize(#link, infinity, infinity, keys(1,2)).\n"
        "materialize(word, infinity, infinity, keys(1,2)).\n"
        "materialize(heard, infinity, infinity, keys(1,2)).\n"
        "h1 heard(@Y, W) :- #link(@X, Y), word(@X, W).\n"
        "Query heard(@Y, W).\n"
    )
    facts = tmp_path / "facts.ndlog"
    facts.write_text('word(@"n0", "hello").\nword(@"n2", ["a", 1]).\n')
    found = as_json(str(program), "--topology", "line", "--nodes", "3", "--facts", str(facts))
    assert found["relations"] == {"heard": [["n1", "hello"], ["n1", ["a", 1]]]}
    facts.write_text("word(@X, Y) :- other(@X, Y).\n")
    said = call(str(program), "--nodes", "3", "--facts", str(facts), code=3)
    assert "W1416" in said


def test_a_query_that_names_values_shows_the_rows_that_have_them(tmp_path: Path) -> None:
    path = tmp_path / "routes.ndlog"
    text = protocol_path("path_vector").read_text(encoding="utf-8")
    before = "Query shortestPath(@S,D,P,C)."
    assert before in text
    path.write_text(text.replace(before, 'Query shortestPath(@"n1",D,P,C).'))
    found = as_json(str(path), "--topology", "ring", "--nodes", "5")
    rows = found["relations"]["shortestPath"]
    assert {source for source, *_ in rows} == {"n1"}
    assert {target for _, target, *_ in rows} >= {"n0", "n2", "n3", "n4"}


def test_programs_with_timers_run_until_a_time() -> None:
    found = as_json("ping_pong", "--topology", "ring", "--nodes", "4", "--until", "5s")
    assert found["seconds"] == 5.0
    assert found["firings"]
    assert len(found["kbps_per_node"]) >= 4


def test_a_picture_shows_convergence_and_traffic(tmp_path: Path) -> None:
    for name, magic in (("run.png", b"\x89PNG"), ("run.svg", b"<?xml")):
        picture = tmp_path / name
        call("path_vector", "--topology", "ring", "--nodes", "5", "--plot", str(picture))
        assert picture.read_bytes().startswith(magic)


@pytest.mark.parametrize(
    ("args", "code", "exit_code"),
    [
        (("pathvector",), "W1460", 2),
        (("path_vector", "--topology", "rign"), "W1401", 2),
        (("path_vector", "--topology", "ring"), "W1402", 2),
        (("path_vector", "--nodes", "5", "--scheme", "magic"), "W1359", 2),
        (("path_vector", "--nodes", "5", "--ship", "magic"), "W1361", 2),
        (("path_vector", "--nodes", "5", "--ship", "lazy", "--scheme", "counting"), "W1425", 2),
        (("path_vector", "--nodes", "5", "--loss", "2"), "W1419", 2),
        (("path_vector", "--nodes", "5", "--loss", "0.1", "--real"), "W1419", 2),
        (("path_vector", "--nodes", "5", "--processes", "--processors", "2"), "W1419", 2),
        (("path_vector", "--nodes", "5", "--show", "shortestpath"), "W1417", 2),
        (("path_vector", "--nodes", "5", "--without", "localize"), "W1420", 2),
        (("path_vector", "--nodes", "5", "--plot", "run.pdf"), "W1418", 2),
        (("nowhere.ndlog", "--nodes", "5"), "W0612", 3),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_mistakes_are_told(args: tuple[str, ...], code: str, exit_code: int) -> None:
    assert code in call(*args, code=exit_code)


def test_a_missing_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.app.net.needed.find_spec", lambda name: None)
    assert "pip install 'whence[network]'" in call("path_vector", code=2)


def test_a_program_that_is_wrong_or_no_text_is_told(tmp_path: Path) -> None:
    program = tmp_path / "wrong.ndlog"
    program.write_text("path(@S, D) :- #link(@S, Z, C), path(@Z, D, E).\n")
    call(str(program), "--nodes", "3", code=1)
    program.write_bytes(b"\xff\xfe\x00")
    assert "W1415" in call(str(program), "--nodes", "3", code=2)


def test_links_that_lead_one_way_are_warned_of_where_answers_go_back(tmp_path: Path) -> None:
    file = tmp_path / "roads.gr"
    file.write_text("p sp 3 2\na 1 2 5\na 2 3 5\n", encoding="utf-8")
    said = call("path_vector", "--topology", str(file))
    assert "W1427" in said
    assert "2 links lead one way only" in said
    assert "W1427" not in call("reachable", "--topology", str(file))
    assert "W1427" not in call("path_vector", "--topology", "ring", "--nodes", "3")
