"""What explanations look like: text, JSON, Graphviz, Mermaid, PROV-JSON and HTML."""

from __future__ import annotations

import html.parser
import json
import re
import sys
import unicodedata

import pytest
from hypothesis import given as over
from hypothesis import settings
from prov.model import ProvDocument

from explain import made
from whence.diagnostics import UsageError
from whence.explain.diagram import Diagram, Explanation, diagram, trimmed
from whence.explain.forms import FORMS, formatted
from whence.explain.model import Cut, Derived, Fact, Given, Proof
from whence.explain.text import as_rich, harmless

ALL: dict[str, Explanation] = {
    "given": made.given("a", "b"),
    "cut": Cut(Fact("path", ("a", "b"))),
    "proof": made.through("a", "b", made.direct("b", "c"), "c", 2),
    "aggregate": made.degree(),
    "shared": made.shared(),
    "cone": made.cone(),
    "why not": made.why_not(),
}
every = pytest.mark.parametrize("explanation", ALL.values(), ids=ALL.keys())
every_form = pytest.mark.parametrize("form", FORMS)


# ── text ──


def test_a_proof_is_a_tree_with_its_rules() -> None:
    assert (
        str(ALL["proof"])
        == """\
path("a", "c")  by rule 2
├─ link("a", "b")  given
├─ path("b", "c")  by rule 1
│  ├─ link("b", "c")  given
│  └─ !down("c")  no such fact
└─ "a" != "c"  holds

rule 1  net.dl:4  path(x, y) :- link(x, y), !down(y).
rule 2  net.dl:5  path(x, z) :- link(x, y), path(y, z), x != z."""
    )


def test_a_sub_proof_that_is_used_again_is_printed_once() -> None:
    assert str(ALL["shared"]).splitlines()[:9] == [
        'both("a")  by rule 7',
        '├─ path("b", "d")  by rule 2  #1',
        '│  ├─ link("b", "c")  given',
        '│  ├─ path("c", "d")  by rule 1',
        '│  │  ├─ link("c", "d")  given',
        '│  │  └─ !down("d")  no such fact',
        '│  └─ "b" != "d"  holds',
        '├─ path("b", "d")  see #1 above',
        '└─ path("q", "r")  … cut here, 4 more steps high',
    ]


def test_all_derivations_refer_to_facts_above() -> None:
    assert str(ALL["cone"]).splitlines()[:7] == [
        'path("a", "c")  given, and in 2 ways  #1',
        "├─ by rule 1",
        '│  ├─ link("a", "c")  given',
        '│  └─ !down("c")  no such fact',
        "└─ by rule 2",
        '   ├─ link("a", "a")  given',
        '   ├─ path("a", "c")  see #1 above',
    ]


def test_an_aggregate_shows_its_value_and_some_of_its_facts() -> None:
    assert str(ALL["aggregate"]).splitlines()[2:6] == [
        '└─ count : { link("a", _) } = 3  over 3 facts',
        '   ├─ link("a", "b")  given',
        '   ├─ link("a", "c")  given',
        "   └─ … and 1 more",
    ]


def test_an_absence_shows_what_is_missing_for_each_rule() -> None:
    assert (
        str(ALL["why not"]).split("\n\n")[0]
        == """\
path("a", "z")  is not there
├─ rule 1 with x = "a", y = "z"
│  ├─ link("a", "z")  is not there
│  └─ !down("z")  there is such a fact
├─ rule 2 with x = "a", y = "b", z = "z"
│  ├─ link("a", "b")  holds
│  ├─ path("b", "z")  is not there
│  │  ├─ rule 1
│  │  │  └─ link("b", "z")  is not there
│  │  └─ the search was cut short
│  ├─ "a" != "a"  does not hold
│  └─ w < 3  waits for the rest
└─ a rule's head cannot match"""
    )


def test_annotations_stand_beside_their_facts() -> None:
    fact = Given(Fact("link", ("a", "b")), annotation=2.0)
    assert str(fact) == 'link("a", "b") [2]  given'
    assert formatted(fact, show=lambda value: f"cost {value}").startswith(
        'link("a", "b") [cost 2.0]'
    )


def test_a_deep_proof_goes_on_below_and_loses_nothing() -> None:
    text = str(made.chain(40))
    assert max(map(len, text.splitlines())) < 100
    for n in range(40):
        assert text.count(f'link("n{n}", "n{n + 1}")  given') == 1
        assert text.count(f'path("n{n}", "n40")  by rule') == 1
    below = re.findall(r"(path\(.*\))  see (#\d+) below", text)
    assert below
    for fact, label in below:
        assert re.search(rf"^{re.escape(fact)}  by rule \d  {label}$", text, re.MULTILINE)


@every_form
def test_a_proof_of_great_height_is_printed(form: str) -> None:
    height = 2000 if form == "prov-json" else sys.getrecursionlimit() * 3
    assert "n0" in made.chain(height).to(form)


def test_a_terminal_gets_the_same_text_in_colour() -> None:
    for explanation in ALL.values():
        lines = list(as_rich(diagram(explanation)))
        assert "\n".join(line.plain.rstrip() for line in lines) == str(explanation)
        assert any(span.style for line in lines for span in line.spans)


@over(made.proofs)
def test_text_has_no_character_that_a_terminal_obeys(proof: Proof) -> None:
    assert all(c == "\n" or unicodedata.category(c)[0] not in "C" for c in str(proof))


@over(made.proofs)
@settings(max_examples=50)
def test_every_line_of_text_belongs_to_the_outline(proof: Proof) -> None:
    """No symbol can forge a line: they begin with guides, a fact, or a rule."""
    found = diagram(proof)
    first, *rest = str(proof).split("\n")
    assert first.startswith(harmless(found.nodes[0].text))
    for line in rest:
        assert re.match(r"^$|^[│ ]*[├└]─ |^rule \d|^[pq]\(", line), line


def test_a_proof_says_what_it_is_in_few_words() -> None:
    assert repr(made.chain(5000)) == '<Derived path("n0", "n5000") by rule 2, height 5000>'
    assert repr(made.cone()) == '<Cone path("a", "c"), 3 facts, 2 instances>'


# ── depth ──


def test_what_is_below_the_depth_is_cut() -> None:
    proof = made.chain(5)
    assert isinstance(proof, Derived)
    assert proof.to("text", depth=1).splitlines()[:3] == [
        'path("n0", "n5")  by rule 2',
        '├─ link("n0", "n1")  given',
        '├─ path("n1", "n5")  … cut here, 4 more steps high',
    ]
    assert proof.to("text", depth=5) == proof.to("text")
    assert made.cone().to("text", depth=0).splitlines() == ['path("a", "c")  … cut here']


@over(made.proofs)
def test_trimming_keeps_what_is_near(proof: Proof) -> None:
    whole = diagram(proof)
    for depth in range(3):
        part = trimmed(whole, depth)
        check_numbers(part)
        assert part.nodes[0].text == whole.nodes[0].text
        assert len(part.steps) <= len(trimmed(whole, depth + 1).steps) <= len(whole.steps)


def check_numbers(found: Diagram) -> None:
    """Every number refers to something, and back."""
    for number, node in enumerate(found.nodes):
        assert all(found.steps[s].head == number for s in node.steps)
    for number, step in enumerate(found.steps):
        assert number in found.nodes[step.head].steps
        assert step.rule in found.rules
        assert all(0 <= n < len(found.nodes) for n in step.nodes)


# ── JSON ──


def test_json_is_flat_and_refers_by_number() -> None:
    found = json.loads(ALL["aggregate"].to("json"))
    assert (found["version"], found["kind"], found["fact"]) == (1, "proof", 'degree("a", 3)')
    assert found["facts"][0] == {
        "id": 0,
        "text": 'degree("a", 3)',
        "relation": "degree",
        "row": ["a", 3],
        "standing": "derived",
        "given": False,
        "height": 1,
        "annotation": None,
        "steps": [0],
        "notes": [],
    }
    (step,) = found["steps"]
    assert step["bindings"] == {"x": "a", "n": 3}
    assert step["premises"] == [
        {"kind": "fact", "fact": 1},
        {
            "kind": "aggregate",
            "text": 'count : { link("a", _) }',
            "value": 3,
            "size": 3,
            "over": [1, 2],
        },
    ]
    (rule,) = found["rules"]
    assert rule["place"] == {"file": "net.dl", "line": 7, "column": 1}


def test_json_of_an_absence_says_which_literals_hold() -> None:
    found = json.loads(ALL["why not"].to("json"))
    assert found["kind"] == "why-not"
    assert {fact["standing"] for fact in found["facts"]} == {"absent"}
    assert found["facts"][0]["notes"] == ["a rule's head cannot match"]
    assert found["steps"][0]["premises"] == [
        {"kind": "fact", "fact": 1},
        {"kind": "absence", "text": '!down("z")', "holds": False},
    ]
    assert found["steps"][1]["premises"][0] == {
        "kind": "holds",
        "text": 'link("a", "b")',
        "holds": True,
    }


@over(made.proofs)
def test_json_holds_the_texts_unchanged(proof: Proof) -> None:
    def refuse(name: str) -> float:
        raise AssertionError(f"{name} is not JSON")

    found = json.loads(proof.to("json"), parse_constant=refuse)
    assert [fact["text"] for fact in found["facts"]] == [n.text for n in diagram(proof).nodes]


# ── Graphviz and Mermaid ──

DOT = re.compile(
    r'  (?:node \[.*\]|[fs]\d+(?:_\d+)? \[label="((?:[^"\\\n]|\\.)*)", [^"\n]*(?:"[^"\n]*"[^"\n]*)*\]'
    r"|[fs]\d+(?:_\d+)? -> [fs]\d+(?:_\d+)?);"
)
MERMAID = re.compile(
    r'  (?:[fs]\d+(?:_\d+)?(?:\[|\(\[|\(|\{\{)"([^"\n]*)"(?:\]|\]\)|\)|\}\}):::\w+'
    r"|[fs]\d+(?:_\d+)? --> [fs]\d+(?:_\d+)?|classDef \w+ [\w:#,.-]+)"
)


@over(made.proofs)
def test_labels_of_graphviz_show_exactly_the_text(proof: Proof) -> None:
    first, *lines, last = proof.to("dot").split("\n")
    assert (first, last) == ("digraph explanation {", "}")
    labels = []
    for line in lines:
        match = DOT.fullmatch(line)
        assert match, line
        if match[1] is not None:
            labels.append(re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], match[1]))
    for node in diagram(proof).nodes:
        assert any(label.split("\n")[0] == harmless(node.text) for label in labels)


@over(made.proofs)
def test_labels_of_mermaid_show_exactly_the_text(proof: Proof) -> None:
    first, *lines = proof.to("mermaid").split("\n")
    assert first == "flowchart TD"
    labels = []
    for line in lines:
        match = MERMAID.fullmatch(line)
        assert match, line
        if match[1] is not None:
            assert not set(match[1]) & set('<>&\\`%$"')
            labels.append(re.sub(r"#(\d+);", lambda m: chr(int(m[1])), match[1]))
    for node in diagram(proof).nodes:
        assert any(label.startswith(harmless(node.text)) for label in labels)


@every
def test_graphs_have_an_edge_for_each_premise(explanation: Explanation) -> None:
    found = diagram(explanation)
    check_numbers(found)
    edges = len(found.steps)
    for step in found.steps:
        edges += len(step.premises)
        edges += sum(len(getattr(item, "over", ())) for item in step.premises)
    assert explanation.to("dot").count(" -> ") == edges
    assert explanation.to("mermaid").count(" --> ") == edges


# ── PROV-JSON ──


@every
def test_prov_says_what_was_used_and_generated(explanation: Explanation) -> None:
    found = diagram(explanation)
    text = explanation.to("prov-json")
    document = ProvDocument.deserialize(content=text, format="json")
    assert (
        ProvDocument.deserialize(content=document.serialize(format="json"), format="json")
        == document
    )
    read = json.loads(text)
    assert {e["prov:label"] for e in read["entity"].values()} == {n.text for n in found.nodes}
    assert len(read.get("activity", ())) == len(found.steps)
    generated = {
        (r["prov:entity"], r["prov:activity"]) for r in read.get("wasGeneratedBy", {}).values()
    }
    assert generated == {
        (f"whence:fact{s.head}", f"whence:step{i}") for i, s in enumerate(found.steps)
    }
    used = {(r["prov:activity"], r["prov:entity"]) for r in read.get("used", {}).values()}
    assert used == {
        (f"whence:step{i}", f"whence:fact{n}") for i, s in enumerate(found.steps) for n in s.nodes
    }
    derived = {
        (r["prov:generatedEntity"], r["prov:usedEntity"], r["prov:activity"])
        for r in read.get("wasDerivedFrom", {}).values()
    }
    assert derived == {
        (f"whence:fact{s.head}", f"whence:fact{n}", f"whence:step{i}")
        for i, s in enumerate(found.steps)
        for n in s.nodes
    }


@over(made.proofs)
@settings(max_examples=50)
def test_prov_keeps_any_text(proof: Proof) -> None:
    document = ProvDocument.deserialize(content=proof.to("prov-json"), format="json")
    labels = {
        str(value)
        for record in document.get_records()
        for name, value in record.attributes
        if str(name) == "prov:label"
    }
    assert labels >= {node.text for node in diagram(proof).nodes}


def test_prov_is_asked_for_kindly_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prov.model", None)
    with pytest.raises(UsageError, match=r"W0820.*not installed"):
        made.given("a", "b").to("prov-json")


# ── HTML ──


class Page(html.parser.HTMLParser):
    """Which elements are open, and all text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        if tag in ("div", "summary"):
            self.text += "\n"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@over(made.proofs)
def test_html_is_whole_and_shows_the_text(proof: Proof) -> None:
    page = Page()
    page.feed(proof._repr_html_())
    assert page.open == []
    assert page.seen <= {"div", "details", "summary", "span"}
    for node in diagram(proof).nodes:
        assert harmless(node.text) in page.text


def test_a_format_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="W0821"):
        made.given("a", "b").to("pdf")
