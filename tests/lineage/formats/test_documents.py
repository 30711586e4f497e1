"""Documents of PROV say the same in every form, and what they say besides is counted."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.diagnostics import DataError, UsageError
from whence.lineage.events import Edge, Kind, batch_of, edges_of
from whence.lineage.formats import export, import_file

EX = {"ex": "http://example.org/"}
EXAMPLE = {
    "prefix": EX,
    "entity": {"ex:a/1": {}, "ex:a/2": {"prov:label": "two"}, "ex:all": {}},
    "activity": {"ex:count/7": {}},
    "used": {"_:u": {"prov:activity": "ex:count/7", "prov:entity": "ex:a/1"}},
    "wasGeneratedBy": {"_:g": {"prov:entity": "ex:b", "prov:activity": "ex:count/7"}},
    "wasDerivedFrom": {"_:d": {"prov:generatedEntity": "ex:b", "prov:usedEntity": "ex:a/2"}},
    "hadMember": {"_:m": {"prov:collection": "ex:all", "prov:entity": "ex:b"}},
    "wasAttributedTo": {"_:t": {"prov:entity": "ex:b", "prov:agent": "ex:me"}},
    "wasEndedBy": {"_:e": {"prov:activity": "ex:count/7", "prov:time": "2026-01-02T03:04:05"}},
    "bundle": {
        "ex:bundle": {"used": {"_:u": {"prov:activity": "ex:count/8", "prov:entity": "ex:a/2"}}}
    },
}
EXPECTED = {
    Edge(Kind.USED, ("ex:count", 7), ("ex:a", 1)),
    Edge(Kind.USED, ("ex:count", 8), ("ex:a", 2)),
    Edge(Kind.GENERATED, ("ex:b", -1), ("ex:count", 7)),
    Edge(Kind.DERIVED, ("ex:b", -1), ("ex:a", 2)),
    Edge(Kind.MEMBER, ("ex:all", -1), ("ex:b", -1)),
}


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in all forms, as `prov` writes it."""
    from prov.model import ProvDocument

    folder = tmp_path_factory.mktemp("prov")
    document = ProvDocument.deserialize(content=json.dumps(EXAMPLE), format="json")
    forms = {"json": "a.json", "provn": "a.provn", "xml": "a.xml", "rdf": "a.trig"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rdflib about itself
        for form, name in forms.items():
            options = {"rdf_format": "trig"} if form == "rdf" else {}
            (folder / name).write_text(document.serialize(format=form, **options))
        flat = document.flattened()  # these have no place for bundles
        for form, name in (("turtle", "a.ttl"), ("xml", "a.rdf")):
            (folder / name).write_text(flat.serialize(format="rdf", rdf_format=form))
    return folder


@pytest.mark.parametrize("name", ["a.json", "a.provn", "a.xml", "a.trig", "a.ttl"])
def test_every_form_gives_the_same_edges(documents: Path, name: str) -> None:
    found = import_file(documents / name)
    assert set(edges_of(found.edges)) == EXPECTED
    assert found.edges.num_rows == len(EXPECTED)
    assert found.filtered["wasAttributedTo"] == 1
    assert found.filtered["wasEndedBy"] == 1
    assert found.filtered["entity"] >= 3
    assert found.prefixes == EX


def test_a_form_that_has_no_prefixes_gives_whole_uris(documents: Path) -> None:
    def full(node: tuple[str, int] | None) -> tuple[str, int] | None:
        return node and (node[0].replace("ex:", EX["ex"]), node[1])

    found = {(e.kind, e.source, e.target) for e in edges_of(import_file(documents / "a.rdf").edges)}
    assert found == {(e.kind, full(e.source), full(e.target)) for e in EXPECTED}


def written(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_names_without_a_prefix_are_their_whole_uri(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.json",
        {
            "prefix": {"default": "http://x.org/", "whence": "http://y.org/"},
            "wasDerivedFrom": {
                "_:1": {"prov:generatedEntity": "b", "prov:usedEntity": "whence:c/3"}
            },
        },
    )
    (edge,) = edges_of(import_file(path).edges)
    assert edge == Edge(Kind.DERIVED, ("http://x.org/b", -1), ("http://y.org/c", 3))


def test_our_own_names_are_ours_again(tmp_path: Path) -> None:
    edges = [
        Edge(Kind.USED, ("count", 3), ("tweets", 5), 7, 1, 2),
        Edge(Kind.END, ("count", 3), None, -1, 1),
        Edge(Kind.END, ("count", 4)),
    ]
    path = tmp_path / "a.json"
    path.write_text("".join(export(batch_of(edges), "prov-json")))
    assert list(edges_of(import_file(path).edges)) == edges


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.json", "[1, 2]", "must be a JSON object"),
        ("a.json", "", "no prov-json"),
        ("a.json", '{"entity": "notadict"}', "must be a JSON object"),
        ("a.json", '{"notarealtype": {"a:b": {}}}', "notarealtype"),
        (
            "a.json",
            '{"used": {"_:1": {"prov:activity": "nowhere:a", "prov:entity": "nowhere:b"}}}',
            "the prefix `nowhere` is not declared",
        ),
        ("a.json", "[" * 100_000, ""),
        ("a.provn", "document\n  used(ex:a)\n", "no prov-n"),
        ("a.xml", "<prov:document", "no prov-xml"),
        (
            "a.xml",
            '<!DOCTYPE d [<!ENTITY a SYSTEM "file:///etc/passwd">]><d>&a;</d>',
            "document type",
        ),
        ("a.trig", "@prefix <", "no prov-rdf"),
        ("a.rdf", '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "b">]><d>&a;</d>', "document type"),
    ],
)
def test_malformed_documents_are_refused_with_a_reason(
    tmp_path: Path, name: str, text: str, why: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as error:
        import_file(tmp_path / name)
    (told,) = error.value.diagnostics
    assert told.code == "W1112"
    assert why in told.message
    assert name in told.message


TYPED = """<?xml version="1.0"{0}?><!DOCTYPE d [<!ENTITY a "b">]>
<prov:document xmlns:prov="http://www.w3.org/ns/prov#" xmlns:ex="http://ex/"><prov:wasDerivedFrom>
<prov:generatedEntity prov:ref="ex:o"/><prov:usedEntity prov:ref="ex:&a;"/></prov:wasDerivedFrom>
</prov:document>"""
RDF = """<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "b">]><rdf:RDF xmlns:prov="http://www.w3.org/ns/prov#"
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><prov:Entity rdf:about="http://ex/o">
<prov:wasDerivedFrom rdf:resource="http://ex/&a;"/></prov:Entity></rdf:RDF>"""


@pytest.mark.parametrize(
    ("name", "data"),
    [
        *(
            ("a.xml", TYPED.format("").encode(f"utf-{code}"))
            for code in ("16-le", "16-be", "32-le")
        ),
        ("a.xml", TYPED.format(" encoding='UTF-7'").replace("<!", "+ADwAIQ-").encode()),
        ("a.xml", TYPED.format(" encoding='nowhere'").encode()),
        ("a.rdf", RDF.encode("utf-8-sig")),
        ("a.rdf", RDF.encode("utf-16-le")),
    ],
)
def test_a_document_type_hides_in_no_encoding(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=r"W1112.*(document type|not in UTF-8)"):
        import_file(tmp_path / name)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    for name in ("a.json", "a.provn", "a.xml", "a.trig"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00")
        with pytest.raises(DataError, match="W1112"):
            import_file(tmp_path / name)


def test_formats_are_told_by_names_or_named(tmp_path: Path) -> None:
    path = written(tmp_path / "a.dat", EXAMPLE)
    with pytest.raises(UsageError, match="W1113"):
        import_file(path)
    with pytest.raises(UsageError, match="did you mean `prov-json`"):
        import_file(path, format="prov-jsn")
    assert import_file(path, format="prov-json").edges.num_rows == 5
    with pytest.raises(DataError, match="W1102"):
        import_file(tmp_path / "nowhere.json")
    with pytest.raises(UsageError, match="W1113"):
        export(batch_of([]), "svg")


def test_lines_are_a_format_like_others(tmp_path: Path) -> None:
    lines = ['{"used":{"_:1":{"prov:activity":"f/1","prov:entity":"t/2"}}}', "wrong"]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pytest.raises(DataError, match="W1100"):
        import_file(tmp_path / "a.jsonl")
    found = import_file(tmp_path / "a.jsonl", on_bad_row="skip")
    assert (found.edges.num_rows, found.skipped, found.format) == (1, 1, "jsonl")


# ── round trips ──

WORDS = st.text(st.sampled_from("ab/é ._-%\\\"'(),:;=[]&<>#?"), min_size=1, max_size=8)
SPACES = st.builds("{}:{}".format, st.sampled_from(["ex", "x.y", "task"]), WORDS) | st.sampled_from(
    ["tweets", "count/map", "group/f@2", "http://x.org/a"]
)


@st.composite
def stated(draw: st.DrawFn) -> Edge:
    """An edge whose names a document may have."""
    from whence.lineage.names import canonical

    node = st.builds(canonical, SPACES, st.integers(-1, 9))
    kind = draw(st.sampled_from(Kind))
    target = None if kind is Kind.END else draw(node)
    if kind is Kind.MEMBER:
        return Edge(kind, draw(node), target)
    group, attempt = draw(st.integers(-1, 9)), draw(st.integers(0, 3))
    return Edge(kind, draw(node), target, group, attempt, draw(st.integers(0, 3)))


def as_set(edges: list[Edge]) -> set[str]:
    return {repr(edge) for edge in edges}


@given(st.lists(stated(), max_size=5))
def test_edges_come_back_from_prov_json(
    tmp_path_factory: pytest.TempPathFactory, some: list[Edge]
) -> None:
    path = tmp_path_factory.getbasetemp() / "round.json"
    path.write_text("".join(export(batch_of(some), "prov-json")), encoding="utf-8")
    found = import_file(path, format="prov-json")
    # The same statement twice is one to PROV.
    assert as_set(list(edges_of(found.edges))) == as_set(some)


@given(st.lists(stated(), max_size=5))
def test_prov_n_says_what_prov_json_says(
    tmp_path_factory: pytest.TempPathFactory, some: list[Edge]
) -> None:
    from urllib.parse import unquote

    path = tmp_path_factory.getbasetemp() / "round.provn"
    path.write_text("".join(export(batch_of(some), "prov-n")), encoding="utf-8")
    found = edges_of(import_file(path, format="prov-n").edges)

    def plain(edge: Edge) -> Edge:
        """What PROV-N has no sign for is percent-encoded in it."""
        return Edge(
            edge.kind,
            (unquote(edge.source[0]), edge.source[1]),
            None if edge.target is None else (unquote(edge.target[0]), edge.target[1]),
            edge.group,
            edge.attempt,
            edge.worker,
        )

    assert as_set([plain(edge) for edge in found]) == as_set([plain(edge) for edge in some])
