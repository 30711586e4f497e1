"""Checks never crash, and what they let through can be resolved."""

from __future__ import annotations

import random
import re
import time
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.analysis.bound import bound_names
from whence.analysis.check import check
from whence.analysis.kinds import variable_kinds
from whence.analysis.strata import components, strata
from whence.analysis.typesystem import TypeSystem
from whence.diagnostics import ProgramError, render
from whence.rewrite.resolve_types import resolve_types
from whence.syntax.nodes import (
    Aggregate,
    Atom,
    Call,
    Constant,
    Constraint,
    Program,
    Record,
    Subtype,
    UnionType,
    Variable,
    walk,
)
from whence.syntax.souffle import parse

PROGRAM = """
.type A <: number
.type B <: A
.type S <: symbol
.type U = A | B
.type P = [x: A, r: P]
.functor f(x: number): symbol
.decl a(x: A, y: S)
.decl b(x: number, y: symbol) btree_delete
.decl c(x: float, y: unsigned)
.decl d(x: float, y: unsigned)
.decl e(x: number, y: symbol)
.decl p(x: P)
.decl i(x: number, y: number) inline
.input a
.output b, c, d, e
i(x, y) :- x < y.
b(x, y) :- a(x, y), !p([x, nil]), i(x, 3).
b(x + 1, cat(y, "z")) :- b(x, y), x < 10, match("a.*", y).
b(x, @f(x)) :- a(x, _), (x = 1 ; x = 2, a(_, "q")).
c(x * 2, 1) :- c(x, y), y != 0, x = to_float(y).
d(n, 2u) :- n = sum z : { c(z, w), w > 1 }.
p([x, nil]) :- a(x, _).
p([y, r]) :- p(r), r = [x, _], y = as(x + 1, A), a(y, _).
e(n, w) :- n = max x : { b(x, w) }, [n, m] = [m, 3].
b(x, y) <= b(x, z) :- strlen(y) < strlen(z).
"""
TOKENS = re.findall(r'"[^"]*"|[\w.]+|\s+|:-|<=|!=|<:|.', PROGRAM)
WORDS = [token for token in TOKENS if not token.isspace()]


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32), edits=st.integers(1, 6))
def test_a_mangled_program_is_refused_or_resolved_but_never_a_crash(seed: int, edits: int) -> None:
    rng = random.Random(seed)
    tokens = list(TOKENS)
    for _ in range(edits):
        at = rng.randrange(len(tokens))
        match rng.randrange(3):
            case 0:
                tokens[at] = rng.choice(WORDS)
            case 1:
                del tokens[at]
            case _:
                tokens.insert(at, " " + rng.choice(WORDS) + " ")
    try:
        program = parse("".join(tokens))
    except ProgramError:
        return
    found = check(program)
    for diagnostic in found:
        assert render(diagnostic)
        assert "\0" not in diagnostic.message + diagnostic.label + diagnostic.hint
    if not any(d.severity == "error" for d in found):
        is_resolved(resolve_types(program))


def is_resolved(program: Program) -> None:
    assert not [d for d in check(program) if d.severity == "error"]
    for rule in program.rules:
        assert len(rule.heads) == 1
        for root in (*rule.heads, *rule.body):
            for node in walk(root):
                if isinstance(node, Constant | Call | Constraint | Aggregate):
                    assert node.kind is not None, node
                if isinstance(node, Record):
                    assert node.type is not None, node
        variable_kinds(program, rule)
    assert resolve_types(program) == program


def test_the_program_itself_is_fine() -> None:
    program = parse(PROGRAM)
    assert not [render(d) for d in check(program) if d.severity == "error"]
    is_resolved(resolve_types(program))


names = st.sampled_from("abcdef")


@st.composite
def bodies(draw: st.DrawFn) -> tuple[Atom | Constraint, ...]:
    term = names.map(Variable)
    sums = st.builds(lambda x, y: Call("+", (x, y)), term, term)
    records = st.builds(lambda x, y: Record((x, y)), term, term)
    side = term | sums | records | st.just(Constant(1, None))
    equation = st.builds(lambda x, y: Constraint("=", x, y), side, side)
    atom = st.builds(lambda x: Atom("p", (x,)), term | records | sums)
    return tuple(draw(st.lists(equation | atom, max_size=6)))


def naive_bound(body: tuple[Atom | Constraint, ...]) -> set[str]:
    """Repeat until nothing changes: atoms give values, and sides of equations give each other."""

    def give(term: object) -> set[str]:
        if isinstance(term, Variable):
            return {term.name}
        if isinstance(term, Record):
            return set().union(*map(give, term.items))
        return set()

    def need(term: object) -> set[str]:
        return {n.name for n in walk(term) if isinstance(n, Variable)}  # type: ignore[arg-type]

    bound: set[str] = set()
    while True:
        before = set(bound)
        for literal in body:
            if isinstance(literal, Atom):
                bound.update(*map(give, literal.args))
            else:
                for a, b in ((literal.left, literal.right), (literal.right, literal.left)):
                    if need(a) <= bound:
                        bound |= give(b)
        if bound == before:
            return bound


@given(body=bodies())
def test_binding_is_the_least_fixpoint(body: tuple[Atom | Constraint, ...]) -> None:
    assert bound_names(body) == naive_bound(body)


graphs = st.dictionaries(names, st.lists(names, max_size=4)).map(
    lambda g: {n: g.get(n, []) for n in "abcdef"}
)


@given(graph=graphs)
def test_components_are_mutual_reachability_in_evaluation_order(
    graph: dict[str, list[str]],
) -> None:
    reach = {n: {n} for n in graph}
    for _ in graph:
        for n in graph:
            for m in graph[n]:
                reach[n] |= reach[m]
    found = components(graph)
    seen: set[str] = set()
    for component in found:
        seen |= set(component)
        for n, m in product(component, graph):
            assert (m in component) == (m in reach[n] and n in reach[m])
        assert all(reach[n] <= seen for n in component)
    assert seen == set(graph)


@st.composite
def type_systems(draw: st.DrawFn) -> TypeSystem:
    known = ["number", "symbol"]
    types: list[Subtype | UnionType] = []
    for index in range(draw(st.integers(1, 8))):
        name = f"T{index}"
        if draw(st.booleans()):
            types.append(Subtype(name, draw(st.sampled_from(known)), draw(st.booleans())))
        else:
            members = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3))
            types.append(UnionType(name, tuple(members)))
        known.append(name)
    return TypeSystem(Program(types=tuple(types)))


@given(system=type_systems())
def test_subtypes_are_ordered_and_meets_are_below_both(system: TypeSystem) -> None:
    everything = range(len(system.names))
    for a, b in product(everything, repeat=2):
        assert system.is_subtype(a, a)
        common = system.common(a, b)
        for c in everything:
            if system.is_subtype(a, b) and system.is_subtype(b, c):
                assert system.is_subtype(a, c), (a, b, c)
            if common >> c & 1:
                assert system.is_subtype(c, a)
                assert system.is_subtype(c, b)
        if system.is_subtype(a, b):
            assert system.kinds[a] is system.kinds[b]


def big_program(rules: int) -> str:
    rng = random.Random(1)
    count = rules // 5
    lines = [f".decl r{i}(x: number, y: number, z: symbol)" for i in range(count)]
    lines += [".decl e(x: number, y: number, z: symbol)", ".input e", ".output r0"]
    forms = (
        "r{0}(x, y, z) :- e(x, y, z), r{1}(y, w, _), w < x + 3.",
        "r{0}(x, w, z) :- r{1}(x, y, z), r{2}(y, w, z).",
        "r{0}(x, y + 1, z) :- r{1}(x, y, z), y != 5, x = y * 2.",
        'r{0}(x, y, cat(z, "a")) :- r{1}(x, _, z), e(_, y, z), match("a.*", z).',
    )
    for index in range(rules):
        lines.append(forms[index % 4].format(*(rng.randrange(count) for _ in range(3))))
    return "\n".join(lines)


@pytest.mark.timing
def test_a_thousand_rules_are_checked_and_resolved_quickly() -> None:
    program = parse(big_program(1000))
    best = 10.0
    for _ in range(3):
        copy = Program(
            relations=program.relations, rules=program.rules, directives=program.directives
        )
        start = time.process_time()
        assert not [d for d in check(copy) if d.severity == "error"]
        resolve_types(copy)
        best = min(best, time.process_time() - start)
    # Half a second on a quiet machine; tests share theirs.
    assert best < 1.5, best


@pytest.mark.parametrize(
    "text",
    [
        # a long chain of equations, against the order of the text
        ".decl a(x: number) a(x0) :- "
        + ", ".join(f"x{i} = x{i + 1}" for i in range(1000))
        + ", x1000 = 1.",
        # records that double with each name
        ".decl a(x: number) a(1) :- x0 = [1, 1], "
        + ", ".join(f"x{i + 1} = [x{i}, x{i}]" for i in range(60))
        + ", x60 = x60.",
        # unions inside each other
        ".type T0 <: number "
        + " ".join(
            f".type U{i} = U{i - 1} | T0" if i else ".type U0 = T0 | number" for i in range(500)
        )
        + " .decl a(x: U499) .decl b(x: U0) a(x) :- b(x).",
        # a chain of relations
        " ".join(f".decl r{i}(x: number)" for i in range(3000))
        + " ".join(f"r{i}(x) :- r{i + 1}(x)." for i in range(2999)),
        # many misspelt names
        ".decl relation(x: number) "
        + " ".join(f"relatoin{i}(x) :- rel{i}(x)." for i in range(400)),
        # nesting as deep as the parser allows
        ".decl a(x: number) a(x) :- a(x), x < " + "(1 + " * 150 + "x" + ")" * 150 + ".",
        ".decl a(x: number) a(x) :- a(x), " + "!(" * 150 + "x < 1" + ")" * 150 + ".",
    ],
)
def test_hostile_programs_take_little_time(text: str) -> None:
    program = parse(text)
    start = time.process_time()
    if not any(d.severity == "error" for d in check(program)):
        resolve_types(program)
        strata(program)
    assert time.process_time() - start < 5.0
