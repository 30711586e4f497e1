"""After the pass, kinds can be read off bottom-up; before it, they had to be inferred."""

from __future__ import annotations

from pathlib import Path

import golden
from whence.analysis.kinds import (
    kinds_of,
    record_fields,
    relation_kinds,
    type_kinds,
    variable_kinds,
)
from whence.rewrite.resolve_types import resolve_types
from whence.syntax.nodes import (
    Aggregate,
    Call,
    Constant,
    Constraint,
    Kind,
    Literal,
    Record,
    Rule,
    Subsumption,
    Term,
    walk,
)
from whence.syntax.printer import print_program
from whence.syntax.souffle import parse

FOLDER = Path(__file__).parent / "golden"


def mark(node: Term | Literal) -> str:
    match node:
        case Constant(value=value, kind=kind):
            return f"{value!r}:{kind.value if kind else '?'}"
        case Call(functor=name, kind=kind) | Constraint(op=name, kind=kind):
            return f"{name}:{kind.value if kind else '?'}"
        case Aggregate(function=name, kind=kind):
            return f"{name}:{kind.value if kind else '?'}"
        case Record(type=name):
            return f"[]:{name}"
        case _:
            return ""


def kinds(rule: Rule | Subsumption) -> str:
    heads = rule.heads if isinstance(rule, Rule) else (rule.dominated, rule.dominating)
    marks = (mark(node) for root in (*heads, *rule.body) for node in walk(root))
    return " ".join(filter(None, marks))


def resolved(text: str) -> str:
    program = resolve_types(parse(text))
    bare = type(program)(rules=program.rules, subsumptions=program.subsumptions)
    found = [*program.rules, *program.subsumptions]
    lines = print_program(bare).strip().splitlines()
    assert len(lines) == len(found)
    return "\n".join(f"{line}  // {kinds(r)}" for line, r in zip(lines, found, strict=True))


def test_every_term_says_its_kind(update: bool) -> None:
    golden.check(FOLDER / "resolve_types.txt", resolved, update=update)


def test_types_and_columns_have_kinds() -> None:
    program = parse(
        ".type A <: symbol .type U = A | symbol .type R = [x: A, y: R] .type S = R "
        ".decl a(x: U, y: S, z: float)"
    )
    assert relation_kinds(program) == {"a": (Kind.SYMBOL, Kind.RECORD, Kind.FLOAT)}
    assert type_kinds(program)["U"] is Kind.SYMBOL
    assert type_kinds(program)["S"] is Kind.RECORD
    assert record_fields(program) == {"R": ("A", "R"), "S": ("A", "R")}


def test_variables_have_the_kind_of_where_they_stand() -> None:
    program = resolve_types(
        parse(
            ".type P = [x: float, r: P] .decl p(x: P) .decl s(x: symbol) .decl n(x: number) "
            ".functor f(x: unsigned): symbol "
            'n(l) :- p([x, r]), r = t, s(w), w = cat(v, "a"), v = w, l = strlen(v), '
            "y = x * 2, c = count : { s(_) }, c < l, u = 3u, s(@f(u))."
        )
    )
    assert variable_kinds(program, program.rules[0]) == {
        "x": Kind.FLOAT,
        "y": Kind.FLOAT,
        "r": Kind.RECORD,
        "t": Kind.RECORD,
        "v": Kind.SYMBOL,
        "w": Kind.SYMBOL,
        "l": Kind.NUMBER,
        "c": Kind.NUMBER,
        "u": Kind.UNSIGNED,
    }


def test_the_kind_of_a_term_follows_from_its_parts() -> None:
    program = resolve_types(
        parse(".decl s(x: symbol) .decl n(x: number) n(strlen(x) + 1) :- s(x).")
    )
    rule = program.rules[0]
    kinds = kinds_of(program)
    assert kinds.of(rule.head.args[0], kinds.variables(rule)) is Kind.NUMBER
