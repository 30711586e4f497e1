"""Drop what no output needs and what can never hold."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from whence.rewrite.dependencies import reachable, reads_of
from whence.syntax.nodes import Atom, Literal, Negation, Program, Rule


def outputs(program: Program) -> set[str]:
    """Return the relations that the program writes or prints the size of."""
    return {d.relation for d in program.directives if d.action in ("output", "printsize")}


def prune(
    program: Program,
    roots: Collection[str] | None = None,
    inputs: Collection[str] | None = None,
) -> Program:
    """Keep only what the roots are computed from.

    Without roots these are the outputs, and everything if there is no output. When `inputs` says
    which relations may be given facts, rules over relations that stay empty go too.

    >>> from whence.syntax.souffle import parse
    >>> print(prune(parse("a(x) :- b(x). c(x) :- a(x). d(x) :- c(x)."), roots=["c"]))
    a(x) :- b(x).
    c(x) :- a(x).
    """
    if inputs is not None:
        program = drop_empty(program, inputs)
    wanted = outputs(program) if roots is None else set(roots)
    if not wanted:
        return program
    needed = reachable(reads_of(program), wanted)
    return replace(
        program,
        relations=tuple(d for d in program.relations if d.name in needed),
        rules=tuple(r for r in program.rules if any(h.relation in needed for h in r.heads)),
        subsumptions=tuple(s for s in program.subsumptions if s.dominated.relation in needed),
        directives=tuple(d for d in program.directives if d.relation in needed),
    )


def drop_empty(program: Program, inputs: Collection[str]) -> Program:
    """Drop rules that read a relation which no rule and no input ever fills.

    >>> from whence.syntax.souffle import parse
    >>> print(drop_empty(parse("a(x) :- b(x), !c(x). a(x) :- c(x)."), ["b"]))
    a(x) :- b(x).
    """
    filled = set(inputs)
    waiting: dict[str, list[int]] = {}
    missing: list[int] = []
    pending: list[str] = list(filled)
    for number, rule in enumerate(program.rules):
        reads = {literal.relation for literal in rule.body if isinstance(literal, Atom)}
        missing.append(len(reads))
        for name in reads:
            waiting.setdefault(name, []).append(number)
        if not reads and rule.head.relation not in filled:
            filled.add(rule.head.relation)
            pending.append(rule.head.relation)
    while pending:
        for number in waiting.get(pending.pop(), ()):
            missing[number] -= 1
            head = program.rules[number].head.relation
            if not missing[number] and head not in filled:
                filled.add(head)
                pending.append(head)

    def holds(literal: Literal) -> bool:
        match literal:
            case Negation(literal=Atom(relation=relation)):
                return relation not in filled
            case _:
                return False

    def without_truths(rule: Rule) -> Rule:
        if not any(map(holds, rule.body)):
            return rule
        return replace(rule, body=tuple(o for o in rule.body if not holds(o)))

    return replace(
        program,
        rules=tuple(
            without_truths(rule)
            for rule, absent in zip(program.rules, missing, strict=True)
            if not absent
        ),
        subsumptions=tuple(
            s
            for s in program.subsumptions
            if all(o.relation in filled for o in s.body if isinstance(o, Atom))
        ),
    )
