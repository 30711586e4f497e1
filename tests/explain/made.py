"""Explanations made by hand, for the tests of formats."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from whence.explain.model import (
    Absence,
    Cone,
    Cut,
    Derived,
    Fact,
    Failed,
    Folded,
    Given,
    Holds,
    Missing,
    Premise,
    Proof,
    WhyNot,
)
from whence.semiring.hypergraph import Hypergraph
from whence.session import parse

PROGRAM = parse(
    """\
.decl link(x: symbol, y: symbol)
.decl down(x: symbol)
.decl path(x: symbol, y: symbol)
path(x, y) :- link(x, y), !down(y).
path(x, z) :- link(x, y), path(y, z), x != z.
.decl degree(x: symbol, n: number)
degree(x, n) :- link(x, _), n = count : { link(x, _) }.
""",
    name="net.dl",
)

HOSTILE = [
    'say "hi"',
    "a\nb\tc\rd",
    "]:::x --> y",
    "<script>alert(1)</script>",
    "</div></details>&amp;",
    "\x1b[2J\u202e\x00",
    "back\\slash\\n",
    "#35; #quot; %%{init}%% $$x$$ fa:fa-car `md`",
    "; } -> {",
    "ünï ✓",
    "",
]
"""Symbols that mean something to some format."""


def given(x: str, y: str) -> Given:
    return Given(Fact("link", (x, y)))


def direct(x: str, y: str) -> Derived:
    absent = Absence("down", (y,), f'!down("{y}")')
    bindings = (("x", x), ("y", y))
    return Derived(Fact("path", (x, y)), PROGRAM.rules[0], 1, bindings, (given(x, y), absent), 1)


def through(x: str, y: str, rest: Proof, z: str, height: int) -> Derived:
    premises: tuple[Premise, ...] = (given(x, y), rest, Holds(f'"{x}" != "{z}"'))
    bindings = (("x", x), ("y", y), ("z", z))
    return Derived(Fact("path", (x, z)), PROGRAM.rules[1], 2, bindings, premises, height)


def chain(length: int) -> Derived:
    """A proof of great height: from n0 to the last node, link by link."""
    names = [f"n{i}" for i in range(length + 1)]
    proof = direct(names[-2], names[-1])
    for place in range(length - 2, -1, -1):
        proof = through(names[place], names[place + 1], proof, names[-1], length - place)
    return proof


def degree() -> Derived:
    over = (given("a", "b"), given("a", "c"))
    folded = Folded('count : { link("a", _) }', 3, 3, over)
    fact = Fact("degree", ("a", 3))
    return Derived(fact, PROGRAM.rules[2], 3, (("x", "a"), ("n", 3)), (over[0], folded), 1)


def shared() -> Derived:
    """A proof in which one sub-proof is used twice."""
    below = through("b", "c", direct("c", "d"), "d", 2)
    fact = Fact("both", ("a",))
    rule = parse("both(x) :- path(x, y), path(y, x).").rules[0]
    return Derived(fact, rule, 7, (), (below, below, Cut(Fact("path", ("q", "r")), 4)), 3)


def cone() -> Cone:
    """Two ways to path(a, c), one round a cycle through itself."""
    facts = (
        Fact("path", ("a", "c")),
        Fact("link", ("a", "c")),
        Fact("link", ("a", "a")),
    )
    graph = Hypergraph(
        3,
        heads=np.array([0, 0]),
        rules=np.array([1, 2]),
        start=np.array([0, 1, 3]),
        premises=np.array([1, 2, 0]),
    )
    beside = ((Absence("down", ("c",), '!down("c")'),), (Holds('"a" != "c"'),))
    return Cone(graph, facts, (True, True, True), PROGRAM.rules, beside)


def why_not() -> WhyNot:
    inner = WhyNot(
        Fact("path", ("b", "z")),
        (Failed(PROGRAM.rules[0], 1, (), (), (Missing("fact", 'link("b", "z")', "link"),)),),
        ("the search was cut short",),
    )
    return WhyNot(
        Fact("path", ("a", "z")),
        (
            Failed(
                PROGRAM.rules[0],
                1,
                (("x", "a"), ("y", "z")),
                (),
                (
                    Missing("fact", 'link("a", "z")', "link", ("a", "z")),
                    Missing("negation", '!down("z")', "down", ("z",)),
                ),
            ),
            Failed(
                PROGRAM.rules[1],
                2,
                (("x", "a"), ("y", "b"), ("z", "z")),
                ('link("a", "b")',),
                (
                    Missing("fact", 'path("b", "z")', "path", ("b", "z"), inner),
                    Missing("constraint", '"a" != "a"'),
                ),
                ("w < 3",),
            ),
        ),
        ("a rule's head cannot match",),
    )


_SYMBOLS = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=8))
_VALUES = st.recursive(
    st.one_of(_SYMBOLS, st.integers(-(2**63), 2**64 - 1), st.floats(), st.none()),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)
_FACTS = st.builds(Fact, st.sampled_from(["p", "q"]), st.lists(_VALUES, max_size=3).map(tuple))
_LEAVES = st.one_of(
    st.builds(Given, _FACTS, st.one_of(st.none(), st.floats(0, 9))),
    st.builds(Cut, _FACTS, st.one_of(st.none(), st.integers(1, 9))),
)


def _derived(premises: st.SearchStrategy[Proof]) -> st.SearchStrategy[Proof]:
    conditions = st.one_of(
        st.builds(Absence, st.just("p"), st.just(()), _SYMBOLS),
        st.builds(Holds, _SYMBOLS),
        st.builds(
            Folded, _SYMBOLS, _VALUES, st.integers(2, 9), st.lists(premises, max_size=2).map(tuple)
        ),
    )
    return st.builds(
        Derived,
        _FACTS,
        st.sampled_from(PROGRAM.rules),
        st.integers(1, 3),
        st.lists(st.tuples(st.sampled_from(["x", "y"]), _VALUES), max_size=2).map(tuple),
        st.lists(st.one_of(premises, conditions), max_size=3).map(tuple),
        st.integers(1, 9),
        st.one_of(st.none(), _SYMBOLS),
    )


proofs: st.SearchStrategy[Proof] = st.recursive(_LEAVES, _derived, max_leaves=6)
"""Any proof, with any text in it."""
