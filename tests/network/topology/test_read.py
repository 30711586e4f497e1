"""Topologies from files: GML of the Topology Zoo, Rocketfuel, SNAP, DIMACS; and back into lines."""

from __future__ import annotations

import contextlib
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.diagnostics import DataError
from whence.network.topology.catalogue import make, read
from whence.network.topology.edge_list import as_edge_list, as_facts, as_ndlog, read_edge_list
from whence.network.topology.gml import read_gml
from whence.network.topology.model import Link, components

DATA = Path(__file__).parents[4] / "shared" / "data"

GML = """
graph [
  label "Small"
  node [ id 0 label "Oslo" Latitude 59.91 Longitude 10.75 ]
  node [ id 1 label "Rome" Latitude 41.89 Longitude 12.48 ]
  node [ id 2 label "Rome" ] # no place, and no name of its own
  edge [ source 0 target 1 LinkSpeedRaw 1000000000.0 ]
  edge [ source 1 target 0 LinkSpeedRaw 10000000000.0 ]
  edge [ source 1 target 2 ]
  edge [ source 2 target 2 ]
]
"""


def test_gml_gives_latencies_by_distance_and_bandwidths_by_speed() -> None:
    found = read_gml(GML)
    assert found.nodes == ("Oslo", "Rome#1", "Rome#2")
    oslo, rome = found.links
    assert (oslo.source, oslo.target, oslo.bandwidth) == ("Rome#1", "Oslo", 1e10)
    assert oslo.latency == pytest.approx(2_006_000 / 2e8, rel=0.01)  # about 2,006 km apart
    assert (rome.latency, rome.bandwidth) == (0.010, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "graph [",
        "graph ]",
        "graph [ node [ id 0 ] ]",
        "graph [ node [ id 0 ] node [ id 0 ] ]",
        "graph [ node [ label 3 ] ]",
        "graph [ node [ id 0 ] edge [ source 0 target 5 ] ]",
        'graph [ node "x ]',
        "graph [ node [ id [ a 1 ] ] ]",
        "graph [ edge [ source [ a 1 ] target 1 ] ]",
        "a [ " * 5000,
        "\0\1\2",
    ],
)
def test_what_is_no_gml_is_told(text: str) -> None:
    with pytest.raises(DataError) as raised:
        read_gml(text)
    assert raised.value.diagnostics[0].code == "W1403"


@given(st.text(alphabet='graphnodeedgeidsourcetarget[]" 0123.-\n', max_size=80))
def test_no_text_ends_in_a_traceback(text: str) -> None:
    for reader in (read_gml, read_edge_list):
        with contextlib.suppress(DataError):
            assert reader(text).links


def test_an_edge_list_counts_a_pair_once_with_the_least_weight() -> None:
    found = read_edge_list("# comment\n\na b 7\nb a 3.5\nb,+x c 2\nc c 1\n")
    assert found.nodes == ("a", "b", "b,+x", "c")
    assert found.links == (Link("a", "b", 3.5), Link("b,+x", "c", 2))
    assert read_edge_list("1,2\n2,3").nodes == ("1", "2", "3")


def test_dimacs_files_are_directed() -> None:
    found = read_edge_list("c roads\np sp 3 3\na 1 2 5\na 2 1 4\na 2 3 1\n", directed=True)
    assert [(link.source, link.target, link.cost) for link in found.links] == [
        ("1", "2", 5),
        ("2", "1", 4),
        ("2", "3", 1),
    ]
    assert as_facts(found)["link"] == [("1", "2", 5), ("2", "1", 4), ("2", "3", 1)]


@pytest.mark.parametrize(
    "text", ["", "a", "a b c d", "a b -1", "a b nan", "a b x", "p sp 1 1\nb 1 2"]
)
def test_what_is_no_edge_list_is_told(text: str) -> None:
    with pytest.raises(DataError) as raised:
        read_edge_list(text)
    assert raised.value.diagnostics[0].code == "W1403"


def test_a_topology_written_as_edges_is_read_again() -> None:
    made = make("gnm:costs=9", 20, 1)
    again = read_edge_list("\n".join(as_edge_list(made)))
    assert set(again.links) == set(made.links)


def test_facts_have_both_directions() -> None:
    assert as_facts(make("line", 2))["link"] == [("n0", "n1", 1), ("n1", "n0", 1)]
    assert as_facts(make("sensors", 4))["sensor"][0] == ("n0", 25.0, 25.0)
    assert list(as_ndlog([('a"b', 2.5)], "p")) == ['p(@"a\\"b", 2.5).']


def test_a_file_gives_its_largest_connected_part(tmp_path: Path) -> None:
    path = tmp_path / "parts.txt"
    path.write_text("a b\nc d\nd e\n")
    assert make(str(path)).nodes == ("c", "d", "e")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError):
        read(path)


def test_positions_below_headings_are_sensors(tmp_path: Path) -> None:
    path = tmp_path / "motes.txt"
    path.write_text("moteid x_location y_location\n1 0 0\n2 15 0\n3 0 90\n")
    found = make(str(path))
    assert found.positions == ((0, 0), (15, 0), (0, 90))
    assert [(link.source, link.target, link.cost) for link in found.links] == [
        ("1", "2", 15),
        ("1", "3", 90),  # too far, but the nearest
    ]
    for wrong in ("id x y\n", "id x y\n1 2\n", "id x y\n1 a b\n", "id x y\n1 0 0\n1 1 1\n"):
        path.write_text(wrong)
        with pytest.raises(DataError) as raised:
            make(str(path))
        assert raised.value.diagnostics[0].code == "W1403"


@pytest.mark.skipif(not DATA.exists(), reason="the data beside the project is missing")
def test_real_networks_are_read_as_networkx_reads_them() -> None:
    for path in sorted((DATA / "topologyzoo").glob("*.gml")):
        text = path.read_text(encoding="utf-8")
        if "multigraph" not in text:
            text = text.replace("graph [", "graph [\n  multigraph 1", 1)
        graph = nx.Graph(nx.parse_gml(text, label="id"))
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
        found = read_gml(path.read_text(encoding="utf-8"), path.name)
        assert len(found.nodes) == graph.number_of_nodes(), path.name
        assert len(found.links) == graph.number_of_edges(), path.name
        assert len(components(found.nodes, found.links)) == nx.number_connected_components(graph)


@pytest.mark.skipif(not DATA.exists(), reason="the data beside the project is missing")
def test_real_edge_lists_have_the_links_that_are_known_of_them() -> None:
    as_graph = read(DATA / "as" / "as20000102.txt")
    assert (len(as_graph.nodes), len(as_graph.links)) == (6474, 12572)
    telstra = read(DATA / "rocketfuel" / "rocketfuel-1221.latencies.intra")
    assert (len(telstra.nodes), len(telstra.links)) == (104, 151)
    assert telstra.links[0].latency == pytest.approx(0.007)
    assert len(read(DATA / "sensor" / "mote_locs.txt").nodes) == 54
    rome = read(DATA / "roads" / "rome99.gr")
    assert rome.directed
    assert len(rome.nodes) == 3353
