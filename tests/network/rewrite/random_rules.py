"""Random rules over several nodes, and random networks, for Hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

NODES = ("a", "b", "c", "d")
TABLES = ("p", "q", "t")
NAMES = ("X", "Y", "Z", "W")

Row = tuple[object, ...]


@st.composite
def rule(draw: st.DrawFn, number: int) -> str:
    """A rule over tables of pairs of nodes, at any places, with conditions and denials."""
    pairs = st.tuples(st.sampled_from(NAMES), st.sampled_from((*NAMES, "_")))
    atoms = draw(st.lists(st.tuples(st.sampled_from(TABLES), pairs), min_size=1, max_size=4))
    bound = sorted({n for _, pair in atoms for n in pair if n != "_"})
    name = st.sampled_from(bound)
    body = [f"{relation}(@{one},{other})" for relation, (one, other) in atoms]
    if draw(st.booleans()):
        body.append(f"!{draw(st.sampled_from(TABLES))}(@{draw(name)},{draw(name)})")
    if draw(st.booleans()):
        body.append(f"{draw(name)} != {draw(name)}")
    head = f"@{draw(name)},{draw(name)}"
    if draw(st.integers(0, 3)) == 0:
        head += f",{draw(st.sampled_from(('count<*>', 'min<' + draw(name) + '>')))}"
        return f"r{number} n{number}({head}) :- {', '.join(body)}."
    return f"r{number} h{number % 2}({head}) :- {', '.join(body)}."


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A program for a fully connected network."""
    rules = [draw(rule(number)) for number in range(draw(st.integers(1, 3)))]
    names = (*TABLES, "h0", "h1", "n0", "n1", "n2")
    tables = [f"materialize({name}, infinity, infinity, keys())." for name in names]
    return "\n".join(("fullyConnected.", *tables, *rules))


def facts() -> st.SearchStrategy[dict[str, set[Row]]]:
    """Some pairs of nodes for each table."""
    node = st.sampled_from(NODES)
    rows = st.sets(st.tuples(node, node), max_size=6)
    return st.fixed_dictionaries(dict.fromkeys(TABLES, rows))


def networks(nodes: str = "abcde", most: int = 7) -> st.SearchStrategy[set[tuple[str, str, int]]]:
    """Links that go both ways, each way at its own cost."""

    def both(pairs: set[frozenset[str]], costs: list[int]) -> set[tuple[str, str, int]]:
        out = set()
        for i, (one, other) in enumerate(sorted(map(sorted, pairs))):
            out |= {(one, other, costs[2 * i]), (other, one, costs[2 * i + 1])}
        return out

    pair = st.sets(st.sampled_from(nodes), min_size=2, max_size=2).map(frozenset)
    costs = st.lists(st.integers(1, 4), min_size=2 * most, max_size=2 * most)
    return st.builds(both, st.sets(pair, max_size=most), costs)
