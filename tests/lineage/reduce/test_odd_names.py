"""Names that nobody would choose, numbers at their limits, and what they must not be mixed up with."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from lineage.reduce.test_exact import EXAMPLES
from whence.lineage.events import Edge, Kind, batch_of
from whence.lineage.names import canonical
from whence.lineage.reduce import definition, reduce
from whence.lineage.reduced import pairs_of

ODD = (
    "a",
    "a@2",
    "whence:a",
    "a/5",
    "ex:a",
    "",
    "é\n\0'\"",
    "x" * 3000,
    "group/a",
    "group-of/a",
    "~a",
)
NUMBERS = (-(2**63), -7, -1, 0, 5, 2**63 - 1)
ATTEMPTS = (-(2**31), -1, 0, 2, 2**31 - 1)

nodes = st.tuples(st.sampled_from(ODD), st.sampled_from(NUMBERS))


def execution(
    space: str, attempt: int, ins: list[tuple[str, int]], outs: list[tuple[str, int]]
) -> list[Edge]:
    activity = (space, 5)
    return [
        *(Edge(Kind.USED, activity, node, attempt=attempt) for node in ins),
        *(Edge(Kind.GENERATED, node, activity, attempt=attempt) for node in outs),
    ]


executions = st.builds(
    execution,
    st.sampled_from(ODD),
    st.sampled_from(ATTEMPTS),
    st.lists(nodes, max_size=4),
    st.lists(nodes, max_size=4),
)
ends = st.builds(
    lambda space, attempt: [Edge(Kind.END, (space, 5), None, attempt=attempt)],
    st.sampled_from(ODD),
    st.sampled_from(ATTEMPTS),
)


def three(space: str, attempt: int, base: int) -> list[Edge]:
    """An execution that becomes a group, and its end."""
    ins = [("in", base + i) for i in range(3)]
    outs = [("out", base + i) for i in range(3)]
    return [*execution(space, attempt, ins, outs), Edge(Kind.END, (space, 5), attempt=attempt)]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(executions | ends, max_size=8), st.booleans(), st.integers(1, 3))
@example([three("a", 2, 0), three("a@2", 0, 10)], True, 1)
@example([three("a", 2**31 - 1, 0), three("a", -1, 10)[:-1]], True, 1)
@example(
    [execution("f", 0, [("whence:a", 5)], [("b", 1)]), [Edge(Kind.DERIVED, ("a", 5), ("c", 1))]],
    False,
    1,
)
def test_any_names_give_the_pairs_of_the_definition(
    told: list[list[Edge]], attempts: bool, partitions: int
) -> None:
    edges = [edge for several in told for edge in several]
    found = reduce([batch_of(edges)], attempts=attempts, partitions=partitions)
    assert pairs_of(found.table) == definition.pairs(edges, attempts=attempts)


def test_nodes_are_the_same_if_their_names_are() -> None:
    edges = [
        Edge(Kind.DERIVED, ("o", 1), ("a/5", -1)),
        Edge(Kind.DERIVED, ("whence:a", 5), ("i", -3)),
    ]
    assert pairs_of(reduce([batch_of(edges)]).table) == {(("o", 1), canonical("i", -3))}
