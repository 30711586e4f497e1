"""Walks in two halves: each searched as far as some hops, and put together where they meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whence.network.rewrite.moved import Moved
from whence.network.rewrite.paths import Paths
from whence.network.rewrite.places import fresh, fully_connected, positive
from whence.syntax.nodes import (
    Atom,
    Call,
    Constant,
    Constraint,
    Literal,
    Materialize,
    Program,
    Rule,
    Term,
    Variable,
    Wildcard,
)


def unit(paths: Paths) -> int | None:
    """Return the column that counts links, if walks are measured by that alone."""
    folds = [i for i, column in enumerate(paths.columns) if column.kind == "fold"]
    if len(folds) != 1:
        return None
    fold = paths.columns[folds[0]]
    counts = isinstance(fold.metric, Constant) and fold.metric.value == 1
    return folds[0] if counts and fold.functor in ("+", "f_sum") else None


def within(rule: Rule, relation: str, paths: Paths, hops: int) -> Rule:
    """Return a step that goes on only from walks of fewer hops."""
    again = next(atom for atom in positive(rule.body) if atom.relation == relation)
    counted, path = unit(paths), paths.index("path")
    limit: Literal
    if counted is not None:
        limit = Constraint("<", again.args[counted], Constant(hops, None))
    else:
        assert path is not None
        limit = Constraint("<=", Call("f_size", (again.args[path],)), Constant(hops, None))
    return replace(rule, body=(*rule.body, limit))


def renamed(rule: Rule, old: str, new: str, label: str) -> Rule:
    """Return a rule of one relation as a rule of another."""

    def named(atom: Atom) -> Atom:
        return replace(atom, relation=new) if atom.relation == old else atom

    body = tuple(named(item) if isinstance(item, Atom) else item for item in rule.body)
    return replace(rule, heads=(named(rule.head),), body=body, name=label)


def first_half(paths: Paths, name: str) -> Atom:
    """Return a walk from S to M that is kept at M."""
    return _half(paths, name, "A", "S", "M", at="destination")


def second_half(paths: Paths, name: str) -> Atom:
    """Return a walk from M to D that is kept at M."""
    return _half(paths, name, "B", "M", "D", at="source")


def _half(paths: Paths, name: str, letter: str, start: str, end: str, *, at: str) -> Atom:
    args: list[Term] = []
    where = 0
    for i, column in enumerate(paths.columns):
        if column.kind == at:
            where = i
        match column.kind:
            case "source":
                args.append(Variable(start))
            case "destination":
                args.append(Variable(end))
            case "hop" if letter == "B":
                args.append(Wildcard())
            case _:
                args.append(Variable(f"{letter}{i}"))
    return Atom(name, tuple(args), location=where)


def whole(paths: Paths) -> tuple[list[Term], list[Literal]]:
    """Return the columns of the two halves together, and how they are computed."""
    columns: list[Term] = []
    values: list[Literal] = []
    for i, column in enumerate(paths.columns):
        one, other, both = Variable(f"A{i}"), Variable(f"B{i}"), Variable(f"V{i}")
        match column.kind:
            case "source":
                columns.append(Variable("S"))
            case "destination":
                columns.append(Variable("D"))
            case "hop":
                columns.append(one)
            case "path":
                rest = Call("f_tail", (other,))
                values.append(Constraint("=", both, Call("f_concat", (one, rest))))
                columns.append(both)
            case "fold":
                values.append(Constraint("=", both, Call(column.functor, (one, other))))
                columns.append(both)
    return columns, values


def sent_back(
    program: Program, moved: Moved, found: Sequence[tuple[Sequence[Term], tuple[Literal, ...]]]
) -> tuple[list[Rule], list[Materialize]]:
    """Return rules that bring what was found at M, for a walk from S, to S as tuples of the walks.

    Each of `found` has the columns and the body that finds them; the first half of the walk is in
    the variable of the path, and the reply goes back along it.
    """
    paths = moved.paths
    source, path = paths.index("source"), paths.index("path")
    assert source is not None
    if fully_connected(program):
        rules = []
        for number, (columns, body) in enumerate(found, 1):
            head = Atom(paths.relation, tuple(columns), location=source)
            rules.append(Rule((head,), body, name=f"found{number}"))
        return rules, []
    assert path is not None
    name = fresh(program, f"{paths.relation}Reply")
    rules = []
    for number, (columns, body) in enumerate(found, 1):
        head = Atom(name, (Variable("M"), *columns, Variable(f"A{path}")), location=0)
        rules.append(Rule((head,), body, name=f"found{number}"))
    any_columns = [Variable(f"V{i}") for i in range(len(paths.columns))]
    here, there, left, rest = (Variable(n) for n in ("X", "Y", "R1", "R"))
    link = replace(
        paths.link, args=(here, there, *(Wildcard() for _ in paths.link.args[2:])), location=0
    )
    step: tuple[Literal, ...] = (
        Atom(name, (here, *any_columns, left), location=0),
        link,
        Constraint("!=", here, any_columns[source]),
        Constraint("=", rest, Call("f_removeLast", (left,))),
        Constraint("=", there, Call("f_last", (rest,))),
    )
    home = Atom(name, (any_columns[source], *any_columns, rest), location=0)
    asked = Atom(paths.relation, tuple(any_columns), location=source)
    rules += [
        Rule((Atom(name, (there, *any_columns, rest), location=0),), step, name="back1"),
        Rule((asked,), (home,), name="back2"),
    ]
    return rules, [Materialize(name, None, None, ())]
