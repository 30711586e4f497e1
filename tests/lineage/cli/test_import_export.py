"""Lineage of others comes in and answers go out, in the formats that others read."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import networkx as nx
import pytest

from app.commands import whence
from lineage.repository.workflows import Quick
from whence.lineage.reduced import Link, reduced_of
from whence.lineage.repository.repository import Repository

TRACES = Path(__file__).parents[3].parent / "shared" / "data" / "prov"

DOCUMENT = {
    "prefix": {"ex": "http://example.org/"},
    "used": {"_:1": {"prov:activity": "ex:count", "prov:entity": "ex:tweets/1"}},
    "wasGeneratedBy": {"_:2": {"prov:entity": "ex:tags/1", "prov:activity": "ex:count"}},
    "wasDerivedFrom": {
        "_:3": {"prov:generatedEntity": "ex:report", "prov:usedEntity": "ex:tags/1"}
    },
    "wasAttributedTo": {"_:4": {"prov:entity": "ex:report", "prov:agent": "ex:ann"}},
}


def graph(place: Path) -> Repository:
    repository = Repository(place, files=Quick())
    rows = [
        (Link.PAIR, ("b", 1), ("a", 1)),
        (Link.OUT, ("b", 2), ("group/f:g", 0)),
        (Link.IN, ("group/f:g", 0), ("a", 2)),
        (Link.NEST, ("group/f:g", 0), ("group/f:g", 1)),
        (Link.IN, ("group/f:g", 1), ("a", 3)),
    ]
    repository.add(reduced_of(rows), workflow="w", job="first")
    other = [
        (Link.OUT, ("c", 1), ("group/f:g", 0)),
        (Link.IN, ("group/f:g", 0), ("b", 2)),
    ]
    repository.add(reduced_of(other), workflow="w", job="second")
    return repository


def test_a_document_becomes_a_job(tmp_path: Path) -> None:
    (tmp_path / "made.json").write_text(json.dumps(DOCUMENT))
    ended = whence("lineage", "import", tmp_path / "r", tmp_path / "made.json")
    assert (ended.code, ended.out) == (0, "imported/made: 3 edges reduced to 1\n")
    assert ended.err == "left out: 1 wasAttributedTo\n"
    ended = whence("lineage", "backward", tmp_path / "r", "ex:report")
    assert ended.out == "ex:tweets: 1 row\n  ex:tweets/1\n"
    again = whence("lineage", "import", tmp_path / "r", tmp_path / "made.json", "--format", "json")
    assert json.loads(again.out)["runs"][0]["read"] == 3
    assert len(Repository(tmp_path / "r").runs) == 1, "the same file is the same run"


def test_files_may_be_one_run(tmp_path: Path) -> None:
    lines = ['{"used":{"_:1":{"prov:activity":"f/1","prov:entity":"a/1"}}}\n']
    (tmp_path / "one.jsonl").write_text(lines[0])
    (tmp_path / "two.jsonl").write_text(
        '{"wasGeneratedBy":{"_:1":{"prov:entity":"b/1","prov:activity":"f/1"}}}\n'
    )
    files = (tmp_path / "one.jsonl", tmp_path / "two.jsonl")
    ended = whence("lineage", "import", tmp_path / "r", *files, "--job", "both", "--workflow", "w")
    assert ended.code == 0, ended.err
    assert ended.out == "w/both: 2 edges reduced to 1\n"


@pytest.mark.parametrize("form", ["prov-json", "prov-n", "jsonl"])
def test_what_is_exported_is_imported_again(tmp_path: Path, form: str) -> None:
    whole = graph(tmp_path / "r")
    suffix = {"prov-json": "json", "prov-n": "provn", "jsonl": "jsonl"}[form]
    file = tmp_path / f"out.{suffix}"
    ended = whence("lineage", "export", whole.path, "--format", form, "-o", file)
    assert (ended.code, ended.out) == (0, "")
    assert "2 runs with 7 edges" in ended.err
    assert whence("lineage", "import", tmp_path / "again", file).code == 0
    again = Repository(tmp_path / "again")
    for name in (("c", 1), ("b", 1)):
        assert set(again.backward(name).ends) == set(whole.backward(name).ends)
    for name in (("a", 1), ("a", 2), ("a", 3)):
        assert set(again.forward(name).ends) == set(whole.forward(name).ends)


@pytest.mark.parametrize("form", ["prov-json", "prov-n", "dot"])
def test_an_answer_is_a_document(tmp_path: Path, form: str) -> None:
    whole = graph(tmp_path / "r")
    ended = whence("lineage", "backward", whole.path, "b/1", "--format", form)
    assert ended.code == 0
    assert "b/1" in ended.out
    assert "a/1" in ended.out
    assert "a/2" not in ended.out


def test_jobs_of_an_answer_are_events_of_openlineage(tmp_path: Path) -> None:
    whole = graph(tmp_path / "r")
    ended = whence("lineage", "forward", whole.path, "a/2", "--format", "openlineage")
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert [(e["eventType"], e["job"]["name"]) for e in events] == [
        ("START", "first"),
        ("COMPLETE", "first"),
        ("START", "second"),
        ("COMPLETE", "second"),
    ]
    assert [d["name"] for d in events[0]["inputs"]] == ["a"]
    assert [d["name"] for d in events[0]["outputs"]] == ["b"]
    assert events[0]["run"] == events[1]["run"] != events[2]["run"]
    only = whence("lineage", "export", whole.path, "--format", "openlineage", "--job", "first")
    assert only.out.splitlines() == ended.out.splitlines()[:2]


def test_facts_are_asked_by_the_rules_beside_them(tmp_path: Path) -> None:
    whole = graph(tmp_path / "r")
    facts = tmp_path / "facts"
    assert whence("lineage", "export", whole.path, "--format", "facts", "-o", facts).code == 0
    goal = 'inputs("c", 1, t, n)'
    ended = whence("query", facts / "lineage.dl", goal, "-F", facts, "--format", "json", "-q")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["rows"] == [["c", 1, "a", 2], ["c", 1, "a", 3]]


def test_facts_appear_together_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "facts" / "run.parquet").mkdir(parents=True)
    place = graph(tmp_path / "r").path
    ended = whence("lineage", "export", place, "--format", "facts", "-o", tmp_path / "facts")
    assert ended.code == 3
    assert [path.name for path in (tmp_path / "facts").iterdir()] == ["run.parquet"]


def test_facts_need_a_folder(tmp_path: Path) -> None:
    ended = whence("lineage", "export", graph(tmp_path / "r").path, "--format", "facts")
    assert ended.code == 2
    assert "W1159" in ended.err


def test_documents_have_a_size_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whence.lineage.repository.exported.READABLE", 3)
    file = tmp_path / "out.json"
    file.write_text("before")
    place = graph(tmp_path / "r").path
    ended = whence("lineage", "export", place, "--format", "prov-json", "-o", file)
    assert ended.code == 4
    assert "W1160" in ended.err
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("out")] == ["out.json"]
    assert file.read_text() == "before"


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("x.json", '{"used": 3}', 3),
        ("x.json", "{", 3),
        ("x.jsonl", "nonsense\n", 3),
        ("x.unknown", "", 2),
        ("x.xml", "<a>", 3),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, name: str, content: str, code: int) -> None:
    (tmp_path / name).write_text(content)
    ended = whence("lineage", "import", tmp_path / "r", tmp_path / name)
    assert (ended.code, ended.out) == (code, "")
    assert "error[W11" in ended.err
    assert not (tmp_path / "r").exists()


def trace_pairs(path: Path) -> set[tuple[str, str]]:
    """Return which output of a workflow's trace depends on which input, by networkx."""
    depends = nx.DiGraph()
    for task in json.loads(path.read_text())["workflow"]["tasks"]:
        for file in task.get("files", []):
            ends = [("task", task["name"]), ("file", file["name"])]
            depends.add_edge(*(ends if file["link"] == "input" else ends[::-1]))
    files = [node for node in depends if node[0] == "file"]
    ends = {node for node in files if not depends.out_degree(node)}
    return {
        (node[1], end[1])
        for node in files
        if not depends.in_degree(node)
        for end in nx.descendants(depends, node) & ends
    }


@pytest.mark.skipif(not TRACES.is_dir(), reason="the traces of WfCommons are not here")
@pytest.mark.parametrize(
    "trace", ["epigenomics-chameleon-hep-1seq-100k-001", "seismology-chameleon-100p-001"]
)
def test_traces_of_workflows_give_the_pairs_of_networkx(tmp_path: Path, trace: str) -> None:
    path = TRACES / f"{trace}.json"
    ended = whence("lineage", "import", tmp_path / "r", path)
    assert ended.code == 0, ended.err
    repository = Repository(tmp_path / "r")
    wanted = trace_pairs(path)
    assert wanted
    found = repository.query("inputs(t, o, u, i)").to_pylist()
    assert {
        (_file(row["table"], row["row"]), _file(row["in_table"], row["in_row"])) for row in found
    } == wanted
    for output in {output for output, _ in wanted}:
        answer = repository.backward(f"file:{output}")
        inputs = {_file(*entity) for entity in answer.ends}
        assert inputs == {i for o, i in wanted if o == output}


def _file(space: str, number: int) -> str:
    name = space if number < 0 else f"{space}/{number}"
    return name.removeprefix("file:")


def test_a_reduced_graph_is_added_as_it_is(tmp_path: Path) -> None:
    line = '{"wasDerivedFrom":{"_:1":{"prov:generatedEntity":"b/1","prov:usedEntity":"a/1"}}}\n'
    (tmp_path / "edges.jsonl").write_text(line)
    for name in ("one.parquet", "two.parquet", "one.arrow"):
        whence("lineage", "reduce", tmp_path / "edges.jsonl", "-o", tmp_path / name)
    ended = whence("lineage", "import", tmp_path / "r", tmp_path / "one.parquet")
    assert ended.out == "imported/one: 1 edges reduced to 1\n"
    assert whence("lineage", "backward", tmp_path / "r", "b/1").out == "a: 1 row\n  a/1\n"
    ended = whence("lineage", "import", tmp_path / "r", tmp_path / "one.arrow")
    assert ended.out == "imported/one: 1 edges reduced to 1\n"
    both = (tmp_path / "one.parquet", tmp_path / "two.parquet")
    ended = whence("lineage", "import", tmp_path / "r", *both, "--job", "x")
    assert ended.code == 2
    assert "W1162" in ended.err


def test_topics_of_a_log_are_jobs(tmp_path: Path) -> None:
    from whence.lineage.events import Edge, Kind, batch_of
    from whence.lineage.log import Topic, open_log

    log = open_log(tmp_path / "log")
    log.create(Topic("count", 2, attempts=True))
    for partition, ended in ((0, True), (1, False)):
        activity = ("f", partition)
        edges = [
            Edge(Kind.USED, activity, ("a", partition)),
            Edge(Kind.GENERATED, ("b", partition), activity),
        ]
        edges += [Edge(Kind.END, activity)] if ended else []
        log.append("count", partition, batch_of(edges))
    ended = whence("lineage", "import", tmp_path / "r", tmp_path / "log", "--workflow", "w")
    assert ended.code == 0, ended.err
    assert ended.out == "w/count: 4 edges reduced to 1\n"
    assert set(Repository(tmp_path / "r").backward("b/0").ends) == {("a", 0)}


@pytest.mark.parametrize(("form", "suffix"), [("xml", "xml"), ("rdf", "trig"), ("provn", "provn")])
def test_every_form_of_prov_says_the_same(tmp_path: Path, form: str, suffix: str) -> None:
    from prov.model import ProvDocument

    file = tmp_path / f"made.{suffix}"
    document = ProvDocument.deserialize(content=json.dumps(DOCUMENT), format="json")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rdflib about itself
        file.write_text(document.serialize(format=form))
    ended = whence("lineage", "import", tmp_path / "r", file)
    assert ended.code == 0, ended.err
    assert ended.out == "imported/made: 3 edges reduced to 1\n"
    ended = whence("lineage", "forward", tmp_path / "r", "ex:tweets/1")
    assert ended.out == "ex:report: 1 row\n  ex:report\n"


@pytest.mark.parametrize("more", [(), ("--job", "x")])
def test_a_folder_without_a_log_is_refused(tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "empty").mkdir()
    ended = whence("lineage", "import", tmp_path / "r", tmp_path / "empty", *more)
    assert (ended.code, ended.out) == (3, "")
    assert "W1163" in ended.err


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    for name in ("no.parquet", "no.json", "no.jsonl"):
        ended = whence("lineage", "import", tmp_path / "r", tmp_path / name)
        assert ended.code in (2, 3)
        assert "error[W1" in ended.err


def test_runs_of_a_job_become_one(tmp_path: Path) -> None:
    line = '{"wasDerivedFrom":{"_:1":{"prov:generatedEntity":"b/%d","prov:usedEntity":"a/%d"}}}\n'
    for day in (1, 2):
        (tmp_path / "edges.jsonl").write_text(line % (day, day))
        whence("lineage", "import", tmp_path / "r", tmp_path / "edges.jsonl", "--run", f"day {day}")
    early = whence("lineage", "compact", tmp_path / "r", "--before", "2001-01-01")
    assert (early.code, early.out) == (0, "no job has several runs\n")
    ended = whence("lineage", "compact", tmp_path / "r")
    assert (ended.code, ended.out) == (0, "imported/edges: 2 runs are one of 2 edges\n")
    assert whence("lineage", "backward", tmp_path / "r", "b/1").out == "a: 1 row\n  a/1\n"
    told = whence("lineage", "compact", tmp_path / "r", "--format", "json").out
    assert json.loads(told) == {"made": []}
    again = ("lineage", "import", tmp_path / "r", tmp_path / "edges.jsonl", "--run", "day 1")
    ended = whence(*again)
    assert ended.code == 2
    assert "W1204" in ended.err
