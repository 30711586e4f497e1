"""Answer a goal on a linear recursion by walking, without pairs of start and end.

Where a rule hands its free arguments on unchanged, as in `path(x, z) :- edge(x, y), path(y, z)`,
every answer of what it asks is an answer of the goal (Naughton, Ramakrishnan, Sagiv and Ullman,
1989). So the questions are one relation, the answers another, and neither holds the other's
columns: a goal on a closure costs what the graph has, not what the closure has.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from whence.rewrite.dependencies import recursion
from whence.rewrite.restriction import (
    computed_in_full,
    facts_apart,
    guard,
    makes_values,
    seed_of,
)
from whence.rewrite.terms import bound_by, level_names, names
from whence.syntax.nodes import (
    Atom,
    Constant,
    Literal,
    Program,
    RelationDecl,
    Rule,
    Term,
    Variable,
    Wildcard,
)


def factor_goal(program: Program, goal: Atom | None, inputs: Collection[str] = ()) -> Program:
    """Leave the goal's relation only the facts that match the goal, if it is linear.

    >>> from whence.syntax.souffle import parse
    >>> path = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
    >>> goal = Atom("path", (Constant(1, None), Variable("x")))
    >>> print(factor_goal(parse(path), goal))
    @asked_path(1).
    path(1, _1) :- @found_path(_1).
    @found_path(y) :- @asked_path(x), edge(x, y).
    @asked_path(y) :- @asked_path(x), edge(x, y).
    """
    seed = seed_of(program, goal)
    if seed is None:
        return program
    name = seed.relation
    rules = [rule for rule in program.rules if rule.head.relation == name]
    if not any(_calls(rule, name) for rule in rules):
        return program
    strata = recursion(program)
    if list(strata.values()).count(strata[name]) > 1 or name in computed_in_full(program, inputs):
        return program
    facts = [rule for rule in rules if not rule.body]
    if len(facts) > 1:
        facts, rules = facts_apart(f"@facts_{name}", facts, [rule for rule in rules if rule.body])
    else:
        facts = []
    known = "".join("b" if isinstance(arg, Constant) else "f" for arg in seed.args)
    factored = [_factor(rule, known) for rule in rules]
    if any(rule is None for rule in factored):
        return program
    args: tuple[Term, ...] = tuple(
        arg if isinstance(arg, Constant) else Variable(f"_{place}")
        for place, arg in enumerate(seed.args)
    )
    asked, found = f"@asked_{name}", f"@found_{name}"
    start = Rule((Atom(asked, _pick(args, known, "b")),), span=seed.span)
    answer = Rule((Atom(name, args),), (Atom(found, _pick(args, known, "f")),), span=seed.span)
    return replace(
        program,
        relations=(
            *program.relations,
            *_declarations(program, name, known, with_facts=bool(facts)),
        ),
        rules=(
            *(rule for rule in program.rules if rule.head.relation != name),
            *facts,
            start,
            answer,
            *(rule for rule in factored if rule is not None),
        ),
    )


def _declarations(
    program: Program, name: str, known: str, *, with_facts: bool
) -> list[RelationDecl]:
    return [
        RelationDecl(
            f"@{what}_{name}",
            tuple(a for a, k in zip(decl.attributes, known, strict=True) if k in kinds),
            span=decl.span,
        )
        for decl in program.relations
        if decl.name == name
        for what, kinds in ((("facts", "bf"),) * with_facts + (("asked", "b"), ("found", "f")))
    ]


def _calls(rule: Rule, name: str) -> list[Atom]:
    return [o for o in rule.body if isinstance(o, Atom) and o.relation == name]


def _pick(args: tuple[Term, ...], known: str, kind: str) -> tuple[Term, ...]:
    return tuple(arg for arg, k in zip(args, known, strict=True) if k == kind)


def _factor(rule: Rule, known: str) -> Rule | None:
    """Return the rule over questions and answers, or None if it needs both at once."""
    head = rule.head
    asked, found = f"@asked_{head.relation}", f"@found_{head.relation}"
    calls = _calls(rule, head.relation)
    free = _pick(head.args, known, "f")
    answer = Atom(found, free, span=head.span)
    question, equations = guard(rule, known, asked)
    if not calls:
        return Rule((answer,), (question, *rule.body, *equations), span=rule.span)
    if len(calls) > 1 or equations:
        return None
    (call,) = calls
    rest = tuple(literal for literal in rule.body if literal is not call)
    given, passed = _pick(call.args, known, "b"), _pick(call.args, known, "f")
    if passed == free and _only_here(free, (*question.args, *given), rest):
        # The answers are handed on: what the call asks is asked too.
        level = level_names(head, *rule.body).keys()
        bound = bound_by(rest, level, names(question))
        if any(isinstance(arg, Wildcard) for arg in given):
            return None
        if names(*given).keys() <= bound and not any(map(makes_values, _equations(rest))):
            return Rule((Atom(asked, given, span=call.span),), (question, *rest), span=rule.span)
        return None
    if given == question.args and _only_here(given, (*free, *passed), rest):
        # The question is handed on: from each answer of the call, go one step.
        return Rule((answer,), (Atom(found, passed, span=call.span), *rest), span=rule.span)
    return None


def _equations(body: tuple[Literal, ...]) -> list[Literal]:
    return [literal for literal in body if not isinstance(literal, Atom)]


def _only_here(
    args: tuple[Term, ...], elsewhere: tuple[Term, ...], body: tuple[Literal, ...]
) -> bool:
    """Say whether the arguments are distinct variables that occur nowhere else."""
    own = [arg.name for arg in args if isinstance(arg, Variable)]
    if len(set(own)) < len(args):
        return False
    return names(*elsewhere, *body).keys().isdisjoint(own)
