"""Golden files, one per pass; each case must also have the same answers before and after.

Annotating is the exception: it gives relations one more column, and `test_annotate.py` judges it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import golden
from whence.analysis.check import check
from whence.diagnostics import ProgramError, raise_errors
from whence.engine.naive import evaluate
from whence.rewrite.normalise import normalise
from whence.rewrite.pipeline import PASSES, run_passes
from whence.rewrite.resolve_types import resolve_types
from whence.syntax.nodes import Atom, Constant, Program
from whence.syntax.souffle import parse, parse_goal

FOLDER = Path(__file__).parent / "golden"

PRELUDE = """
.type Pair = [l: number, r: number]
.decl e(x: number, y: number)    .input e
.decl v(x: number)               .input v
.decl l(x: number, s: symbol)    .input l
.decl k(p: Pair, x: number)      .input k
"""
FACTS = {
    "e": {(0, 1), (1, 2), (2, 3), (3, 1), (4, 4), (5, 0), (2, 5)},
    "v": {(0,), (1,), (3,), (7,)},
    "l": {(0, "a"), (1, "b"), (1, "ab"), (3, "a")},
    "k": {((0, 1), 2), ((1, 1), 3), (None, 1), ((3, 7), 0)},
}


def answers(program: Program) -> dict[str, set[tuple[object, ...]]]:
    declared = {decl.name for decl in program.relations}
    return evaluate(program, {name: rows for name, rows in FACTS.items() if name in declared})


def matching(rows: set[tuple[object, ...]], goal: Atom) -> set[tuple[object, ...]]:
    wanted = [(i, arg.value) for i, arg in enumerate(goal.args) if isinstance(arg, Constant)]
    return {row for row in rows if all(row[i] == value for i, value in wanted)}


def goal_in(text: str) -> Atom | None:
    first, _, _ = text.partition("\n")
    return parse_goal(first.removeprefix("// goal: ")) if first.startswith("// goal: ") else None


def rewrite(text: str, name: str) -> tuple[Program, Program, Atom | None]:
    """Return the program before and after a pass."""
    program = parse(PRELUDE + text)
    raise_errors(check(program))
    program = resolve_types(program)
    goal = goal_in(text)
    steps = run_passes(program, goal=goal, inputs=set(FACTS))
    place = [step for step, _ in steps].index(name)
    return (program, *(after for _, after in steps))[place], steps[place][1], goal


def after_pass(name: str) -> Callable[[str], str]:
    def produce(text: str) -> str:
        try:
            before, after, goal = rewrite(text, name)
        except ProgramError as error:
            return "\n".join(f"{d.code}: {d.message}" for d in error.diagnostics)
        found = answers(after)
        expected = found if "// not safe alone" in text else answers(before)
        for relation in expected.keys() & found.keys():
            if goal is None:
                assert found[relation] == expected[relation]
            elif relation == goal.relation:
                assert matching(found[relation], goal) == matching(expected[relation], goal)
        # An answer that is empty shows nothing.
        assert any(found[rule.head.relation] for rule in after.rules) or "// empty" in text
        known = {decl.name for decl in before.relations}
        new = tuple(decl for decl in after.relations if decl.name not in known)
        shown = Program(relations=new, rules=after.rules, subsumptions=after.subsumptions)
        return str(shown)

    return produce


@pytest.mark.parametrize("name", [n for n, _ in PASSES if n != "annotate"])
def test_every_pass_gives_its_golden_programs_and_keeps_their_answers(name, update):
    golden.check(FOLDER / f"{name}.txt", after_pass(name), update=update)


def test_passes_leave_the_places_in_the_source():
    text = ".decl a(x: number)\na(x) :- e(x, y), y = count : { v(z), z < x }, !(v(x), x > 1)."
    program = resolve_types(parse(PRELUDE + text))
    for rule in run_passes(program)[-1][1].rules:
        assert rule.span.line == 8


def test_a_rule_with_too_many_alternatives_is_refused():
    either = "(x = 1 ; x = 2)"
    text = f".decl a(x: number)\na(x) :- {', '.join([either] * 13)}."
    with pytest.raises(ProgramError, match="W0501"):
        normalise(parse(PRELUDE + text))


def test_relations_that_inline_each_other_twice_are_refused():
    levels = "\n".join(
        f".decl r{i}(x: number) inline\nr{i}(x) :- r{i - 1}(x), r{i - 1}(x)." for i in range(1, 40)
    )
    text = (
        f".decl r0(x: number) inline\nr0(x) :- v(x).\n{levels}\n.decl a(x: number)\na(x) :- r39(x)."
    )
    with pytest.raises(ProgramError, match="W0504"):
        run_passes(resolve_types(parse(PRELUDE + text)))


def test_the_same_program_is_rewritten_in_the_same_way():
    text = """.decl p(x: number, y: number)
        p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z), !v(z), 2 < count : { e(x, w), v(w) }."""
    programs = {str(run_passes(resolve_types(parse(PRELUDE + text)))[-1][1]) for _ in range(3)}
    assert len(programs) == 1


def test_replacing_nothing_gives_an_equal_program():
    program = resolve_types(parse(PRELUDE + ".decl a(x: number)\na(x) :- v(x)."))
    assert run_passes(program)[-1][1] == replace(program)
