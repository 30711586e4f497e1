"""Answers are exported so that others read in them what they say."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from whence.lineage.events import Edge, Kind, batch_of, edges_of
from whence.lineage.formats import export, run_events
from whence.lineage.formats.exporting import of_reduced
from whence.lineage.formats.openlineage import job_datasets
from whence.lineage.reduced import REDUCED, Link

TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SOME = [
    Edge(Kind.USED, ("count", 3), ("tweets", 5), time=TIME),
    Edge(Kind.GENERATED, ("counts", 1), ("count", 3), attempt=2),
    Edge(Kind.DERIVED, ("counts", 1), ("ex:rep'ort", -1)),
    Edge(Kind.MEMBER, ("all", -1), ("counts", 1)),
    Edge(Kind.END, ("count", 3), attempt=2),
]


def test_prov_n_is_written_by_its_grammar() -> None:
    assert "".join(export(batch_of(SOME), "prov-n", {"ex": "http://example.org/"})) == (
        "document\n"
        "  prefix whence <urn:whence:>\n"
        "  prefix ex <http://example.org/>\n"
        "  entity(whence:tweets/5)\n"
        "  entity(whence:counts/1)\n"
        "  entity(ex:rep\\'ort)\n"
        "  entity(whence:all)\n"
        "  activity(whence:count/3)\n"
        "  used(whence:count/3, whence:tweets/5, 2026-01-02T03:04:05Z)\n"
        "  wasGeneratedBy(whence:counts/1, whence:count/3, -, [whence:attempt=2])\n"
        "  wasDerivedFrom(whence:counts/1, ex:rep\\'ort)\n"
        "  hadMember(whence:all, whence:counts/1)\n"
        "  wasEndedBy(whence:count/3, -, -, -, [whence:attempt=2])\n"
        "endDocument\n"
    )


def test_prov_json_has_elements_and_relations() -> None:
    found = json.loads("".join(export(batch_of(SOME[:2]), "prov-json")))
    assert found == {
        "prefix": {"whence": "urn:whence:"},
        "entity": {"whence:tweets/5": {}, "whence:counts/1": {}},
        "activity": {"whence:count/3": {}},
        "used": {
            "_:1": {
                "prov:activity": "whence:count/3",
                "prov:entity": "whence:tweets/5",
                "prov:time": "2026-01-02T03:04:05Z",
            }
        },
        "wasGeneratedBy": {
            "_:2": {
                "prov:entity": "whence:counts/1",
                "prov:activity": "whence:count/3",
                "whence:attempt": 2,
            }
        },
    }


def test_dot_tells_entities_from_activities_and_escapes_names() -> None:
    odd = Edge(Kind.DERIVED, ('ex:a"b\\c\nd', -1), ("tweets", 5))
    text = "".join(export(batch_of([*SOME, odd]), "dot"))
    assert '"a whence:count/3" [label="whence:count/3", shape=box];' in text
    assert '"e whence:tweets/5" [label="whence:tweets/5", shape=ellipse];' in text
    assert '"a whence:count/3" -> "e whence:tweets/5" [label="used"];' in text
    assert '"e ex:a\\"b\\\\c�d" -> "e whence:tweets/5" [label="wasDerivedFrom"];' in text
    assert text.count("->") == 5


def test_nothing_is_exported_as_an_empty_document() -> None:
    assert json.loads("".join(export(batch_of([]), "prov-json"))) == {
        "prefix": {"whence": "urn:whence:"}
    }
    assert "->" not in "".join(export(batch_of([]), "dot"))


def test_a_reduced_graph_is_told_as_derivations_and_members() -> None:
    rows = {
        "kind": [Link.PAIR, Link.OUT, Link.IN, Link.NEST],
        "source_space": ["out", "out", "group/f", "group/f"],
        "source": [1, 2, 3, 3],
        "target_space": ["in", "group/f", "in", "group/g"],
        "target": [4, 3, 5, 6],
    }
    reduced = pa.RecordBatch.from_arrays(
        [pa.array(rows[field.name]).cast(field.type) for field in REDUCED], schema=REDUCED
    )
    assert list(edges_of(of_reduced(reduced))) == [
        Edge(Kind.DERIVED, ("out", 1), ("in", 4)),
        Edge(Kind.DERIVED, ("out", 2), ("group/f", 3)),
        Edge(Kind.MEMBER, ("group/f", 3), ("in", 5)),
        Edge(Kind.MEMBER, ("group/f", 3), ("group/g", 6)),
    ]
    assert "wasDerivedFrom" in "".join(export(reduced, "prov-n"))


def test_a_run_is_a_start_and_an_end_with_the_same_id() -> None:
    later = datetime(2026, 1, 2, 3, 5, tzinfo=UTC)
    start, end = run_events(
        "tweets", "count", inputs=["b", "a", "a"], outputs=["c"], started=TIME, ended=later
    )
    assert (start["eventType"], end["eventType"]) == ("START", "COMPLETE")
    assert (start["eventTime"], end["eventTime"]) == (TIME.isoformat(), later.isoformat())
    assert start["run"] == end["run"]
    assert uuid.UUID(start["run"]["runId"])
    assert end["inputs"] == [{"namespace": "tweets", "name": name} for name in ("a", "b")]
    assert end["outputs"] == [{"namespace": "tweets", "name": "c"}]
    assert {"job", "producer", "schemaURL"} <= set(end)
    json.dumps([start, end])


@pytest.mark.parametrize("repeated", [1, 2])
def test_datasets_of_a_job_are_what_it_only_used_and_what_it_did_not_use(repeated: int) -> None:
    edges = [
        Edge(Kind.USED, ("map", 1), ("tweets", 1)),
        Edge(Kind.GENERATED, ("pairs", 1), ("map", 1)),
        Edge(Kind.USED, ("reduce", 1), ("pairs", 1)),
        Edge(Kind.GENERATED, ("counts", 1), ("reduce", 1)),
        Edge(Kind.END, ("reduce", 1)),
    ] * repeated
    assert job_datasets(batch_of(edges)) == (["tweets"], ["counts"])
    assert job_datasets(batch_of([])) == ([], [])
