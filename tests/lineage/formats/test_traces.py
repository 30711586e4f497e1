"""Traces of workflows and documents of others, made up and, where they are kept, real ones."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import networkx as nx
import pyarrow as pa
import pytest

from whence.diagnostics import DataError
from whence.lineage.events import Edge, Kind, edges_of
from whence.lineage.formats import import_file
from whence.lineage.reduce import reduce
from whence.lineage.reduced import pairs_of

SHARED = Path(__file__).parents[4] / "shared" / "data" / "prov"
needs_data = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the documents of others are not kept with the project"
)


def trace(tasks: int, seed: int) -> dict[str, Any]:
    """A workflow whose tasks use files of earlier ones."""
    random = Random(seed)
    files = [f"input{n}" for n in range(5)]
    found = []
    for number in range(tasks):
        used = random.sample(files, random.randint(1, 4))
        made = [f"file{number}_{n}" for n in range(random.randint(1, 3))]
        files += made
        links = [{"link": "input", "name": name} for name in used]
        links += [{"link": "output", "name": name} for name in made]
        found.append({"name": f"task_{number}", "files": random.sample(links, len(links))})
    return {"name": "made up", "workflow": {"tasks": found}}


def graph_of(document: dict[str, Any]) -> nx.DiGraph[Any]:
    """What depends on what, read from the trace by itself."""
    graph: nx.DiGraph[Any] = nx.DiGraph()
    for task in document["workflow"]["tasks"]:
        for file in task["files"]:
            ends = (f"task:{task['name']}", f"file:{file['name']}")
            graph.add_edge(*(ends if file["link"] == "input" else ends[::-1]))
    return graph


def label(space: str, number: int) -> str:
    return space if number < 0 else f"{space}/{number}"


def graph_of_edges(edges: list[Edge]) -> nx.DiGraph[Any]:
    graph: nx.DiGraph[Any] = nx.DiGraph()
    for edge in edges:
        assert edge.target is not None
        graph.add_edge(label(*edge.source), label(*edge.target))
    return graph


def judge(path: Path) -> None:
    found = import_file(path)
    assert found.format == "wfcommons"
    edges = list(edges_of(found.edges))
    assert {edge.kind for edge in edges} == {Kind.USED, Kind.GENERATED}
    assert nx.utils.graphs_equal(graph_of_edges(edges), graph_of(json.loads(path.read_text())))
    groups = [edge.group for edge in edges]
    assert groups == sorted(groups), "edges of one group stand together"
    judge_reduction(found.edges, graph_of(json.loads(path.read_text())))


def judge_reduction(edges: pa.RecordBatch, graph: nx.DiGraph[Any]) -> None:
    """Reduced, a trace gives the pairs of files that networkx gives."""
    files = [node for node in graph if node.startswith("file:")]
    inputs = {node for node in files if graph.out_degree(node) == 0}
    outputs = [node for node in files if graph.in_degree(node) == 0]
    expected = {
        (output, found) for output in outputs for found in nx.descendants(graph, output) & inputs
    }
    pairs = pairs_of(reduce([edges]).table)
    assert {(label(*output), label(*found)) for output, found in pairs} == expected
    assert expected


@pytest.mark.parametrize("seed", range(5))
def test_a_trace_says_what_tasks_used_and_generated(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(trace(30, seed)))
    judge(path)


@needs_data
@pytest.mark.parametrize("name", sorted(path.name for path in SHARED.glob("*.json")))
def test_real_traces_say_what_tasks_used_and_generated(name: str) -> None:
    judge(SHARED / name)


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"workflow": {}}, "no list `tasks`"),
        ({"workflow": {"tasks": [1]}}, "task 1 is no object"),
        ({"workflow": {"tasks": [{"files": []}]}}, "task 1 has no name"),
        ({"workflow": {"tasks": [{"name": "t", "files": 1}]}}, "`files` of task `t`"),
        ({"workflow": {"tasks": [{"name": "t", "files": [1]}]}}, "is no object"),
        ({"workflow": {"tasks": [{"name": "t", "files": [{"link": "input"}]}]}}, "has no name"),
        (
            {"workflow": {"tasks": [{"name": "t", "files": [{"name": "f", "link": "both"}]}]}},
            "is linked as `both`",
        ),
    ],
)
def test_traces_that_are_wrong_are_refused_with_a_reason(
    tmp_path: Path, document: object, why: str
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document))
    with pytest.raises(DataError) as error:
        import_file(path)
    assert error.value.diagnostics[0].code == "W1112"
    assert why in str(error.value)


MALFORMED = {
    "bad_bundle_shape.json",
    "bad_prefix_map.json",
    "bad_record_content.json",
    "bad_record_shape.json",
    "bad_typed_literal.json",
    "empty.json",
    "not_json.json",
    "top_level_list.json",
    "top_level_scalar.json",
    "unknown_record_type.json",
}


@needs_data
def test_all_documents_of_others_are_read_or_refused_with_a_reason() -> None:
    edges, read, refused = 0, 0, set()
    for path in sorted(SHARED.glob("prov-json-documents/**/*.json")):
        try:
            found = import_file(path, format="prov-json")
        except DataError as error:
            refused.add((path.name, error.diagnostics[0].code))
        else:
            read += 1
            edges += found.edges.num_rows
            assert edges_by_hand(path) == found.edges.num_rows
    assert refused == {(name, "W1112") for name in MALFORMED}
    assert read > 400
    assert edges > 50


def edges_by_hand(path: Path) -> int:
    """How many edges the JSON text states, both ends of which are told."""
    ends = {
        "used": ("prov:activity", "prov:entity"),
        "wasGeneratedBy": ("prov:entity", "prov:activity"),
        "wasDerivedFrom": ("prov:generatedEntity", "prov:usedEntity"),
        "hadMember": ("prov:collection", "prov:entity"),
    }

    def count(document: dict[str, Any]) -> int:
        total = sum(count(bundle) for bundle in document.get("bundle", {}).values())
        for name, keys in ends.items():
            for records in document.get(name, {}).values():
                for record in records if isinstance(records, list) else [records]:
                    told = [record.get(key) for key in keys]
                    many = len(told[1]) if isinstance(told[1], list) else 1
                    total += many * all(end is not None for end in told)
        return total

    return count(json.loads(path.read_text(encoding="utf-8")))


@needs_data
def test_real_workflow_runs_are_read() -> None:
    for path in sorted(SHARED.glob("cwlprov/*.json")):
        found = import_file(path)
        assert found.format == "prov-json"
        assert found.edges.num_rows == edges_by_hand(path) > 0
        assert found.filtered
